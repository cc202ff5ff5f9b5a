"""How many of the processors that this process may use have nothing to do."""

import os
import time
from collections.abc import Callable
from typing import Final

LOOK_S: Final = 0.05
"""The shortest time, in seconds, over which the idle processors are counted."""


class IdleProcessors:
    """Counts the processors that have nothing to do. `idle_seconds` returns the seconds for which processors had
    nothing to do so far, added up over all of them. Not thread-safe.
    """

    def __init__(
        self, idle_seconds: Callable[[], float] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._idle_seconds, self._clock = idle_seconds or _idle_seconds, clock
        self._at, self._seconds = self._look()
        self._count = 0.0

    def count(self) -> float:
        """Return how many processors had nothing to do, on average, between the last two looks at them.

        Return 0 where the system does not say, and after a pause, until there has been time for another look.
        """
        if (since := self._clock() - self._at) >= LOOK_S:
            now, seconds = self._look()
            is_recent = since < 2 * LOOK_S
            self._count = (seconds - self._seconds) / (now - self._at) if is_recent else 0.0
            self._at, self._seconds = now, seconds
        return self._count

    def _look(self) -> tuple[float, float]:
        return self._clock(), self._idle_seconds()


def _idle_seconds() -> float:
    """Return the idle seconds of the processors that this process may use; a quota of a container is not seen."""
    import psutil

    try:
        every = psutil.cpu_times(percpu=True)
    except (OSError, RuntimeError, ValueError):  # Android denies it, and some containers have no such file
        return 0.0
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(every))
    # A processor is idle while programs wait for the disk.
    return sum(each.idle + getattr(each, "iowait", 0.0) for place, each in enumerate(every) if place in usable)
