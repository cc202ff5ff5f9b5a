"""What one token may use of the server: token buckets (RFC 2697's single rate), one for each thing that is limited.

Pure: `now` is any clock that never goes back, in seconds.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Rate:
    """So much a minute, and at most `burst` at once."""

    per_minute: float
    burst: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is left of a rate at a moment. Below 0, more was used than there was: it has to fill up first."""

    rate: Rate
    left: float
    at: float

    @classmethod
    def full(cls, rate: Rate, now: float) -> "Bucket":
        """One of which nothing was used."""
        return cls(rate, rate.burst, now)

    def filled(self, now: float) -> "Bucket":
        """The same at a later moment."""
        gained = max(now - self.at, 0.0) * self.rate.per_minute / 60
        return replace(self, left=min(self.left + gained, self.rate.burst), at=max(now, self.at))

    def wait_s(self, now: float, amount: float = 1.0) -> float:
        """Seconds until so much may be used; 0 now, and infinity where it never will be."""
        missing = min(amount, self.rate.burst or amount) - self.filled(now).left
        if missing <= 0:
            return 0.0
        return missing * 60 / self.rate.per_minute if self.rate.per_minute else float("inf")

    def used(self, now: float, amount: float = 1.0) -> "Bucket":
        """After so much was used, which may be more than was left: what an answer takes is known at its end alone."""
        filled = self.filled(now)
        return replace(filled, left=filled.left - amount)
