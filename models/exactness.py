"""Self-tests of an engine: cached attention states and rollback must give the same logits, to the bit, as recomputing.

Whether they do depends on the model, the build of llama.cpp and the processor's instructions, and cannot be predicted.
Each combination is therefore tested once, with some 450 tokens, and the verdict is stored beside the weights. Features
that fail, or are not tested yet, are not used (`LlamaCppEngine.restrict`). To add a check, add an entry to CHECKS.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, islice, pairwise
from pathlib import Path

import numpy as np

from models.engine import Engine, KVSlice, Logits
from models.exact_loading import REVISION, VERDICTS
from models.facts import FactsFile
from models.verdict import OF_STATES, Check, Verdict

_PROMPT, _MORE, _REST = 24, 16, 8
"""The token counts of a test prompt: two parts whose attention states are cached, then a part that is computed after
them.
"""

_HEAD, _FIRST, _SECOND = 12, 8, 11
"""The token counts of the common beginning of two prompts (their head), and of the passages that follow it."""

_PASSES = (1, 2, 3, 1, 4, 5, 7, 1, 11)
"""Sizes of passes to try: kernels compute 2, 4 or 8 tokens at a time, and the remainder in another way."""

_STEPS = 3
"""The number of tokens that the test of several sequences decodes in all of them at once."""


def _ids(engine: Engine, *counts: int) -> list[list[int]]:
    """Return one list of token ids for each length in the arguments; the ids are spread over the vocabulary without
    repetition.
    """
    tokens = (place * 7919 % engine.info.vocabulary for place in count())
    return [list(islice(tokens, size)) for size in counts]


def _slices(engine: Engine) -> bool:
    """Check that a prompt gives the same logits when two parts of it are taken from cached attention states (slices) as
    when it is computed.
    """
    prompt, more, rest = _ids(engine, _PROMPT, _MORE, _REST)
    engine.prefill(0, prompt)
    engine.prefill(0, more)
    kept = [engine.slice(0, 0, _PROMPT), engine.slice(0, _PROMPT, _PROMPT + _MORE)]
    computed = engine.prefill(0, rest)
    engine.clear(0)
    engine.join(0, kept)
    return np.array_equal(computed, engine.prefill(0, rest))


def _rollback(engine: Engine) -> bool:
    """Check that reading tokens and rolling them back leaves the logits unchanged."""
    prompt, more, rest = _ids(engine, _PROMPT, _MORE, _REST)
    engine.prefill(0, prompt)
    computed = engine.prefill(0, rest)
    engine.rollback(0, _REST)
    for token in more[:2]:
        engine.decode({0: token})
    engine.prefill(0, more)
    engine.rollback(0, 2 + _MORE)
    return np.array_equal(computed, engine.prefill(0, rest))


def _passes(engine: Engine) -> bool:
    """Check that a prompt gives the same logits when it is read in passes of other sizes. This matters for cached
    states: only the rest of the prompt is then read, in a smaller pass.
    """
    (tokens,) = _ids(engine, sum(_PASSES))
    computed = engine.prefill(0, tokens)
    for sizes in (_PASSES, _PASSES[::-1]):
        engine.clear(0)
        if not np.array_equal(computed, _read(engine, tokens, sizes)):
            return False
    return True


def _read(engine: Engine, tokens: Sequence[int], sizes: Iterable[int]) -> Logits:
    """Read the tokens in passes of the given sizes; return the last pass's logits."""
    return [engine.prefill(0, tokens[start:stop]) for start, stop in pairwise(accumulate(sizes, initial=0))][-1]


def _reordered(engine: Engine) -> bool:
    """Check that the attention states of two passages, cut after the same head (the prompts' common beginning), can be
    joined in a different order.
    """
    head, first, second, rest = _ids(engine, _HEAD, _FIRST, _SECOND, _REST)
    computed, kept = zip(*(_prompt(engine, [head, passage], rest) for passage in (first, second)), strict=True)
    for passage in (1, 0):
        engine.clear(0)
        engine.join(0, kept[passage])
        if not np.array_equal(computed[passage], engine.prefill(0, rest)):
            return False
    return True


