"""What writing together goes by, as it was on this device with this server; kept across restarts (DRAGON, section 5).

Knows no file. What is restored is checked as strictly as what a stranger sends.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec

from device_app.companion.dispatch.aggregating import SideTimes
from shared.aggregation.profiler import Acceptance, Latency, Transmission
from shared.aggregation.scheduler import Figures
from shared.side import Side

_NEW = 0.2
"""Weight of the newest prompt that was read and the newest search."""

_MOST = 1e9
"""No sum of squares that is kept is larger: positions are below 10,000, and older steps fade."""

_LEAST_READ = 16
"""Tokens under which a prompt tells nothing of the speed of reading."""


@dataclass(frozen=True, slots=True)
class Profile:
    """`read` is seconds for a token of a prompt here, `search` those of the server for a search."""

    read: float = 0.01
    search: float = 0.05
    device: Latency = field(default_factory=lambda: Latency(b=0.05))
    trip: Transmission = field(default_factory=Transmission)
    device_accepted: Acceptance = field(default_factory=Acceptance)
    server_accepted: Acceptance = field(default_factory=Acceptance)

    def wrote(self, read: int, read_s: float, written: int, written_s: float, position: float) -> "Profile":
        """With an answer of this device's own: tokens read and written, in how many seconds, about which position."""
        profile = self
        if read >= _LEAST_READ:
            profile = replace(profile, read=profile.read + _NEW * (min(read_s / read, 1.0) - profile.read))
        if written > 1:
            profile = replace(profile, device=profile.device.observe(position, written_s / written))
        return profile

    def searched(self, seconds: float, round_trip_s: float | None) -> "Profile":
        """With a search: how long its passages took to come, and a round trip as it is now."""
        trip = self.trip if round_trip_s is None else self.trip.observe(round_trip_s)
        own = min(max(seconds - trip.rtt, 0.0), 10.0)
        return replace(self, trip=trip, search=self.search + _NEW * (own - self.search))

    def judged(self, judged: Mapping[Side, tuple[int, int]]) -> "Profile":
        """With an answer of both sides: the drafts of each, and how many of them were accepted."""
        return replace(
            self,
            device_accepted=_observed(self.device_accepted, judged.get("device", (0, 0))),
            server_accepted=_observed(self.server_accepted, judged.get("server", (0, 0))),
        )

    def known(self, position: float, first_s: float, server_s: float, round_trip_s: float | None) -> SideTimes:
        """At about this position of prompt and answer.

        `first_s` is from a question to the server's first token, `server_s` a token of its own as answers that it wrote
        alone have it. A round trip as it is now goes before what is remembered.
        """
        rtt = self.trip.rtt if round_trip_s is None else round_trip_s
        decode: dict[Side, float] = {"device": self.device(position), "server": server_s}
        accepted: dict[Side, float] = {"device": self.device_accepted.rate, "server": self.server_accepted.rate}
        fetch_s = rtt + self.search
        return SideTimes(self.read, fetch_s, max(first_s - fetch_s, 0.0), Figures(decode, rtt, accepted))

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: object) -> "Profile":
        """From an `as_json`. Raises ValueError where that is damaged."""
        try:
            profile = msgspec.convert(kept, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"no profile: {error}") from error
        bounds = ((profile.read, 1.0), (profile.search, 10.0), (profile.trip.rtt, _MOST))
        sound = all(0 <= value <= most for value, most in bounds)
        sound &= _is_latency(profile.device)
        sound &= all(
            0 <= counts.accepted <= counts.drafts <= _MOST and counts.drafts >= 1
            for counts in (profile.device_accepted, profile.server_accepted)
        )
        if not sound:
            raise ValueError(f"no profile: {profile}")
        return profile


def _observed(acceptance: Acceptance, judged: tuple[int, int]) -> Acceptance:
    drafts, accepted = judged
    return acceptance.observe(min(accepted, drafts), drafts)


def _is_latency(latency: Latency) -> bool:
    return all(
        0 <= value <= _MOST
        for value in (latency.b, latency.k, latency.weight, latency.mean_position, latency.mean_seconds)
    ) and (0 <= latency.spread <= _MOST and abs(latency.shared) <= _MOST)
