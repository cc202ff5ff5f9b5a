"""Measured times and acceptance rates for planning joint answers, kept across restarts (DRAGON, section 5).

Reads no file. Restored data is checked as strictly as untrusted data.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, get_args

import msgspec

from device_app.companion.dispatch.aggregating import SideTimes
from device_app.companion.dispatch.aggregation_choice import Kind, Pace, Ratio
from shared.aggregation.messages import Rule
from shared.aggregation.profiler import Acceptance, Latency, Transmission
from shared.aggregation.scheduler import Aggregation, Figures, Lead
from shared.side import Side

_NEW = 0.2
"""The weight of the newest prefill time and the newest search time in the running means."""

_MOST = 1e9
"""The upper bound of stored sums of squares: positions are below 10,000, and older steps lose weight."""

_LEAST_READ = 16
"""The shortest prompt, in tokens, from which the prefill speed is measured."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Measured times and acceptance rates of this device and its server.

    `read` is this device's seconds per prompt token, `device` its seconds per generated token; `search` is the seconds
    of a search on the server, the round trip aside, `trip` the round trip. `device_accepted` and `server_accepted` are
    the shares of each side's drafts that were accepted. `ratios`: measured divided by forecast seconds per token of
    joint answers, by their kind. `offered`: the ways of aggregation that the last server
    offered, None if unknown.
    """

    read: float = 0.01
    search: float = 0.05
    device: Latency = field(default_factory=lambda: Latency(b=0.05))
    trip: Transmission = field(default_factory=Transmission)
    device_accepted: Acceptance = field(default_factory=Acceptance)
    server_accepted: Acceptance = field(default_factory=Acceptance)
    ratios: Mapping[Kind, Ratio] = field(default_factory=dict)
    offered: frozenset[str] | None = None

    def wrote(self, read: int, read_s: float, written: int, written_s: float, position: float) -> "Profile":
        """Return the profile updated by an answer of this device alone: the tokens read and written, and their seconds.

        `position` is the mean position of the written tokens, counted over prompt and answer.
        """
        profile = self
        if read >= _LEAST_READ:
            profile = replace(profile, read=profile.read + _NEW * (min(read_s / read, 1.0) - profile.read))
        if written > 1:
            profile = replace(profile, device=profile.device.observe(position, written_s / written))
        return profile

    def searched(self, seconds: float, round_trip_s: float | None) -> "Profile":
        """Return the profile updated by a search: the seconds until its passages came, and the current round trip."""
        trip = self.trip if round_trip_s is None else self.trip.observe(round_trip_s)
        own = min(max(seconds - trip.rtt, 0.0), 10.0)
        return replace(self, trip=trip, search=self.search + _NEW * (own - self.search))

    def judged(self, judged: Mapping[Side, tuple[int, int]]) -> "Profile":
        """Return the profile updated by a joint answer: by side, its number of drafts, and how many were accepted."""
        return replace(
            self,
            device_accepted=_observed(self.device_accepted, judged.get("device", (0, 0))),
            server_accepted=_observed(self.server_accepted, judged.get("server", (0, 0))),
        )

    def timed(self, rule: Rule, way: Aggregation, token_s: float, figures: Figures, lead: Lead | None) -> "Profile":
        """Return the profile updated by a joint answer: its rule, way of aggregation and measured seconds per token.

        `figures` and `lead` are those from which its time was forecast.
        """
        return replace(self, ratios=Pace(figures, self.ratios, lead).observed(rule, way, token_s))

    def known(self, position: float, first_s: float, server_s: float, round_trip_s: float | None) -> SideTimes:
        """Return both sides' times for tokens at about this position, counted over prompt and answer.

        `first_s` is from a question to the server's first token; `server_s` is the server's seconds per token, learned
        from answers that it wrote alone. A current round trip takes precedence over the stored one.
        """
        rtt = self.trip.rtt if round_trip_s is None else round_trip_s
        decode: dict[Side, float] = {"device": self.device(position), "server": server_s}
        accepted: dict[Side, float] = {"device": self.device_accepted.rate, "server": self.server_accepted.rate}
        fetch_s = rtt + self.search
        return SideTimes(self.read, fetch_s, max(first_s - fetch_s, 0.0), Figures(decode, rtt, accepted))

    def as_json(self) -> dict[str, Any]:
        """Return all figures as JSON."""
        return asdict(self) | {"offered": None if self.offered is None else sorted(self.offered)}

    @classmethod
    def from_json(cls, kept: object) -> "Profile":
        """Restore the profile from the result of `as_json`, without unknown kinds of joint answers.

        Raises ValueError if the data is damaged.
        """
        try:
            profile = msgspec.convert(_without_unknown_kinds(kept), cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"the stored profile is not valid: {error}") from error
        bounds = ((profile.read, 1.0), (profile.search, 10.0), (profile.trip.rtt, _MOST))
        sound = all(0 <= value <= most for value, most in bounds)
        sound &= _is_latency(profile.device) and all(ratio.is_valid for ratio in profile.ratios.values())
        sound &= all(
            0 <= counts.accepted <= counts.drafts <= _MOST and counts.drafts >= 1
            for counts in (profile.device_accepted, profile.server_accepted)
        )
        if not sound:
            raise ValueError(f"the stored profile is out of range: {profile}")
        return profile


def _without_unknown_kinds(kept: object) -> object:
    """Return the stored profile without the ratios of unknown kinds of joint answers, which a later version stored."""
    if not isinstance(kept, dict) or not isinstance(ratios := kept.get("ratios"), dict):
        return kept
    return kept | {"ratios": {kind: ratio for kind, ratio in ratios.items() if kind in get_args(Kind)}}


def _observed(acceptance: Acceptance, judged: tuple[int, int]) -> Acceptance:
    drafts, accepted = judged
    return acceptance.observe(min(accepted, drafts), drafts)


def _is_latency(latency: Latency) -> bool:
    return all(
        0 <= value <= _MOST
        for value in (latency.b, latency.k, latency.weight, latency.mean_position, latency.mean_seconds)
    ) and (0 <= latency.spread <= _MOST and abs(latency.shared) <= _MOST)
