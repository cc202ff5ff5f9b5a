"""How long to wait before a connection is tried again."""

import random
from dataclasses import dataclass

FIRST_WAIT_S, MOST_WAIT_S = 0.05, 30.0
"""Before the first and between late attempts: each a random time up to a limit that doubles."""


@dataclass(slots=True)
class Backoff:
    """Counts the attempts that brought nothing, one after the other."""

    _failures: int = 0

    def pause(self, *, succeeded: bool, lasted_s: float) -> float:
        """Seconds to wait after an attempt that `succeeded`, or lasted so long that it counts as if it had."""
        self._failures = 0 if succeeded or lasted_s > MOST_WAIT_S else self._failures + 1
        limit = min(FIRST_WAIT_S * 2 ** min(self._failures, 32), MOST_WAIT_S)
        return random.uniform(limit / 2, limit)
