"""Limits reading ahead, and measures the disk's throughput.

No clock: the caller passes the time, in seconds.
"""

from typing import Final

_FORGET_S: Final = 2.0
"""Seconds of reading after which earlier measurements have half their weight."""

_UNIT: Final = 1e9
"""Processor time is counted in nanoseconds, as a bucket takes less than 1 for nothing."""


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

    def owe(self, size: float) -> None:
        """Count `size` bytes that were taken without asking; what exceeds the burst is owed."""
        self._left -= size


class AheadPace:
    """Limits reading ahead to `rate` bytes a second and, where no processor is idle, to a share of one processor's
    time. Times of processors are in seconds; `burst` is in bytes, `processor_burst` in seconds.

    Reads take the processor from a model that computes on all of them, and each interruption of one holds up its
    threads on the others.
    """

    def __init__(self, rate: float, burst: float, share: float, processor_burst: float) -> None:
        self._bytes = TokenBucket(rate, burst)
        self._processor = TokenBucket(share * _UNIT, processor_burst * _UNIT)
        self._share = share
        self._is_limited = False
        self._read = self._spent = 0.0

    @property
    def rate(self) -> float:
        """The bytes a second that may be read at most. Where no processor is idle, reads are taken to cost as much
        as they have so far.
        """
        if not (self._is_limited and self._spent):
            return self._bytes.rate
        return min(self._bytes.rate, self._share * self._read / self._spent)

    def take(self, size: int, now: float, *, is_processor_idle: bool) -> float:
        """Return the seconds to wait before reading `size` bytes. If the result is 0, they may be read now."""
        self._is_limited = not is_processor_idle
        owed = self._processor.take(0, now) if self._is_limited else 0.0
        return owed or self._bytes.take(size, now)

    def spend(self, size: int, seconds: float) -> None:
        """Count the processor time that reading `size` bytes took."""
        self._read, self._spent = self._read + size, self._spent + seconds
        if self._spent > _FORGET_S:
            self._read, self._spent = self._read / 2, self._spent / 2
        if self._is_limited:
            self._processor.owe(seconds * _UNIT)


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
