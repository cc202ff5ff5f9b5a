"""The scheduler's inputs, estimated online: decoding latency, transmission time, acceptance (DRAGON, section 5).

The estimates are immutable; their times are seconds of any one clock. Outliers from a busy machine or a bad network
have little effect.
"""

from dataclasses import dataclass, replace

_LATENCY_HALF_LIFE = 64.0
_RTT_SHARE = 1 / 8  # the smoothing of TCP
_SURPRISE = 4.0


@dataclass(frozen=True, slots=True)
class Latency:
    """The seconds per decoding step as a line, k·position + b, fitted by least squares with decaying weights.

    `position` counts prompt and answer tokens; `b` alone is the estimate before the first step. The other fields are
    the fit's decaying sums and means over the steps so far.
    """

    b: float = 0.1
    k: float = 0.0
    weight: float = 0.0
    mean_position: float = 0.0
    mean_seconds: float = 0.0
    spread: float = 0.0  # weighted sum of squared deviations of position
    shared: float = 0.0

    def __call__(self, position: float) -> float:
        """Return the expected seconds of the decoding step at the given position."""
        return self.k * position + self.b

    def observe(self, position: float, seconds: float) -> "Latency":
        """Return the estimate updated by one more step. Raises ValueError for an invalid position or duration."""
        if not (0 <= position < float("inf") and 0 <= seconds < float("inf")):
            raise ValueError(f"a decoding step cannot take {seconds} s at position {position}")
        if self.weight >= 4:
            seconds = min(seconds, _SURPRISE * max(self(position), 1e-9))  # an outlier: the machine was busy
        kept = 0.5 ** (1 / _LATENCY_HALF_LIFE)
        weight = self.weight * kept + 1
        off, late = position - self.mean_position, seconds - self.mean_seconds
        mean_position, mean_seconds = self.mean_position + off / weight, self.mean_seconds + late / weight
        spread = self.spread * kept + off * (position - mean_position)
        shared = self.shared * kept + off * (seconds - mean_seconds)
        # Close positions show no slope; a step never gets cheaper with a longer context.
        k = max(shared / (spread + weight), 0.0)
        b = max(mean_seconds - k * mean_position, 0.0)
        return Latency(b, k, weight, mean_position, mean_seconds, spread, shared)


@dataclass(frozen=True, slots=True)
class Transmission:
    """Smoothed round-trip time in seconds, from pings timed by their sender. `known`: at least one was measured."""

    rtt: float = 0.1
    known: bool = False

    def observe(self, seconds: float) -> "Transmission":
        """Return the estimate updated by one more round trip. Raises ValueError for an invalid duration."""
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"a round trip cannot take {seconds} s")
        if not self.known:
            return Transmission(seconds, known=True)
        seconds = min(seconds, _SURPRISE * self.rtt + 0.001)
        return replace(self, rtt=self.rtt + (seconds - self.rtt) * _RTT_SHARE)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A side's acceptance rate, from the numbers of its drafts and of the accepted ones.

    Older drafts count less. The numbers begin with a prior, which loses weight like counted drafts.
    """

    accepted: float = 12.8
    drafts: float = 16.0

    @property
    def rate(self) -> float:
        """The estimated acceptance rate, between 0 and 1."""
        return self.accepted / self.drafts

    def observe(self, accepted: int, drafts: int) -> "Acceptance":
        """Return the estimate updated by more drafts. Raises ValueError if more were accepted than drafted."""
        if not 0 <= accepted <= drafts:
            raise ValueError(f"{accepted} of {drafts} drafts cannot have been accepted")
        kept = 0.5 ** (drafts / 256)
        return Acceptance(self.accepted * kept + accepted, self.drafts * kept + drafts)
