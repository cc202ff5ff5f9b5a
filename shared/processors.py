"""How many of the machine's processors have nothing to do."""

import time
from collections.abc import Callable
from typing import Final

LOOK_S: Final = 0.1
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
        """Return how many processors had nothing to do, on average, between the last two looks at them; 0 before the
        second look, and where the system does not say.
        """
        if self._clock() - self._at >= LOOK_S:
            now, seconds = self._look()
            self._count = (seconds - self._seconds) / (now - self._at)
            self._at, self._seconds = now, seconds
        return self._count

    def _look(self) -> tuple[float, float]:
        return self._clock(), self._idle_seconds()


def _idle_seconds() -> float:
    import psutil

    try:
        times = psutil.cpu_times()
    except (OSError, RuntimeError, ValueError):  # Android denies it, and some containers have no such file
        return 0.0
    return float(times.idle + getattr(times, "iowait", 0.0))  # a processor is idle while programs wait for the disk
