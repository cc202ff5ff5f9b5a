"""The pauses between attempts to connect: random, and longer after each failure."""

import random
from dataclasses import dataclass

FIRST_WAIT_S, MOST_WAIT_S = 0.05, 30.0
"""The first and the last limit of the random pause, in seconds; the limit doubles with each failure."""


@dataclass(slots=True)
class Backoff:
    """Counts consecutive failed attempts to connect, which determine the next pause."""

    _failures: int = 0

    def pause(self, *, succeeded: bool, lasted_s: float) -> float:
        """Return the seconds to wait after an attempt whose connection lasted `lasted_s` seconds.

        A connection longer than MOST_WAIT_S counts as a success.
        """
        self._failures = 0 if succeeded or lasted_s > MOST_WAIT_S else self._failures + 1
        limit = min(FIRST_WAIT_S * 2 ** min(self._failures, 32), MOST_WAIT_S)
        return random.uniform(limit / 2, limit)
