"""The figures of the benchmark `reuse`: the cost and quality of each way to reuse states, and of a choice between the
ways.

Works only on answers and their times; needs no engine and no store.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from device_app.inference.local import forecast
from scripts.benchmarks.percache_users import Asked, f1, rouge_l
from shared.trace import Trace

PASSAGES = 3
SHARES = (0.0, 0.1, 0.2, 0.4)
RESAMPLINGS = 10_000

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to answer from passages: in one prompt or in a prompt each (rows), cold or with cached states."""

    rows: bool = False
    cold: bool = False
    recomputed: float = 1.0


BLENDED = {f"blended_{share:.0%}".rstrip("%"): Mode(recomputed=share) for share in SHARES}
ARMS = {"cold": Mode(cold=True), "exact": Mode(), **BLENDED, "rows": Mode(rows=True)}

STATES = ("nothing", "read ahead", "prompt kept")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "exact_or_rows": ("exact", "rows"),
    "exact_or_blended_40": ("exact", "blended_40"),
    "any": ("exact", "blended_40", "rows"),
}


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of one answer: the text, the log distribution of the first token, and the trace."""

    text: str
    first: Scores
    trace: Trace
    total_ms: float

    @property
    def ttft_ms(self) -> float:
        """The ms to the first token."""
        return self.trace.first_token_ms or self.total_ms


@dataclass(frozen=True, slots=True)
class Case:
    """A question with every arm's answer; and for each state of the cache and each arm, the ms to the first token and
    the number of prefilled tokens.
    """

    asked: Asked
    answers: Mapping[str, Answered]
    begins: Mapping[str, Mapping[str, tuple[float, int]]]

    def total_ms(self, state: str, arm: str) -> float:
        """Return the time of the arm's whole answer in the given state of the cache."""
        answer = self.answers[arm]
        return self.begins[state][arm][0] + answer.total_ms - answer.ttft_ms


def figures_of(cases: Sequence[Case]) -> dict[str, Any]:
    """Return the figures of one set of questions."""
    quality = {arm: np.array([_quality(case, arm) for case in cases]) for arm in ARMS}
    others = [arm for arm in ARMS if arm not in ("cold", "exact")]
    return {
        "questions": len(cases),
        **{arm: _arm(arm, cases, quality[arm]) for arm in ARMS},
        "from_exact": {
            arm: {
                name: _difference(quality[arm][:, column], quality["exact"][:, column])
                for column, name in enumerate(("f1", "rouge_l"))
            }
            for arm in others
        },
        "choice": _choices(cases, quality),
    }


def _quality(case: Case, arm: str) -> tuple[float, float]:
    text = case.answers[arm].text
    return f1(text, case.asked.reference), rouge_l(text, case.asked.reference)


def _arm(arm: str, cases: Sequence[Case], quality: Scores) -> dict[str, float]:
    answers = _of(cases, arm)
    pairs = [(answer, case.answers["exact"]) for answer, case in zip(answers, cases, strict=True)]
    moved = sum(answer.trace.tokens_moved for answer in answers)
    again = sum(answer.trace.tokens_recomputed for answer in answers)
    return {
        "ttft_ms": round(statistics.median(answer.ttft_ms for answer in answers), 1),
        "total_ms": round(statistics.median(answer.total_ms for answer in answers), 1),
        "prefilled": round(statistics.mean(answer.trace.tokens_prefilled for answer in answers), 1),
        "recomputed": round(again / max(moved + again, 1), 3),
        "f1": round(float(quality[:, 0].mean()), 4),
        "rouge_l": round(float(quality[:, 1].mean()), 4),
        "agreement": round(statistics.mean(f1(answer.text, right.text) for answer, right in pairs), 4),
        "kl": round(statistics.mean(_divergence(right.first, answer.first) for answer, right in pairs), 4),
    }


def _divergence(right: Scores, other: Scores) -> float:
    """Return the Kullback-Leibler divergence of two log distributions, in nats."""
    return float((np.exp(right) * (right - other)).sum())


def _difference(own: Scores, other: Scores) -> list[float]:
    """Return the mean of the paired differences, and its 95% interval by resampling."""
    paired = own - other
    chance = np.random.default_rng(0).integers(0, paired.size, (RESAMPLINGS, paired.size))
    low, high = np.quantile(paired[chance].mean(axis=1), (0.025, 0.975))
    return [round(float(value), 4) for value in (paired.mean(), low, high)]


def _choices(cases: Sequence[Case], quality: Mapping[str, Scores]) -> dict[str, Any]:
    """Return figures for fixed modes, and for choosing, for each question and state of the cache, the mode that the
    app's forecast finds cheaper.

    `row_cost` is the forecast's cost of decoding one more sequence, in tokens that could be prefilled in that time.
    """
    policies: dict[str, Sequence[str]] = {**{arm: (arm,) for arm in ARMS if arm != "cold"}, **CHOICES}
    chosen = {
        name: [[_cheapest(among, case.begins[state]) for state in STATES] for case in cases]
        for name, among in policies.items()
    }
    ms, f1s = {}, {}
    for name, picks in chosen.items():
        taken = [list(zip(STATES, row, strict=True)) for row in picks]
        ms[name] = np.array(
            [statistics.mean(case.total_ms(*pick) for pick in row) for case, row in zip(cases, taken, strict=True)]
        )
        f1s[name] = np.array(
            [statistics.mean(quality[arm][place, 0] for _, arm in row) for place, row in enumerate(taken)]
        )
    per_token = statistics.median(answer.ttft_ms / answer.trace.tokens_prefilled for answer in _of(cases, "cold"))
    step, rows_step = (statistics.median(map(_step_ms, _of(cases, arm))) for arm in ("exact", "rows"))
    expected = statistics.mean(answer.trace.tokens_decoded for answer in _of(cases, "rows"))
    return {
        "row_cost": round((rows_step - step) / (PASSAGES - 1) * expected / per_token, 1),
        **{name: _policy(name, ms, f1s, among, chosen[name]) for name, among in policies.items()},
    }


def _cheapest(among: Sequence[str], begins: Mapping[str, tuple[float, int]]) -> str:
    return min(among, key=lambda arm: forecast(begins[arm][1], PASSAGES if ARMS[arm].rows else 1))


def _of(cases: Sequence[Case], arm: str) -> list[Answered]:
    return [case.answers[arm] for case in cases]


def _step_ms(answered: Answered) -> float:
    return (answered.total_ms - answered.ttft_ms) / max(answered.trace.tokens_decoded - 1, 1)


def _policy(
    name: str,
    ms: Mapping[str, Scores],
    f1s: Mapping[str, Scores],
    among: Sequence[str],
    chosen: Sequence[Sequence[str]],
) -> dict[str, Any]:
    figures: dict[str, Any] = {"mean_ms": round(float(ms[name].mean()), 1), "f1": round(float(f1s[name].mean()), 4)}
    if len(among) > 1:
        picks = [pick for row in chosen for pick in row]
        figures["chosen"] = {arm: round(picks.count(arm) / len(picks), 3) for arm in among}
        for arm in among:
            figures[f"from_{arm}"] = {
                "ms": _difference(ms[name], ms[arm]),
                "f1": _difference(f1s[name], f1s[arm]),
            }
    return figures
