"""Limits the rate of reading ahead, and measures the disk's throughput.

No clock: the caller passes the time, in seconds.
"""

from typing import Final

_FORGET_S: Final = 2.0
"""Seconds of reading after which earlier measurements have half their weight."""


class TokenBucket:
    """A rate limit of `rate` bytes a second in the long run, with bursts of `burst` bytes."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._left, self._time = burst, 0.0

    def take(self, size: int, now: float) -> float:
        """Return the seconds to wait before reading `size` bytes. If the result is 0, the bytes are counted and may be
        read now.

        If too little is left, the wait is until the bucket is full: several reads may then follow each other, which
        wakes the processor less often than a wait before each. A read larger than a burst leaves the bucket in debt.
        """
        self._left = min(self.burst, self._left + max(now - self._time, 0.0) * self.rate)
        self._time = max(now, self._time)
        missing = min(size, self.burst) - self._left
        if missing >= 1:  # for less, the wait may be too short for the clock
            return (self.burst - self._left) / self.rate
        self._left -= size
        return 0.0


class Throughput:
    """The measured throughput of the disk; overlapping reads count as one period of time."""

    def __init__(self) -> None:
        self._reads, self._since = 0, 0.0
        self._bytes = self._seconds = 0.0

    @property
    def rate(self) -> float | None:
        """The bytes read per second; None before the first read."""
        return self._bytes / self._seconds if self._seconds else None

    def begin(self, now: float) -> None:
        """Record the start of a read."""
        if not self._reads:
            self._since = now
        self._reads += 1

    def end(self, size: int, now: float) -> None:
        """Record the end of a read of `size` bytes, 0 if it failed."""
        self._seconds += max(now - self._since, 0.0)
        self._since = now
        self._reads -= 1
        self._bytes += size
        if self._seconds > _FORGET_S:
            self._bytes, self._seconds = self._bytes / 2, self._seconds / 2
