"""When the way to the server is measured, how long that takes, and when its silence means that it is lost. Pure."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Final

PING_S, SILENT_S = 1.0, 2.0
"""While something is asked: how often the way is measured, and after what further silence it counts as lost."""

IDLE_PING_S, IDLE_SILENT_S = 20.0, 60.0
"""The same while nothing is."""

WELCOME_S = 10.0
"""How long a server may take to say who it is."""

MOST_PINGED: Final = 64
"""Pings that are remembered of a server that talks and answers none."""

SMOOTHING: Final = 0.2
"""Share of the newest measurement in the round trip's running mean."""


@dataclass(slots=True)
class Heartbeat:
    """Of one connection after the other. Times are of any one clock, in seconds."""

    received_at: float = 0.0
    round_trip_s: float | None = None
    _last: int = 0
    _pending: dict[int, float] = field(default_factory=dict)

    def restart(self, now: float) -> None:
        """There is another connection."""
        self.received_at = now
        self._pending.clear()

    def ping(self, now: float) -> int:
        """Count a ping that is sent; its number."""
        self._last += 1
        self._pending[self._last] = now
        if len(self._pending) > MOST_PINGED:
            # The oldest tells since when none came back, the newest when the next is due.
            del self._pending[next(islice(self._pending, 1, None))]
        return self._last

    def pong(self, number: int, now: float) -> bool:
        """A ping came back; whether the round trip is another now."""
        sent = self._pending.pop(number, None)
        if sent is None:
            return False
        took, before = now - sent, self.round_trip_s
        self.round_trip_s = took if before is None else (1 - SMOOTHING) * before + SMOOTHING * took
        return True

    def due(self, now: float, *, busy: bool) -> bool:
        """Whether the way is to be measured now; `busy`: something is asked."""
        return now - max(self._pending.values(), default=self.received_at) >= (PING_S if busy else IDLE_PING_S)

    def is_lost(self, now: float, *, busy: bool, welcomed: bool) -> bool:
        """Whether nothing was received for too long."""
        limit = (SILENT_S if busy else IDLE_SILENT_S) if welcomed else WELCOME_S
        oldest = min(self._pending.values(), default=now if welcomed else self.received_at)
        return now - max(oldest, self.received_at) >= limit
