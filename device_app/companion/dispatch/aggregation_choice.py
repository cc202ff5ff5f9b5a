"""Chooses which side decides the tokens of a joint answer: both, one, or each in turn (DRAGON, section 5). Pure.

Only Algorithm 1 leaves a choice, and only if token distributions may leave the device. Forecasts follow equation 7, or
`scheduler.waiting_of_both`, times the ratio of measured to forecast time in earlier joint answers of the same kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from device_app.question.options import Aggregation as Setting
from shared.aggregation import scheduler
from shared.aggregation.messages import Place, Rule
from shared.aggregation.scheduler import Aggregation, Figures

WAYS: Final[tuple[Aggregation, ...]] = ("both", "scheduled", "device", "server")
"""Every way of aggregation: which side decides a joint answer's tokens. Of equally fast ways, the first is taken."""

ONLY: Final[Mapping[Rule, tuple[Aggregation, str]]] = {
    "greedy": (
        "device",
        "this device settles each token. There is nothing to choose: at temperature 0 a token is settled from both "
        "sides' token probabilities, and this device's stay here",
    ),
    "coupled": (
        "both",
        "both sides settle each token. There is nothing to choose: drafts alone are exchanged, from which either side "
        "settles at once; link.aggregation applies with link.privacy = open",
    ),
    "algorithm1": (
        "device",
        "this device settles each token. There is nothing to choose: its token probabilities stay here",
    ),
}
"""For each rule, the only possible way of aggregation if token distributions must not leave the device, and the reason.
"""

OLDER: Final = "both sides settle each token: the server's version offers no other way"

WHO: Final[Mapping[Aggregation, str]] = {
    "both": "both sides settle each token",
    "device": "this device settles each token",
    "server": "the server settles each token",
    "scheduled": "the side that delays the answer less settles each token",
}
"""For each way of aggregation, a phrase for the person that says which side decides a joint answer's tokens."""

_KEPT: Final = 0.95
"""The factor by which each new joint answer lowers the weight of older ones in a mean."""

_FURTHEST: Final = 2.0
"""The limit on the ratio of measured to forecast time: larger ratios count as 2, those below 1/2 as 1/2.

One very slow answer thus does not rule a way of aggregation out for good.
"""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The measured seconds per token of joint answers of one kind, divided by the forecast, as a mean over answers.

    In `mean`, newer answers weigh more; `weight` is the sum of all weights, of which the newest is 1. Before the first
    joint answer, the mean is 1 with the weight of one answer. `answers` counts the answers.
    """

    mean: float = 1.0
    weight: float = 1.0
    answers: int = 0

    def observe(self, measured_s: float, forecast_s: float) -> "Ratio":
        """Return the ratio updated by one more joint answer: its measured and its forecast seconds per token."""
        ratio = min(max(measured_s / max(forecast_s, 1e-9), 1 / _FURTHEST), _FURTHEST)
        weight = self.weight * _KEPT + 1
        return Ratio(self.mean + (ratio - self.mean) / weight, weight, self.answers + 1)

    @property
    def is_valid(self) -> bool:
        """Whether these values, read from a file, are within the limits that `observe` keeps."""
        most = 1 / (1 - _KEPT)
        return 1 / _FURTHEST <= self.mean <= _FURTHEST and 1 <= self.weight <= most and self.answers >= 0


Ratios = Mapping[Aggregation, Ratio]


@dataclass(frozen=True, slots=True)
class AggregationChoice:
    """The chosen way of aggregation, and its reason as shown to the person.

    `place` is the side that decides the first tokens, or both. `token_s`: forecast seconds per token of each way that
    could be chosen. `speedup`: how many times faster accepted drafts make the chosen way (DRAGON, equation 9).
    `answers` is the number of joint answers by which the chosen way's forecast was corrected.
    """

    rule: Rule
    way: Aggregation
    place: Place
    reason: str
    token_s: Mapping[Aggregation, float]
    speedup: float
    answers: int = 0

    @property
    def is_free(self) -> bool:
        """Whether the limits left a choice between several ways of aggregation."""
        return len(self.token_s) > 1


@dataclass(frozen=True, slots=True)
class AggregationLimits:
    """Limits on the choice of a way of aggregation. `open`: token distributions may leave the device.

    `offered`: the ways that the server offers besides both sides; None if unknown.
    """

    rule: Rule
    open: bool = False
    offered: frozenset[str] | None = None


def choose_aggregation(
    setting: Setting, limits: AggregationLimits, figures: Figures, ratios: Ratios
) -> AggregationChoice:
    """Choose the way of aggregation: that of the setting, or for `auto` the one with the shortest forecast.

    The `limits` may leave only one way. Forecasts follow from `figures`, speeds and acceptance rates, and from the
    `ratios` of measured to forecast times of earlier answers.
    """
    rule = limits.rule
    if rule != "algorithm1" or not limits.open:
        way, reason = ONLY[rule]
        return _choice(rule, way, reason, (way,), figures, {})
    is_older = limits.offered is not None and not limits.offered.issuperset(scheduler.OFFERED)
    if is_older and setting != "device":  # what keeps the distributions here is not for a server to change
        return _choice(rule, "both", OLDER, ("both",), figures, ratios)
    if setting == "auto":
        way = min(WAYS, key=lambda way: round(_forecast(way, figures, ratios), 6))
        return _choice(
            rule, way, f"{WHO[way]}, as that is forecast to be fastest (link.aggregation = auto)", WAYS, figures, ratios
        )
    return _choice(rule, setting, f"{WHO[setting]} (link.aggregation = {setting})", WAYS, figures, ratios)


def observed(ratios: Ratios, way: Aggregation, measured_s: float, figures: Figures) -> Ratios:
    """Return the ratios updated by a joint answer of this way that took `measured_s` seconds per token.

    Its forecast follows from `figures`, the speeds and acceptance rates during that answer.
    """
    return {**ratios, way: ratios.get(way, Ratio()).observe(measured_s, scheduler.token_s(figures, way))}


def _forecast(way: Aggregation, figures: Figures, ratios: Ratios) -> float:
    return scheduler.token_s(figures, way) * ratios.get(way, Ratio()).mean


def _choice(
    rule: Rule, way: Aggregation, reason: str, ways: Sequence[Aggregation], figures: Figures, ratios: Ratios
) -> AggregationChoice:
    return AggregationChoice(
        rule=rule,
        way=way,
        place=scheduler.better(figures, "device") if way == "scheduled" else way,
        reason=reason,
        token_s={each: _forecast(each, figures, ratios) for each in ways},
        speedup=scheduler.speedup(figures, way),
        answers=ratios.get(way, Ratio()).answers,
    )
