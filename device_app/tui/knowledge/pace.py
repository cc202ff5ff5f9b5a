"""Estimates the time left for reading files from the speed so far. Pure."""

from collections import deque

WINDOW_S = 30.0
"""Seconds of the latest progress on which the estimate is based."""


class Pace:
    """The speed of reading, from the oldest to the latest measurement within the window."""

    def __init__(self) -> None:
        self._notes: deque[tuple[float, int]] = deque()

    def add(self, now: float, done: int) -> None:
        """Record the number of bytes done."""
        self._notes.append((now, done))
        while self._notes[0][0] < now - WINDOW_S:
            self._notes.popleft()

    def seconds_left(self, total: int) -> float | None:
        """Return the seconds until `total` bytes are done; None as long as there are too few measurements."""
        if not self._notes:
            return None
        (first, from_bytes), (last, done) = self._notes[0], self._notes[-1]
        if last - first < 1.0 or done <= from_bytes:
            return None
        return (total - done) / (done - from_bytes) * (last - first)
