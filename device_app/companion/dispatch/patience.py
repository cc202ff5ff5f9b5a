"""How long a server is waited for: for its silence, for what it promises, and for words that trickle. Pure."""

from dataclasses import dataclass
from typing import Final

PACE_S: Final = 1.0
"""Each word of a server buys it so many seconds at the most: one that trickles is no better than one that is silent."""

MOST_PROMISED_S: Final = 20.0
"""A server that says that it begins later than that, counted from when it was asked, is not waited for."""


@dataclass(slots=True)
class ServerPatience:
    """With one server, of `limit_s` seconds. Times are of any one clock; `since` is when it was first waited for."""

    limit_s: float
    since: float
    _from: float = 0.0

    def __post_init__(self) -> None:
        """All of it is left."""
        self._from = self.since

    @property
    def until(self) -> float:
        """When it ends."""
        return self._from + self.limit_s

    def begin(self, now: float) -> None:
        """It is waited for from now on."""
        self.since = self._from = now

    def received(self, now: float) -> None:
        """It said something that brings the answer on."""
        self._from = min(now, self._from + PACE_S)

    def promised(self, now: float, seconds: float) -> None:
        """It says that it begins in so many seconds."""
        at = now + seconds
        self._from = at if at <= self.since + MOST_PROMISED_S else now - self.limit_s

    def paused(self, seconds: float) -> None:
        """So long nobody waited for it, as the reader took his time."""
        self._from += seconds
