"""Timing of pings to the server, the round trip time, and how long a silence means a lost connection. Pure."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Final

PING_S, SILENT_S = 1.0, 2.0
"""While a request is open: seconds between pings, and seconds of silence after which the connection counts as lost."""

IDLE_PING_S, IDLE_SILENT_S = 20.0, 60.0
"""While no request is open: seconds between pings, and seconds of silence after which the connection counts as lost."""

WELCOME_S = 10.0
"""The most seconds between the connection and the server's welcome."""

MOST_PINGED: Final = 64
"""The maximum number of unanswered pings remembered, for a server that sends other messages but no pongs."""

SMOOTHING: Final = 0.2
"""The weight of the newest measurement in the running mean of the round trip."""


@dataclass(slots=True)
class Heartbeat:
    """The pings on one connection after another. Times are of any one clock, in seconds.

    `received_at` is the time of the server's latest message, which the owner sets; `round_trip_s` is a running mean,
    None before the first pong.
    """

    received_at: float = 0.0
    round_trip_s: float | None = None
    _last: int = 0
    _pending: dict[int, float] = field(default_factory=dict)

    def restart(self, now: float) -> None:
        """Forget the pings of the last connection, and start with a new one."""
        self.received_at = now
        self._pending.clear()

    def ping(self, now: float) -> int:
        """Record a ping that is sent, and return its number."""
        self._last += 1
        self._pending[self._last] = now
        if len(self._pending) > MOST_PINGED:
            # Keep the oldest, since which no pong came, and the newest, which says when the next is due.
            del self._pending[next(islice(self._pending, 1, None))]
        return self._last

    def pong(self, number: int, now: float) -> bool:
        """Record the pong to a ping; return whether the round trip changed."""
        sent = self._pending.pop(number, None)
        if sent is None:
            return False
        took, before = now - sent, self.round_trip_s
        self.round_trip_s = took if before is None else (1 - SMOOTHING) * before + SMOOTHING * took
        return True

    def due(self, now: float, *, busy: bool) -> bool:
        """Return whether a ping is due now; `busy`: a request is open."""
        return now - max(self._pending.values(), default=self.received_at) >= (PING_S if busy else IDLE_PING_S)

    def is_lost(self, now: float, *, busy: bool, welcomed: bool) -> bool:
        """Return whether the server has been silent for too long.

        `busy`: a request is open, so that less silence is allowed; `welcomed`: the server's welcome has come.
        """
        limit = (SILENT_S if busy else IDLE_SILENT_S) if welcomed else WELCOME_S
        oldest = min(self._pending.values(), default=now if welcomed else self.received_at)
        return now - max(oldest, self.received_at) >= limit
