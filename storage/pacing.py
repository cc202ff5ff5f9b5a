"""How fast the disk is read ahead of a question, and how fast it can be read at all. Pure: every call gets the time."""

from typing import Final

_FORGET_S: Final = 2.0
"""Busy seconds after which what was seen counts half."""


class TokenBucket:
    """At most `rate` bytes a second in the long run, `burst` at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._left, self._time = burst, 0.0

    def take(self, size: int, now: float) -> float:
        """Seconds to wait until so many bytes may be read; 0 where they may now, and then they are counted.

        More than the burst is as good as the burst: it is waited for when the bucket is full, and owed afterwards.
        """
        self._left = min(self.burst, self._left + max(now - self._time, 0.0) * self.rate)
        self._time = max(now, self._time)
        missing = min(size, self.burst) - self._left
        if missing >= 1:  # of less, the time may be too short to be told
            return missing / self.rate
        self._left -= size
        return 0.0


class Throughput:
    """Bytes a second while anything is read, several reads at a time being one stretch of time."""

    def __init__(self) -> None:
        self._reads, self._since = 0, 0.0
        self._bytes = self._seconds = 0.0

    @property
    def rate(self) -> float | None:
        """Bytes a second; None before anything was read."""
        return self._bytes / self._seconds if self._seconds else None

    def begin(self, now: float) -> None:
        """A read begins."""
        if not self._reads:
            self._since = now
        self._reads += 1

    def end(self, size: int, now: float) -> None:
        """A read of so many bytes ends, 0 where it failed."""
        self._seconds += max(now - self._since, 0.0)
        self._since = now
        self._reads -= 1
        self._bytes += size
        if self._seconds > _FORGET_S:
            self._bytes, self._seconds = self._bytes / 2, self._seconds / 2
