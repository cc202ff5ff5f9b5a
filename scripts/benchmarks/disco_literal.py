"""DiSCo's algorithms 2 and 3 as printed, to measure the effect of Jackdaw's corrections. Used only by the benchmark."""

import numpy as np

from device_app.companion.dispatch.distribution import Distribution
from device_app.companion.dispatch.policy import TAIL_SHARE, Decision
from shared.side import Side


class LiteralWaiting:
    """The paper's algorithm 2 as printed, without Jackdaw's corrections, to measure what these change. For one budget,
    without feedback.

    Its line 9 lacks the term E[l], the mean prompt length; its line 18 uses the server's distribution F of first-token
    times and omits the share reserved for its tail.
    """

    constraint: Side = "device"

    def __init__(self, server: Distribution, prompts: Distribution, budget: float) -> None:
        """Compute how long the device waits before it starts, W, for each bin of prompt lengths; lengths that never
        occurred take the longest wait, w_tail, as in line 4.
        """
        self.prompts = prompts
        w_tail = server.quantile(1 - min(TAIL_SHARE, budget))
        self.waits = np.full(len(prompts.typicals), w_tail)
        if budget <= TAIL_SHARE:
            return
        available = budget - TAIL_SHARE
        chances = -np.diff(prompts.survival)
        for at in np.flatnonzero(prompts.events):
            cost = chances[at] * prompts.typicals[at] * (1 - TAIL_SHARE)
            if available < cost:
                # because F(w*)·cost + (b - available) = b
                self.waits[at] = min(server.quantile(min(available / cost, 1.0)), w_tail)
                break
            self.waits[at] = 0.0
            available -= cost

    def decide(self, length: float, budget: float, coin: float) -> Decision:
        """Return the waiting time according to the printed algorithm."""
        del budget, coin
        return Decision(float(self.waits[self.prompts.bin(length)]), 0.0, "as printed")


class LiteralRouting:
    """The paper's algorithm 3 as printed, without Jackdaw's corrections: all requests of at least the threshold length
    run on both sides. For one budget, without feedback.
    """

    constraint: Side = "server"

    def __init__(self, shares: np.typing.NDArray[np.float64], prompts: Distribution, budget: float) -> None:
        """Compute the threshold, as the index of a bin of prompt lengths; `shares` are the shares of all prompt tokens
        that lie in the bins below each bin.
        """
        self.prompts = prompts
        self.threshold = int(np.searchsorted(shares[1:], 1 - budget))

    def decide(self, length: float, budget: float, coin: float) -> Decision:
        """Choose the device alone for prompts below the threshold."""
        del budget, coin
        alone = self.prompts.bin(length) < self.threshold
        return Decision(0.0, None if alone else 0.0, "as printed")
