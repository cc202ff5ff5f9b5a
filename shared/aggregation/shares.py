"""The device's weight η in the mixture of both sides' distributions, at each position of a joint answer.

By default, the question alone decides it. If it follows the text (DRAGON, equation 2), the device, which knows both
sides' passages, computes it again from the question and the answer so far, and sends it to a server that may decide
tokens. Each weight belongs to a block of positions, so that both sides use the same one for the same token.
"""

from shared.aggregation.messages import Reweight, Weight
from shared.aggregation.weights import MOST_LOG, basis, checked, device_share
from shared.errors import ProtocolError
from shared.protocol.messages import CloseCode
from shared.side import Side


class DeviceShares:
    """The device's weights. `first` is the one of the question; None until both sides' passages are known."""

    def __init__(self, max_tokens: int) -> None:
        """Create the weights of an answer of at most `max_tokens` tokens."""
        self.first: float | None = None
        self._max_tokens = max_tokens
        self._weights: dict[Side, Weight] = {}
        self._every = 0
        self._later: dict[int, float] = {}

    def weigh(self, side: Side, weight: Weight) -> bool:
        """Record the log weight of a side's passages for the question, and for the device's, how often it changes.

        Return whether both sides' are known. Raises ProtocolError for an invalid weight, or a second, different one.
        """
        checked(weight.log_h)
        if self._weights.setdefault(side, weight) != weight:
            raise ProtocolError(CloseCode.ILLEGAL, "A side's passages got two different weights.")
        if len(self._weights) == 2 and self.first is None:
            device, server = self._weights["device"], self._weights["server"]
            self.first, self._every = device_share(device.log_h, server.log_h), device.every
        return self.first is not None

    def follow(self, reweight: Reweight) -> None:
        """Record the weight from a position on. Raises ProtocolError if it is invalid, or a second, different one."""
        position, log_odds = reweight.position, reweight.log_odds
        if not 0 < position < self._max_tokens:
            raise ProtocolError(CloseCode.ORDER, "A weight came for a position outside the answer.")
        if not abs(log_odds) <= 2 * MOST_LOG:
            raise ProtocolError(CloseCode.MALFORMED, "The weight of the device's passages is out of its bounds.")
        if self._later.setdefault(position, log_odds) != log_odds:
            raise ProtocolError(CloseCode.ILLEGAL, "The device's passages got two different weights at one position.")

    def at(self, position: int) -> float | None:
        """Return the device's weight at a position, from 0 to 1; None if it is not known yet."""
        count = basis(position, self._every)
        if self.first is None or not count:
            return self.first
        log_odds = self._later.get(count + self._every)
        return None if log_odds is None else device_share(log_odds, 0.0)
