"""What the scheduler goes by, learned online: decoding latency, transmission, acceptance (DRAGON, section 5).

Values in, a value out; seconds of any one clock. What a machine under load or a network in trouble gives now and then
moves nothing much.
"""

from dataclasses import dataclass, replace

_LATENCY_HALF_LIFE = 64.0
_RTT_SHARE = 1 / 8  # TCP's
_SURPRISE = 4.0


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds of one decoding step: k·position + b, by least squares, older steps weighing less.

    `position` counts prompt and answer; `b` alone is the guess before the first step.
    """

    b: float = 0.1
    k: float = 0.0
    weight: float = 0.0
    mean_position: float = 0.0
    mean_seconds: float = 0.0
    spread: float = 0.0  # weighted sums of squares about the means
    shared: float = 0.0

    def __call__(self, position: float) -> float:
        """Seconds that the step at this position takes."""
        return self.k * position + self.b

    def observe(self, position: float, seconds: float) -> "Latency":
        """With one more step. Raises ValueError for what is no position or duration."""
        if not (0 <= position < float("inf") and 0 <= seconds < float("inf")):
            raise ValueError(f"no step takes {seconds} s at position {position}")
        if self.weight >= 4:
            seconds = min(seconds, _SURPRISE * max(self(position), 1e-9))  # the machine was busy with something else
        kept = 0.5 ** (1 / _LATENCY_HALF_LIFE)
        weight = self.weight * kept + 1
        off, late = position - self.mean_position, seconds - self.mean_seconds
        mean_position, mean_seconds = self.mean_position + off / weight, self.mean_seconds + late / weight
        spread = self.spread * kept + off * (position - mean_position)
        shared = self.shared * kept + off * (seconds - mean_seconds)
        # Positions close together tell no slope; a step never gets cheaper with more to look back on.
        k = max(shared / (spread + weight), 0.0)
        b = max(mean_seconds - k * mean_position, 0.0)
        return Latency(b, k, weight, mean_position, mean_seconds, spread, shared)


@dataclass(frozen=True, slots=True)
class Transmission:
    """Seconds of a round trip, smoothed, from pings that are timed where they are sent."""

    rtt: float = 0.1
    known: bool = False

    def observe(self, seconds: float) -> "Transmission":
        """With one more. Raises ValueError for what is no duration."""
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"no round trip takes {seconds} s")
        if not self.known:
            return Transmission(seconds, known=True)
        seconds = min(seconds, _SURPRISE * self.rtt + 0.001)
        return replace(self, rtt=self.rtt + (seconds - self.rtt) * _RTT_SHARE)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """How often a side's drafts are accepted: a mean with a prior, that is forgotten as slowly as what was seen."""

    accepted: float = 12.8
    drafts: float = 16.0

    @property
    def rate(self) -> float:
        """Between 0 and 1."""
        return self.accepted / self.drafts

    def observe(self, accepted: int, drafts: int) -> "Acceptance":
        """With so many more. Raises ValueError where more were accepted than made."""
        if not 0 <= accepted <= drafts:
            raise ValueError(f"{accepted} of {drafts} drafts cannot have been accepted")
        kept = 0.5 ** (drafts / 256)
        return Acceptance(self.accepted * kept + accepted, self.drafts * kept + drafts)
