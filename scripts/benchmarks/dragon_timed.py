"""The timings of the benchmark `dragon`: milliseconds per token, bytes, stalls, and the effect of dividing passages
among several prompts (rows). Ratios are computed within each round.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scripts.benchmarks import dragon_rules
from scripts.benchmarks.dragon_answer import JOINT, Arm, TimedAnswer
from scripts.benchmarks.dragon_setting import BASELINES, LEVEL, MOST_PASSAGES, STEPS, TOKENS, Setting
from scripts.places import step

Timed = Mapping[Arm, Mapping[int, list[TimedAnswer]]]
"""The answers of each arm, by extra round trip, one per round."""


def timed(setting: Setting) -> dict[str, Any]:
    """Run the arms in turn; return the time of a token in each, by the sides' speed and the extra round trip, and the
    medians of its ratios to other arms."""
    sizes, figures = setting.sizes, defaultdict[str, dict[str, Any]](dict)
    every: dict[Arm, list[TimedAnswer]] = defaultdict(list)
    for pace in STEPS:
        setting.at(pace)
        # With a throttled step, the time to sample a token is negligible.
        arms: tuple[Arm, ...] = (*BASELINES, *JOINT, *(("device_only_greedy",) if pace == "native" else ()))
        answers: Timed = {arm: {rtt: [] for rtt in sizes.rtts} for arm in arms}
        for number in range(sizes.repeats):
            question = setting.private.questions[number % len(setting.private.questions)]
            turned = arms[number % len(arms) :] + arms[: number % len(arms)]
            for rtt in sizes.rtts:
                step(f"{pace}, {rtt} ms, round {number + 1} of {sizes.repeats}")
                for arm in turned:
                    answer = setting.bench.answer(arm, question, rtt, TOKENS[pace], seed=number, level=LEVEL)
                    answers[arm][rtt].append(answer)
                    every[arm].append(answer)
        for key, table in compared(answers).items():
            figures[key][pace] = table
    return figures | _bytes(every) | _judged(every)


def compared(answers: Timed) -> dict[str, Any]:
    """Return medians of ms per token, and of the ratios within a round, for each arm and extra round trip."""
    whole, started = (lambda answer: answer.ms_per_token), (lambda answer: answer.ms_with_start)
    arms = [arm for arm in answers if "device_only" not in arm]
    alone: dict[Arm, Arm] = {
        arm: "device_only_greedy" if arm == "greedy" and "device_only_greedy" in answers else "device_only"
        for arm in arms
    }
    return {
        "ms_per_token": _table(answers, whole),
        "ms_per_token_with_start": _table(answers, started),
        "over_device_only": {arm: _ratios(answers, arm, base, whole) for arm, base in alone.items()},
        "over_device_only_with_start": {arm: _ratios(answers, arm, base, started) for arm, base in alone.items()},
        "over_token_wise": {arm: _ratios(answers, arm, "token_wise", whole) for arm in arms if arm != "token_wise"},
        "finished_alone": {
            arm: sum(bool(answer.alone) for some in answers[arm].values() for answer in some) for arm in arms
        },
    }


def _table(answers: Timed, value: Callable[[TimedAnswer], float]) -> dict[str, dict[str, float]]:
    return {
        arm: {str(rtt): round(statistics.median(map(value, some)), 2) for rtt, some in by_rtt.items()}
        for arm, by_rtt in answers.items()
    }


def _ratios(answers: Timed, arm: Arm, base: Arm, value: Callable[[TimedAnswer], float]) -> dict[str, float]:
    ratios = {
        rtt: [value(answer) / value(other) for answer, other in zip(some, answers[base][rtt], strict=True)]
        for rtt, some in answers[arm].items()
    }
    return {str(rtt): round(statistics.median(some), 4) for rtt, some in ratios.items()}


def _bytes(every: Mapping[Arm, Sequence[TimedAnswer]]) -> dict[str, Any]:
    """Return the numbers of bytes that the line counted, including framing and acknowledgements."""
    figures: dict[str, Any] = {"bytes_per_token": {}, "bytes_per_token_p95": {}, "bytes_per_token_whole": {}}
    for arm, answers in every.items():
        if "device" in arm:
            continue
        ways = {
            "up": [answer.up_writing / len(answer.tokens) for answer in answers],
            "down": [answer.down_writing / len(answer.tokens) for answer in answers],
        }
        figures["bytes_per_token"][arm] = {way: round(statistics.mean(some), 1) for way, some in ways.items()}
        figures["bytes_per_token_p95"][arm] = {
            way: round(float(np.quantile(some, 0.95)), 1) for way, some in ways.items()
        }
        figures["bytes_per_token_whole"][arm] = {
            "up": round(statistics.mean(answer.up / len(answer.tokens) for answer in answers), 1),
            "down": round(statistics.mean(answer.down / len(answer.tokens) for answer in answers), 1),
        }
    return figures


def _judged(every: Mapping[Arm, Sequence[TimedAnswer]]) -> dict[str, Any]:
    """Return the acceptance of drafts as both sides counted it, over the link."""
    figures = {}
    for arm, answers in every.items():
        if judged := [counts.judged for counts in answers if counts.judged]:
            figures[arm] = {
                side: round(
                    sum(counts[side][1] for counts in judged) / max(sum(counts[side][0] for counts in judged), 1), 4
                )
                for side in dragon_rules.SIDES
            }
    return {"acceptance_over_the_link": figures}


def stalls(setting: Setting) -> dict[str, Any]:
    """Return the stalls (tokens that came more than 1.5 device steps after the previous token) per hundred tokens, for
    several numbers of drafts ahead, at the reference pace and the longest round trip.
    """
    setting.at("reference")
    sizes, rtt = setting.sizes, max(setting.sizes.rtts)
    answers: dict[int, list[TimedAnswer]] = {ahead: [] for ahead in sizes.aheads}
    for number in range(sizes.repeats):
        step(f"stalls, round {number + 1} of {sizes.repeats}")
        question = setting.private.questions[number % len(setting.private.questions)]
        asked = question, rtt, TOKENS["reference"]
        for ahead, some in answers.items():
            some.append(setting.bench.answer("coupled", *asked, seed=number, ahead=ahead, level=LEVEL))
    own = STEPS["reference"]["device"]
    return {
        "stalls_per_100": {
            str(ahead): round(statistics.mean(answer.late(own) for answer in some), 2)
            for ahead, some in answers.items()
        },
        "ms_per_token_by_ahead": {
            str(ahead): round(statistics.median(answer.ms_per_token for answer in some), 1)
            for ahead, some in answers.items()
        },
    }


def rows(setting: Setting) -> dict[str, Any]:
    """Return figures for four passages per side, divided among 1 to 4 separate prompts (rows), at the middle round trip
    and the reference pace.
    """
    setting.at("reference")
    sizes, arms = setting.sizes, ("device_only", "coupled")
    rtt = sizes.rtts[len(sizes.rtts) // 2]
    answers: dict[int, dict[Arm, dict[int, list[TimedAnswer]]]] = {
        rows: {arm: {rtt: []} for arm in arms}  # type: ignore[misc]
        for rows in sizes.rows
    }
    for number in range(sizes.repeats):
        step(f"rows, round {number + 1} of {sizes.repeats}")
        question = setting.private.questions[number % len(setting.private.questions)]
        asked = question, rtt, TOKENS["reference"]
        for rows, by_arm in answers.items():
            for arm, some in by_arm.items():
                how: dict[str, Any] = {"rows": rows, "passages": MOST_PASSAGES, "level": LEVEL}
                some[rtt].append(setting.bench.answer(arm, *asked, seed=number, **how))
    return {
        "rows": {
            str(rows): {
                "ms_per_token": _table(by_arm, lambda answer: answer.ms_per_token),
                "over_device_only": _ratios(by_arm, "coupled", "device_only", lambda answer: answer.ms_per_token),
            }
            for rows, by_arm in answers.items()
        }
    }
