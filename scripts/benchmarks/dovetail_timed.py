"""Times answers of the benchmark `dovetail` in real time: the arms take turns on each prompt, which is read once."""

import statistics
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from models.decoder import Decoder
from models.engine import Engine, Logits
from models.sampling import SamplingSettings, sample
from models.speculative.costs import PassCosts
from models.speculative.decoding import DraftingDecoder
from models.speculative.draft_model import DraftModel
from models.speculative.drafting import Drafting
from scripts.benchmarks.dovetail_arms import ARMS, Answer, Arm, drafting
from scripts.places import step
from shared.aggregation.weights import row_weights
from shared.trace import DraftCounts

WARM: Final = 0.7
"""The temperature of the answers that are not greedy."""

_ROUNDS, _SECONDS = 5, 20
"""The fewest passes of each size that are measured, and the seconds for which further passes are measured."""

_WARM_UP: Final = 8
"""The number of tokens written before anything is timed."""


@dataclass(frozen=True, slots=True)
class Timed:
    """The result of timing one arm: tokens, wall and processor seconds, and passes."""

    tokens: tuple[int, ...]
    seconds: float
    cpu_seconds: float
    passes: int

    @property
    def steps(self) -> int:
        """The number of drawn tokens that were read afterwards: all but the last one."""
        return len(self.tokens) - 1


def cpu_costs(engine: Engine, answer: Answer, sizes: Sequence[int]) -> PassCosts:
    """Measure passes over the answer's tokens, by the number of tokens, in processor time, which other processes
    disturb less.

    The median of several passes is used.
    """
    engine.clear(0)
    engine.prefill(0, answer.read)
    spent: dict[int, list[float]] = {size: [] for size in sizes}
    until = time.monotonic() + _SECONDS
    while len(spent[1]) < _ROUNDS or time.monotonic() < until:
        for size in sizes:
            began = time.process_time()
            if size == 1:
                engine.decode({0: answer.tokens[0]})
            else:
                engine.verify({0: answer.tokens[:size]})
            spent[size].append(time.process_time() - began)
            engine.rollback(0, size)
    engine.clear(0)
    alone = statistics.median(spent[1])
    ratios = accumulate((max(1.0, round(statistics.median(some) / alone, 3)) for some in spent.values()), max)
    return PassCosts(tuple(zip(spent, ratios, strict=True)), is_exact=False)


def written(engine: Engine, logits: Logits, drafts: Drafting, sampling: SamplingSettings, count: int) -> Timed:
    """Write at most the given number of tokens after the prompt in sequence 0, and then restore the prompt."""
    length, counts = engine.length(0), DraftCounts()
    plain = Decoder(engine, {0: logits}, row_weights((1.0,)))
    tokens: list[int] = []
    began, busy = time.perf_counter(), time.process_time()
    with DraftingDecoder(plain, engine, drafts, count, counts) as decoder:
        while True:
            tokens.append(sample(decoder.mixture, sampling, tokens))
            if len(tokens) == count or engine.is_end(tokens[-1]):
                break
            decoder.append(tokens[-1])
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - busy
    engine.rollback(0, engine.length(0) - length)
    return Timed(tuple(tokens), seconds, cpu_seconds, counts.passes or len(tokens) - 1)


def rounds(
    engine: Engine,
    answers: Sequence[Answer],
    costs: PassCosts,
    most: int,
    sampling: Sequence[SamplingSettings],
    model: DraftModel | None = None,
) -> dict[Arm, list[Timed]]:
    """Return the result of each arm for each answer, of at most `most` tokens; the arms take turns in going first. With
    a trained network as `model`, the arm `trained` is among them.
    """
    kept = {arm: drafting(arm, costs) for arm in ARMS}  # what was accepted is learnt over answers
    if model:
        kept["trained"] = drafting("trained", costs, model)
    done: dict[Arm, list[Timed]] = defaultdict(list)
    for number, answer in enumerate(answers):
        step(f"answer {number + 1} of {len(answers)}")
        engine.clear(0)
        logits = engine.prefill(0, answer.read)
        arms = (*kept,)
        first = number % len(arms)
        if not number:
            for drafts in kept.values():
                written(engine, logits, drafts, sampling[0], _WARM_UP)
        for arm in arms[first:] + arms[:first]:
            done[arm].append(written(engine, logits, kept[arm], sampling[number], min(most, len(answer.tokens))))
    engine.clear(0)
    return done


def figures(done: Mapping[Arm, Sequence[Timed]]) -> dict[Arm, dict[str, Any]]:
    """Return each arm's figures from the answers that were timed. Speeds are relative to `none`: the ratio of the total
    times, and the median of the answers' ratios.
    """
    alone = done["none"]
    table: dict[Arm, dict[str, Any]] = {}
    for arm, some in done.items():
        steps = sum(timed.steps for timed in some)
        ratios = [before.seconds / timed.seconds for before, timed in zip(alone, some, strict=True)]
        table[arm] = {
            "ms_per_token": round(1000 * sum(timed.seconds for timed in some) / steps, 2),
            "verify_ms": round(1000 * sum(timed.seconds for timed in some) / sum(timed.passes for timed in some), 2),
            "real_speedup": round(sum(t.seconds for t in alone) / sum(t.seconds for t in some), 3),
            "real_speedup_median": round(statistics.median(ratios), 3),
            "real_speedup_least": round(min(ratios), 3),
            "real_speedup_cpu": round(sum(t.cpu_seconds for t in alone) / sum(t.cpu_seconds for t in some), 3),
            "real_tokens_per_pass": round(steps / sum(timed.passes for timed in some), 3),
        }
    return table


def same_text(done: Mapping[Arm, Sequence[Timed]]) -> dict[Arm, list[bool]]:
    """Return, for each drafting arm, which answers equal those of `none` token for token."""
    return {
        arm: [timed.tokens == before.tokens for before, timed in zip(done["none"], some, strict=True)]
        for arm, some in done.items()
        if arm != "none"
    }


def drafter_bytes(engine: Engine, answer: Answer, costs: PassCosts) -> int:
    """Return by how much Python's memory grows at most while the answer is written with drafts."""
    logits = engine.prefill(0, answer.read)
    peaks: dict[Arm, int] = {}
    arms: tuple[Arm, ...] = ("none", "lookup")
    for arm in arms:
        tracemalloc.start()
        written(engine, logits, drafting(arm, costs), SamplingSettings(), len(answer.tokens))
        peaks[arm] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    engine.clear(0)
    return max(0, peaks["lookup"] - peaks["none"])
