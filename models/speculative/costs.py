"""Measures how long a pass over several tokens takes, and whether it gives the same logits as passes over one token.

Both depend on the model, the type of its attention states, the build of llama.cpp, the threads and the processor, so
they are measured once for each. Drafting pays if a pass over four tokens takes about as long as a pass over one token,
and never pays if it takes four times as long.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Annotated, Final, TypeVar

import numpy as np
from msgspec import Meta, ValidationError, convert, to_builtins

from models.engine import Engine
from models.facts import FactsFile
from models.speculative.drafter import Drafter
from shared.errors import EngineError

FILE: Final = "passes.json"

_SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16)
_NEAR, _FAR = 192, 704
"""The numbers of tokens before the measured passes. Measuring at two distances shows how much each further token before
a pass costs.
"""

_ROUNDS, _SPREAD = 5, 1.5

Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True)
class PassCosts:
    """The times of passes relative to a pass over one token: pairs (tokens, ratio), both ascending.

    The ratios are those of a pass after `_NEAR` tokens. For each further token before the pass, each token of the pass
    takes `attention` more: computing several tokens at once does not save this time.

    `is_exact`: a pass over several tokens gives the same logits, to the bit, as passes over one token.
    """

    ratios: tuple[tuple[int, Annotated[float, Meta(ge=1, le=1e6)]], ...]
    is_exact: bool
    attention: Annotated[float, Meta(ge=0, le=1)] = 0.0

    def __post_init__(self) -> None:
        """Raise ValueError unless there are at least two numbers of tokens, ascending from one, and no ratio falls."""
        sizes, ratios = [size for size, _ in self.ratios], [ratio for _, ratio in self.ratios]
        if len(sizes) < 2 or sizes[0] != 1 or sizes != sorted(set(sizes)) or ratios != sorted(ratios):
            raise ValueError(f"Passes over {sizes} tokens with the relative times {ratios} give no costs.")

    def ratio(self, tokens: int, context: int = 0) -> float:
        """Return the time of a pass over `tokens` tokens after `context` tokens, relative to a pass over one token.

        The ratio is inter- or extrapolated from the measured passes.
        """
        sizes = [size for size, _ in self.ratios]
        place = min(max(bisect_left(sizes, tokens), 1), len(sizes) - 1)
        (low, low_ratio), (high, high_ratio) = self.ratios[place - 1], self.ratios[place]
        near = low_ratio + (high_ratio - low_ratio) * (tokens - low) / (high - low)
        further = self.attention * max(0, context - _NEAR)
        return (near + tokens * further) / (1 + further)


@dataclass(frozen=True, slots=True)
class DraftCosts:
    """The times of a drafting model, relative to a pass of the answering model over one token.

    `step` is the time of drafting one token, `read` that of reading one token of a prompt.
    """

    step: Annotated[float, Meta(gt=0, le=1e6)]
    read: Annotated[float, Meta(gt=0, le=1e6)]

    def reading(self, unread: int) -> float:
        """Return the time that reading a number of tokens takes before drafting. The first draft's own time is not
        included.
        """
        return self.read * max(0, unread - 1)


Samples = dict[tuple[int, int], list[float]]
"""The measured seconds of passes, by the number of tokens before the pass and in it."""


def measured(engine: Engine, samples: Samples) -> PassCosts:
    """Measure the costs of passes on the engine, and leave its sequences empty. Raises EngineError, GaveWay.

    `samples` keeps the measurements, so that the next call continues where this one gave way. The median of five passes
    is used: beside other processes, the fastest pass would be misleading, as only short passes are ever undisturbed.
    """
    for sequence in range(engine.info.sequences):
        engine.clear(sequence)
    sizes = [size for size in _SIZES if size <= engine.info.verifies]
    near = min(_NEAR, engine.info.prompt_room - sizes[-1])
    far = min(_FAR, engine.info.prompt_room - sizes[-1])
    if near < 1 or len(sizes) < 2:
        raise EngineError(f"{engine.info.model} has no room for drafts.")
    ids = [place * 7919 % engine.info.vocabulary for place in range(far + sizes[-1])]
    try:
        engine.prefill(0, ids[:near])
        is_exact = _is_exact(engine, ids[near : near + sizes[-1]])
        _time(engine, near, ids[near:], sizes, samples)
        if far > near:
            engine.prefill(0, ids[near:far])
            _time(engine, far, ids[far:], sizes[-1:], samples)
    finally:
        engine.clear(0)
    alone = median(samples[near, 1])
    ratios = accumulate((max(1.0, round(median(samples[near, size]) / alone, 3)) for size in sizes), max)
    further = median(samples[far, sizes[-1]]) - median(samples[near, sizes[-1]])
    attention = further / (alone * sizes[-1] * max(1, far - near))
    return PassCosts(tuple(zip(sizes, ratios, strict=True)), is_exact, min(max(0.0, attention), 1.0))


def measured_drafts(engine: Engine, start: Callable[[Sequence[int]], Drafter], samples: Samples) -> DraftCosts:
    """Measure how long a drafter takes beside the engine, whose sequences are left empty. Raises EngineError, GaveWay.

    `start` returns a drafter for the given tokens. `samples` is as in `measured`.
    """
    vocabulary, near = engine.info.vocabulary, min(_NEAR, engine.info.prompt_room - 2)
    alone, step, read = (samples.setdefault((0, kind), []) for kind in range(3))
    try:
        engine.clear(0)
        engine.prefill(0, [place * 7919 % vocabulary for place in range(near)])
        while len(alone) < _ROUNDS:
            # Other tokens in each round: a drafter does not read again what it has read.
            drafter = start([(place * 7919 + len(alone)) % vocabulary for place in range(near)])
            began = time.perf_counter()
            for _ in range(near):
                drafter.draft(1)
                if drafter.unread <= 1:
                    break
            has_read = time.perf_counter()
            drafter.append(len(alone))
            drafter.draft(1)
            asked = time.perf_counter()
            engine.decode({0: len(alone)})
            has_passed = time.perf_counter()
            drafter.passed(0)
            drafter.append(0)
            has_appended = time.perf_counter()
            drafter.draft(1)
            step.append(time.perf_counter() - has_appended)
            alone.append(has_passed - asked)
            read.append(has_read - began)
            engine.rollback(0, 1)
    finally:
        engine.clear(0)
    unit = median(alone)
    return DraftCosts(max(1e-6, round(median(step) / unit, 4)), max(1e-6, round(median(read) / near / unit, 5)))


def is_steady(samples: Samples) -> bool:
    """Return whether the passes of each kind took about the same time, so that the costs are worth keeping."""
    return all(median(seconds) < _SPREAD * min(seconds) for seconds in samples.values())


def _time(engine: Engine, before: int, ids: Sequence[int], sizes: Sequence[int], samples: Samples) -> None:
    """Add the seconds of passes over the first tokens of `ids`, of all sizes in turn, until each size has `_ROUNDS`
    samples. `before` is the number of tokens in the sequence before each pass.
    """
    for _ in range(_ROUNDS):
        for size in sizes:
            seconds = samples.setdefault((before, size), [])
            if len(seconds) < _ROUNDS:
                began = time.perf_counter()
                if size == 1:
                    engine.decode({0: ids[0]})
                else:
                    engine.verify({0: ids[:size]})
                seconds.append(time.perf_counter() - began)
                engine.rollback(0, size)


def _is_exact(engine: Engine, rest: Sequence[int]) -> bool:
    """Check that passes over several tokens, and a token after rejected ones, give the logits of passes over one
    token.
    """
    alone = [engine.decode({0: token})[0] for token in rest]
    engine.rollback(0, len(rest))
    accepted = len(rest) // 2
    together = engine.verify({0: [*rest[:accepted], *rest[:accepted]]})[0][:accepted]
    engine.rollback(0, accepted)
    together += [engine.decode({0: token})[0] for token in rest[accepted:]]
    engine.rollback(0, len(rest))
    return all(np.array_equal(one_by_one, several) for one_by_one, several in zip(alone, together, strict=True))


def known(engine: Engine, folder: Path, threads: int) -> "KnownCosts":
    """Return the stored costs of an engine on this machine; their file is in the folder of weights."""
    from models.llama_bindings import arithmetic

    return KnownCosts(FactsFile(folder, FILE), f"{engine.info.kv_key} {arithmetic()} {threads}")


@dataclass(frozen=True, slots=True)
class KnownCosts:
    """The measured costs of one engine, stored in a file beside the weights. `key` identifies the engine, the computing
    code and the number of threads.
    """

    file: FactsFile
    key: str

    def load(self) -> PassCosts | None:
        """Return the stored costs of passes; None if none are stored."""
        with suppress(ValidationError):
            return convert(self.file.load().get(self.key), PassCosts)
        return None

    def keep(self, costs: PassCosts) -> None:
        """Store the costs of passes, replacing earlier ones."""
        self.file.keep(self.key, to_builtins(costs))

    def load_fact(self, name: str, kind: type[Fact]) -> Fact | None:
        """Return a fact about this engine other than the costs of passes, stored under `name`, such as the costs of a
        drafter; None if there is none that fits the type `kind`.
        """
        with suppress(ValidationError):
            return convert(self.file.load().get(f"{self.key} {name}"), kind)
        return None

    def keep_fact(self, name: str, fact: object) -> None:
        """Store a fact about this engine other than the costs of passes under `name`, replacing an earlier one of this
        name.
        """
        self.file.keep(f"{self.key} {name}", to_builtins(fact))
