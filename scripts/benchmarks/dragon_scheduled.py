"""Times joint answers by Algorithm 1 in real processes, over a line whose delay changes during each answer.

Either the device decides all final tokens, or the server does, or the scheduler chooses the side. The paces are the
paper's; in half of the answers the device's passages weigh .2, in half .8. The line's extra round trip follows a sine
from 20 to 300 ms with the paper's period; each of the three ways answers a question beginning at the same phase of the
sine.
"""

import math
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from scripts.benchmarks.dragon_answer import WAYS, Arm, TimedAnswer
from scripts.benchmarks.dragon_setting import LEVEL, PASSAGES, Setting
from scripts.places import step
from shared.aggregation.weights import RELEVANCE_TEMPERATURE

SHARES: Final = (0.2, 0.8)
"""The weights of the device's distribution in the mixture: one for each half of the answers."""

LEAST_S, MOST_S = 0.02, 0.3
"""The least and the greatest extra round trip, in seconds."""

PERIOD_S: Final = 20 * math.pi

_EVERY_S: Final = 0.1

PHASES: Final = 8
"""The phases of the sine at which the answers begin, in turn."""


def extra_s(since_s: float, phase: float) -> float:
    """Return the extra round trip a number of seconds after an answer began; `phase` is the phase of the sine at its
    beginning, as a part of the period.
    """
    swing = math.sin(2 * math.pi * (since_s / PERIOD_S + phase))
    return (LEAST_S + MOST_S) / 2 + (MOST_S - LEAST_S) / 2 * swing


def levels(share: float) -> tuple[float, float]:
    """Return the similarities to set for the device's and for the server's passages, so that the device's weight in the
    mixture of both distributions is `share`, if both sides have equally many passages.
    """
    difference = RELEVANCE_TEMPERATURE * math.log(share / (1 - share))
    return LEVEL + difference / 2, LEVEL - difference / 2


def scheduled(setting: Setting) -> dict[str, Any]:
    """Return the milliseconds per token if the device, the server or a side chosen by the scheduler decides the final
    tokens, over all answers and for each weight of the device's passages; and speeds relative to those with a fixed
    side.
    """
    sizes, bench = setting.sizes, setting.bench
    rtt = sizes.rtts[0]
    halves: dict[float, dict[Arm, list[TimedAnswer]]] = {share: {arm: [] for arm in WAYS} for share in SHARES}
    for number in range(sizes.scheduled):
        share = SHARES[number % len(SHARES)]
        own, server = levels(share)
        setting.at("reference", level=server)
        question = setting.private.questions[number % len(setting.private.questions)]
        for arm in WAYS:
            step(f"{arm}, device weight {share}, answer {number + 1} of {sizes.scheduled}")
            with changing(lambda seconds: bench.delay(rtt, seconds), number // len(SHARES) / PHASES):
                tokens = sizes.scheduled_tokens
                answer = bench.answer(arm, question, rtt, tokens, seed=number, passages=PASSAGES, level=own)
                halves[share][arm].append(answer)
    bench.delay(rtt, rtt / 1000)
    return {"scheduled": compared(halves)}


@contextmanager
def changing(delay: Callable[[float], None], phase: float) -> Iterator[None]:
    """Within the block, change the line's extra round trip continuously."""
    ended, began = threading.Event(), time.monotonic()

    def change() -> None:
        while not ended.is_set():
            delay(extra_s(time.monotonic() - began, phase))
            ended.wait(_EVERY_S)

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def compared(halves: Mapping[float, Mapping[Arm, Sequence[TimedAnswer]]]) -> dict[str, Any]:
    """Return the mean ms per token, by the side that decides the final tokens, over all answers; and for each weight of
    the device's passages, the scheduler's speed relative to the better fixed side.
    """
    every: dict[Arm, list[TimedAnswer]] = {
        arm: [answer for half in halves.values() for answer in half[arm]] for arm in WAYS
    }
    means = {WAYS[arm]: statistics.mean(answer.ms_per_token for answer in some) for arm, some in every.items()}
    fixed = means["device"], means["server"]
    figures: dict[str, Any] = {way: round(mean, 2) for way, mean in means.items()}
    figures["over_better"] = {way: round(min(fixed) / mean, 4) for way, mean in means.items()}
    figures["over_worse"] = {way: round(max(fixed) / mean, 4) for way, mean in means.items()}
    figures["finished_alone"] = sum(bool(answer.alone) for some in every.values() for answer in some)
    figures["changes"] = statistics.mean(answer.changes for answer in every["algorithm1"])
    for share, half in halves.items():
        means = {
            WAYS[arm]: statistics.mean(answer.ms_per_token for answer in some) for arm, some in half.items() if some
        }
        if means:
            better = min(means["device"], means["server"])
            figures[f"eta_{share}"] = {way: round(mean, 2) for way, mean in means.items()}
            figures[f"eta_{share}"]["over_better"] = round(better / means["scheduled"], 4)
    return figures
