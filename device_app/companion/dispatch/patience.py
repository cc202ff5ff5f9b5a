"""Decides how long to wait for a silent or slow server, and for one that has promised a start. Pure."""

from dataclasses import dataclass
from typing import Final

PACE_S: Final = 1.0
"""The most seconds by which one token extends the wait: a very slow server must not delay an answer for long."""

MOST_PROMISED_S: Final = 20.0
"""The most seconds from the request to a server's promised start for which the device waits, unless it waits longer for
a silent server.
"""


@dataclass(slots=True)
class ServerPatience:
    """The wait for one server's next message, which ends after `limit_s` seconds unless it is extended.

    `since` is the time at which the wait began; all times are by the same clock, which may be any. `next_s` is the
    limit from the first message that advances the answer on; None leaves it at `limit_s`.
    """

    limit_s: float
    since: float
    next_s: float | None = None
    _from: float = 0.0

    def __post_init__(self) -> None:
        """Start the wait with its full limit."""
        self._from = self.since

    @property
    def until(self) -> float:
        """The time at which the wait ends."""
        return self._from + self.limit_s

    def begin(self, now: float) -> None:
        """Start the wait at the time `now`."""
        self.since = self._from = now

    def received(self, now: float) -> None:
        """Extend the wait, by at most PACE_S, after a message that advances the answer."""
        if self.next_s is not None:
            self.limit_s, self.next_s, self._from = self.next_s, None, now
        self._from = min(now, self._from + PACE_S)

    def worked(self, now: float) -> None:
        """Restart the wait after the server reported a round of retrieval.

        A restart later than MOST_PROMISED_S after the first start counts as one at that time.
        """
        self._from = max(self._from, min(now, self.since + MOST_PROMISED_S))

    def promised(self, now: float, seconds: float) -> None:
        """Extend the wait until the server's promised start in `seconds`; end the wait if that start is too late.

        A server that says nothing is waited for as long as one that promises a start.
        """
        at, latest = now + seconds, self.since + max(MOST_PROMISED_S, self.limit_s)
        self._from = at if at <= latest else now - self.limit_s

    def paused(self, seconds: float) -> None:
        """Extend the wait by the seconds in which the reader, not the server, caused the delay."""
        self._from += seconds
