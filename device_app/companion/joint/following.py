"""The device's weight in a joint answer, computed again from the question and the tokens that are final so far (DRAGON,
equation 2). An embedder computes it beside decoding, for both sides' passages, which are known here.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

from device_app.companion.joint.drafting import Broke
from models.following_weights import FollowingWeights
from shared.aggregation.messages import Reweight
from shared.aggregation.weights import MOST_LOG, log_weight
from shared.errors import EngineError, JackdawError
from shared.protocol.messages import PublicPassage
from shared.text import embedded_text


class FollowingShare:
    """Computes the device's weight for each position at which it changes, and calls `on_weight` with it.

    `weights` hold the texts of this device's passages.
    """

    def __init__(self, weights: FollowingWeights, on_weight: Callable[[Reweight | Broke], None]) -> None:
        self.weights = weights
        self._on_weight = on_weight
        self._next = weights.every  # the number of tokens from which the next weight is computed

    def add(self, passages: Sequence[PublicPassage]) -> None:
        """Weigh these passages of the server against the device's own."""
        self.weights.add([embedded_text(passage.title, passage.text) for passage in passages])

    def advance(self, settled: Sequence[int], most: int) -> None:
        """Start to compute the weights whose tokens are final, in an answer of at most `most` tokens."""
        while self._next <= len(settled) and (position := self._next + self.weights.every) < most:
            computing = self.weights.similarities(settled[: self._next])
            computing.add_done_callback(partial(self._computed, position))
            self._next = position

    def _computed(self, position: int, computing: "Future[list[float]]") -> None:
        if computing.cancelled():
            return
        try:
            similarities, rows = computing.result(), self.weights.rows
            log_odds = log_weight(similarities[:rows]) - log_weight(similarities[rows:])
        except Exception as error:  # nothing else would end the wait for this weight
            self._on_weight(Broke(error if isinstance(error, JackdawError) else EngineError("the embedder has failed")))
            return
        self._on_weight(Reweight(position, max(min(log_odds, 2 * MOST_LOG), -2 * MOST_LOG)))
