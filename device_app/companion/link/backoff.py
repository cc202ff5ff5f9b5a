"""The pauses between attempts to connect."""

import random
from dataclasses import dataclass

FIRST_WAIT_S, MOST_WAIT_S = 0.05, 30.0
"""The first and the last limit of the pause: each pause is random, up to a limit that doubles each time."""


@dataclass(slots=True)
class Backoff:
    """Counts consecutive attempts without success."""

    _failures: int = 0

    def pause(self, *, succeeded: bool, lasted_s: float) -> float:
        """Return the pause in seconds after an attempt that `succeeded`, or lasted long enough to count as one."""
        self._failures = 0 if succeeded or lasted_s > MOST_WAIT_S else self._failures + 1
        limit = min(FIRST_WAIT_S * 2 ** min(self._failures, 32), MOST_WAIT_S)
        return random.uniform(limit / 2, limit)
