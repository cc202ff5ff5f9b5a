"""Chooses which side decides the tokens of a joint answer: both, one, or each in turn (DRAGON, section 5). Pure.

Only Algorithm 1 leaves a choice, and only if token distributions may leave the device. Forecasts follow equation 7, or
`scheduler.waiting_of_both`, and count the head start of the side that has read its prompt first; they are multiplied
by the ratio of measured to forecast time in earlier joint answers of the same kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from device_app.question.options import Aggregation as Setting
from shared.aggregation import scheduler
from shared.aggregation.messages import Place, Rule
from shared.aggregation.scheduler import Aggregation, Figures, Lead

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

Kind = Literal["both", "device", "server", "scheduled", "greedy", "coupled"]
"""A kind of joint answer whose pace is measured: by Algorithm 1 the way of aggregation, else the rule."""


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


Ratios = Mapping[Kind, Ratio]


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


@dataclass(frozen=True, slots=True)
class Pace:
    """What a forecast of the seconds per token of a joint answer follows from.

    `figures` are speeds and acceptance rates, `ratios` those of measured to forecast times of earlier answers; `lead`
    is the head start of one side, None if unknown.
    """

    figures: Figures
    ratios: Ratios
    lead: Lead | None = None

    def token_s(self, rule: Rule, way: Aggregation) -> float:
        """Return the forecast by equations alone, in seconds per token.

        A lead does not count with coupled drafts, of which many become final before the other side has read its prompt.
        """
        return scheduler.token_s(self.figures, way, None if rule == "coupled" else self.lead)

    def ratio(self, rule: Rule, way: Aggregation) -> Ratio:
        """Return the ratio of measured to forecast time of answers of this kind."""
        return self.ratios.get(_kind(rule, way), Ratio())

    def observed(self, rule: Rule, way: Aggregation, measured_s: float) -> Ratios:
        """Return the ratios updated by a joint answer that took `measured_s` seconds per token, with these figures."""
        ratio = self.ratio(rule, way).observe(measured_s, self.token_s(rule, way))
        return {**self.ratios, _kind(rule, way): ratio}


def choose_aggregation(setting: Setting, limits: AggregationLimits, pace: Pace) -> AggregationChoice:
    """Choose the way of aggregation: that of the setting, or for `auto` the one with the shortest forecast.

    The `limits` may leave only one way.
    """
    rule = limits.rule
    if rule != "algorithm1" or not limits.open:
        way, reason = ONLY[rule]
        return _choice(rule, way, reason, (way,), pace)
    is_older = limits.offered is not None and not limits.offered.issuperset(scheduler.OFFERED)
    if is_older and setting != "device":  # what keeps the distributions here is not for a server to change
        return _choice(rule, "both", OLDER, ("both",), pace)
    if setting == "auto":
        way = min(WAYS, key=lambda way: round(_forecast(rule, way, pace), 6))
        return _choice(
            rule, way, f"{WHO[way]}, as that is forecast to be fastest (link.aggregation = auto)", WAYS, pace
        )
    return _choice(rule, setting, f"{WHO[setting]} (link.aggregation = {setting})", WAYS, pace)


def _kind(rule: Rule, way: Aggregation) -> Kind:
    return way if rule == "algorithm1" else rule


def _forecast(rule: Rule, way: Aggregation, pace: Pace) -> float:
    return pace.token_s(rule, way) * pace.ratio(rule, way).mean


def _choice(rule: Rule, way: Aggregation, reason: str, ways: Sequence[Aggregation], pace: Pace) -> AggregationChoice:
    return AggregationChoice(
        rule=rule,
        way=way,
        place=scheduler.better(pace.figures, "device") if way == "scheduled" else way,
        reason=reason,
        token_s={each: _forecast(rule, each, pace) for each in ways},
        speedup=scheduler.speedup(pace.figures, way),
        answers=pace.ratio(rule, way).answers,
    )
