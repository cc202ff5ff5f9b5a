"""How often the same thing is logged: so many times a minute, and then how many were left out. Pure."""

from collections.abc import Hashable
from dataclasses import dataclass, field

WINDOW_S = 60.0

MOST_KINDS = 1_000
"""Kinds that are remembered before those are forgotten whose minute is over, or else the oldest."""


@dataclass(slots=True)
class LogRateLimit:
    """At most `most` entries a minute of each kind. `now` is any clock that never goes back, in seconds."""

    most: int
    _windows: dict[Hashable, tuple[float, int]] = field(default_factory=dict)  # since when, and how many

    def left_out(self, kind: Hashable, now: float) -> int | None:
        """None where the entry is one too many; else how many of its kind were left out in the minute before."""
        since, count = self._windows.get(kind, (now, 0))
        before = 0
        if now - since >= WINDOW_S:
            before, since, count = max(count - self.most, 0), now, 0
        if len(self._windows) >= MOST_KINDS and kind not in self._windows:
            self._windows = {known: (at, many) for known, (at, many) in self._windows.items() if now - at < WINDOW_S}
            if len(self._windows) >= MOST_KINDS:
                del self._windows[next(iter(self._windows))]
        self._windows[kind] = since, count + 1
        return before if count < self.most else None
