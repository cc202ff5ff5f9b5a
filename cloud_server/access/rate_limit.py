"""Rate limits of one access token: a token bucket (RFC 2697's single rate) for each limited resource.

Pure functions: the caller passes `now`, from any clock that never goes back, in seconds.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate limit: `per_minute` units a minute, and at most `burst` units at once."""

    per_minute: float
    burst: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """A token bucket: `left` units of a rate limit are left at the time `at`. A negative `left` is an overdraft that
    has to refill first.
    """

    rate: Rate
    left: float
    at: float

    @classmethod
    def full(cls, rate: Rate, now: float) -> "Bucket":
        """Return a full bucket for a rate limit."""
        return cls(rate, rate.burst, now)

    def filled(self, now: float) -> "Bucket":
        """Return the bucket refilled up to `now`."""
        gained = max(now - self.at, 0.0) * self.rate.per_minute / 60
        return replace(self, left=min(self.left + gained, self.rate.burst), at=max(now, self.at))

    def wait_s(self, now: float, amount: float = 1.0) -> float:
        """Return the seconds until `amount` may be used: 0 if it may be used now, infinity if it never may."""
        missing = min(amount, self.rate.burst or amount) - self.filled(now).left
        if missing <= 0:
            return 0.0
        return missing * 60 / self.rate.per_minute if self.rate.per_minute else float("inf")

    def used(self, now: float, amount: float = 1.0) -> "Bucket":
        """Return the bucket after `amount` units were used. `amount` may exceed `left`, as the cost of an answer is
        known only at its end.
        """
        filled = self.filled(now)
        return replace(filled, left=filled.left - amount)
