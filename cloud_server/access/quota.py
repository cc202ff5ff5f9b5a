"""What one token has used of what it may use, over all its devices."""

import asyncio

from cloud_server.access.rate_limit import Bucket, Rate
from cloud_server.settings import Limits


class Quota:
    """One token's. `now` is the monotonic clock, in seconds. `..._used` count from the server's beginning."""

    def __init__(self, limits: Limits, now: float) -> None:
        self.connections = self.tokens_used = self.searches_used = 0
        self.reading = asyncio.Lock()  # one search or tokenising at a time: nobody's stand in line before all others'
        self._most_connections = limits.connections
        self._connects = _full(limits.connects_per_minute, now)
        self._tokens = _full(limits.tokens_per_minute, now)
        self._searches = _full(limits.searches_per_minute, now)

    def connect_wait_s(self, now: float) -> float:
        """Seconds until one more connection may be tried; 0 now."""
        if self.connections >= self._most_connections:
            return 5.0
        return self._connects.wait_s(now)

    def connected(self, now: float) -> None:
        """Count a connection."""
        self.connections += 1
        self._connects = self._connects.used(now)

    def disconnected(self) -> None:
        """One is gone."""
        self.connections -= 1

    def tokens_wait_s(self, now: float) -> float:
        """Seconds until an answer may be asked for; 0 now."""
        return self._tokens.wait_s(now)

    def computed(self, now: float, tokens: int) -> None:
        """Count tokens that were computed: of prompts, and of answers."""
        self._tokens = self._tokens.used(now, tokens)
        self.tokens_used += tokens

    def searches_wait_s(self, now: float) -> float:
        """Seconds until a search may be asked for; 0 now."""
        return self._searches.wait_s(now)

    def searched(self, now: float) -> None:
        """Count a search."""
        self._searches = self._searches.used(now)
        self.searches_used += 1


def _full(per_minute: float, now: float) -> Bucket:
    return Bucket.full(Rate(per_minute, per_minute), now)
