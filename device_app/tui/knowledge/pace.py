"""How fast files are read, and so how long it will take. Pure."""

from collections import deque

WINDOW_S = 30.0
"""The time left is told by how much was read within so many seconds, the latest."""


class Pace:
    """How fast bytes are read: from the oldest to the latest note within the window."""

    def __init__(self) -> None:
        self._notes: deque[tuple[float, int]] = deque()

    def add(self, now: float, done: int) -> None:
        """Note how many bytes are done."""
        self._notes.append((now, done))
        while self._notes[0][0] < now - WINDOW_S:
            self._notes.popleft()

    def seconds_left(self, total: int) -> float | None:
        """For the rest of so many bytes; None while too little was seen."""
        if not self._notes:
            return None
        (first, from_bytes), (last, done) = self._notes[0], self._notes[-1]
        if last - first < 1.0 or done <= from_bytes:
            return None
        return (total - done) / (done - from_bytes) * (last - first)
