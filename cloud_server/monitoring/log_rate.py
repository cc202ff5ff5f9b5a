"""A rate limit for log entries of each kind, which counts the dropped entries. No I/O."""

from collections.abc import Hashable
from dataclasses import dataclass, field

WINDOW_S = 60.0

MOST_KINDS = 1_000
"""The most kinds of entries that are counted. To make room, kinds whose minute of counting has ended are forgotten; if
there are none, the oldest kind is.
"""


@dataclass(slots=True)
class LogRateLimit:
    """At most `most` log entries a minute of each kind. `now` is any clock that never goes back, in seconds."""

    most: int
    _windows: dict[Hashable, tuple[float, int]] = field(default_factory=dict)  # start of the minute, entries

    def left_out(self, kind: Hashable, now: float) -> int | None:
        """Count an entry. Return None if the entry has to be dropped, else how many entries of its kind were dropped in
        the previous minute.
        """
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