def _prompt(engine: Engine, parts: Sequence[list[int]], rest: list[int]) -> tuple[Logits, list[KVSlice]]:
    """Read a prompt, all `parts` and then `rest`, at once in an empty sequence; return its logits, and the attention
    state of each part as a slice.
    """
    engine.clear(0)
    logits = engine.prefill(0, [*(token for part in parts for token in part), *rest])
    borders = pairwise(accumulate(map(len, parts), initial=0))
    return logits, [engine.slice(0, start, stop) for start, stop in borders]


def _rows(engine: Engine) -> bool:
    """Check that attention states cut from separate prompts, joined in one sequence each, give the same logits when the
    sequences are decoded together as states that were cut from a single sequence.
    """
    if engine.info.sequences < 2:
        return True  # there are no rows
    head, first, second, rest = _ids(engine, _HEAD, _FIRST, _SECOND, _REST)
    passages = (second, first)
    single = {id(passage): _prompt(engine, [head, passage], rest)[1] for passage in (first, second)}
    engine.clear(0)
    engine.prefill(0, head)
    states = []
    for passage in passages:
        engine.prefill(0, passage)
        states.append(engine.slice(0, len(head), len(head) + len(passage)))
        engine.rollback(0, len(passage))
    computed = _in_rows(engine, states, rest)
    for row in range(2):
        engine.clear(row)
    engine.join(0, single[id(first)][:1])
    joined = _in_rows(engine, [single[id(passage)][1] for passage in passages], rest)
    return all(map(np.array_equal, computed, joined))


def _in_rows(engine: Engine, states: Sequence[KVSlice], rest: list[int]) -> list[Logits]:
    """Copy the prompt's head from sequence 0 to sequence 1, and join one state in each. Prefill the rest, decode both
    sequences together; return all logits.
    """
    engine.fork(0, 1)
    logits = []
    for row, state in enumerate(states):
        engine.join(row, [state])
        logits.append(engine.prefill(row, rest))
    for token in rest[:_STEPS]:
        logits += engine.decode({0: token, 1: token}).values()
    return logits


CHECKS: Mapping[Check, Callable[[Engine], bool]] = {
    "slices": _slices,
    "rollback": _rollback,
    "passes": _passes,
    "reordered": _reordered,
    "rows": _rows,
}


def examine(engine: Engine, checks: Iterable[Check] = tuple(CHECKS)) -> dict[Check, bool]:
    """Run checks on an empty engine without restrictions, and leave it empty; return whether each was exact.

    Raises EngineError, GaveWay.
    """
    exact: dict[Check, bool] = {}
    for name in checks:
        try:
            exact[name] = (name in OF_STATES and not engine.info.sliceable) or CHECKS[name](engine)
        finally:
            for sequence in range(min(2, engine.info.sequences)):
                engine.clear(sequence)
    return exact


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The test verdicts of engines on this machine, stored in a folder of weights."""

    folder: Path

    def kept(self, key: str) -> Verdict:
        """Return the stored verdict on an engine; `key` is the result of `verdict_key` for its `kv_key`."""
        return verdict(self._load(key))

    def tested(self, engine: Engine, arithmetic: str, most: int | None = None) -> Verdict:
        """Run at most `most` of the checks that were never run on this kind of engine, and store their results.

        Return the whole verdict. The engine has to be empty and without restrictions. `arithmetic` identifies the
        computing code and the processor. Raises the errors of `examine`.
        """
        key = verdict_key(engine.info.kv_key, arithmetic)
        exact = self._load(key)
        for name in [name for name in CHECKS if name not in exact][:most]:
            exact |= examine(engine, [name])
            FactsFile(self.folder, VERDICTS).keep(key, exact)
        return verdict(exact)

    def _load(self, key: str) -> dict[Check, bool]:
        kept = FactsFile(self.folder, VERDICTS).load().get(key)
        kept = kept if isinstance(kept, dict) else {}
        return {name: kept[name] for name in CHECKS if isinstance(kept.get(name), bool)}


def verdict_key(kv_key: str, arithmetic: str) -> str:
    """Return the key under which an engine's verdict is stored: model, adapter, type of attention states, library,
    kernels, processor and the engine's way of computing prompts.
    """
    return f"{kv_key} {arithmetic} {REVISION}"


def verdict(exact: Mapping[Check, bool]) -> Verdict:
    """Return the verdict for the given results of checks; checks without a result are untested."""
    return Verdict(frozenset(name for name in exact if not exact[name]), frozenset(CHECKS.keys() - exact.keys()))
