"""Measures how long a pass over several tokens takes, and whether it gives the same logits as passes over one token.

Both depend on the model, its state type, the build of llama.cpp, the threads and the processor, so they are measured
once for each. Drafting pays if a pass over four tokens takes about as long as a pass over one token, and never pays if
it takes four times as long.
"""

import time
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from msgspec import Meta, ValidationError, convert, to_builtins

from models.engine import Engine
from models.facts import FactsFile

FILE: Final = "passes.json"

_SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16)
_CONTEXT, _ROUNDS = 192, 5


@dataclass(frozen=True, slots=True)
class PassCosts:
    """The times of passes relative to a pass over one token: pairs (tokens, ratio), ascending.

    `is_exact`: a pass over several tokens gives the same logits, to the bit, as passes over one token.
    """

    ratios: tuple[tuple[int, Annotated[float, Meta(gt=0)]], ...]
    is_exact: bool

    def __post_init__(self) -> None:
        """Raise ValueError unless there are at least two numbers of tokens, ascending from one."""
        sizes = [size for size, _ in self.ratios]
        if len(sizes) < 2 or sizes[0] != 1 or sizes != sorted(set(sizes)):
            raise ValueError(f"Passes of {sizes} tokens give no costs.")

    def ratio(self, tokens: int) -> float:
        """Return the relative time of a pass over `tokens` tokens, inter- or extrapolated from the measured ones."""
        sizes = [size for size, _ in self.ratios]
        place = min(max(bisect_left(sizes, tokens), 1), len(sizes) - 1)
        (low, low_ratio), (high, high_ratio) = self.ratios[place - 1], self.ratios[place]
        return low_ratio + (high_ratio - low_ratio) * (tokens - low) / (high - low)


def measured(engine: Engine) -> PassCosts:
    """Measure the costs on the engine, and leave its sequences empty. Raises EngineError, GaveWay.

    Takes about as long as generating 150 tokens. The fastest of five passes counts, as other processes slow some.
    """
    for sequence in range(engine.info.sequences):
        engine.clear(sequence)
    sizes = [size for size in _SIZES if size <= engine.info.verifies]
    ids = [place * 7919 % engine.info.vocabulary for place in range(_CONTEXT + sizes[-1])]
    prompt, rest = ids[:_CONTEXT], ids[_CONTEXT:]
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    engine.prefill(0, prompt)
    try:
        for _ in range(_ROUNDS):
            for size in sizes:
                began = time.perf_counter()
                if size == 1:
                    engine.decode({0: rest[0]})
                else:
                    engine.verify({0: rest[:size]})
                seconds[size].append(time.perf_counter() - began)
                engine.rollback(0, size)
        is_exact = _is_exact(engine, rest)
    finally:
        engine.clear(0)
    alone = min(seconds[1])
    return PassCosts(tuple((size, round(min(spent) / alone, 3)) for size, spent in seconds.items()), is_exact)


def _is_exact(engine: Engine, rest: Sequence[int]) -> bool:
    """Return whether passes over several tokens, and a token after rejected ones, give the logits of single passes."""
    alone = [engine.decode({0: token})[0] for token in rest]
    engine.rollback(0, len(rest))
    accepted = len(rest) // 2
    together = engine.verify({0: [*rest[:accepted], *rest[:accepted]]})[0][:accepted]
    engine.rollback(0, accepted)
    together += [engine.decode({0: token})[0] for token in rest[accepted:]]
    return all(np.array_equal(one_by_one, several) for one_by_one, several in zip(alone, together, strict=True))


def known(engine: Engine, folder: Path, threads: int) -> "KnownCosts":
    """Return the stored costs of this engine on this machine, whose file is in the folder of weights."""
    from models.llama_bindings import arithmetic

    return KnownCosts(FactsFile(folder, FILE), f"{engine.info.kv_key} {arithmetic()} {threads}")


@dataclass(frozen=True, slots=True)
class KnownCosts:
    """The measured costs of one engine, stored in a file beside the weights."""

    file: FactsFile
    key: str

    def load(self) -> PassCosts | None:
        """Return the stored costs; None if there are none."""
        with suppress(ValidationError):
            return convert(self.file.load().get(self.key), PassCosts)
        return None

    def keep(self, costs: PassCosts) -> None:
        """Store the costs, replacing earlier ones."""
        self.file.keep(self.key, to_builtins(costs))
