"""Counts how much one access token uses the server, over all its devices, and limits it."""

import asyncio

from cloud_server.access.rate_limit import Bucket, Rate
from cloud_server.settings import Limits


class Quota:
    """The quota of one token.

    `now` is the monotonic clock, in seconds. `connections` counts the open ones; the fields `…_used` count the use
    since the start of the server.
    """

    def __init__(self, limits: Limits, now: float) -> None:
        self.connections = self.tokens_used = self.searches_used = 0
        self.reading = asyncio.Lock()  # one search or tokenisation at a time, so that others get their turn
        self._most_connections = limits.connections
        self._connects = _full(limits.connects_per_minute, now)
        self._tokens = _full(limits.tokens_per_minute, now)
        self._searches = _full(limits.searches_per_minute, now)

    def connect_wait_s(self, now: float) -> float:
        """Return the seconds until another connection may be opened; 0 if one may be opened now."""
        if self.connections >= self._most_connections:
            return 5.0
        return self._connects.wait_s(now)

    def connected(self, now: float) -> None:
        """Count a new connection."""
        self.connections += 1
        self._connects = self._connects.used(now)

    def disconnected(self) -> None:
        """Count a closed connection."""
        self.connections -= 1

    def tokens_wait_s(self, now: float) -> float:
        """Return the seconds until another answer may be requested; 0 if one may be requested now."""
        return self._tokens.wait_s(now)

    def computed(self, now: float, tokens: int) -> None:
        """Charge computed tokens, of prompts and of answers, to the quota."""
        self._tokens = self._tokens.used(now, tokens)
        self.tokens_used += tokens

    def searches_wait_s(self, now: float) -> float:
        """Return the seconds until another search may be requested; 0 if one may be requested now."""
        return self._searches.wait_s(now)

    def searched(self, now: float) -> None:
        """Charge a search at the time `now` to the quota."""
        self._searches = self._searches.used(now)
        self.searches_used += 1


def _full(per_minute: float, now: float) -> Bucket:
    return Bucket.full(Rate(per_minute, per_minute), now)
