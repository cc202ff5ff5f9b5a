"""Self-tests of an engine: cached attention states and rollback must give the same logits, to the bit, as recomputing.

Whether they do depends on the model, the build of llama.cpp and the processor's instructions, and cannot be predicted.
Each combination is therefore tested when it is first loaded, with some 70 tokens, and the verdict is stored beside the
weights. Features that fail are not used (`LlamaCppEngine.restrict`). To add a check, add an entry to CHECKS.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.engine import Check, Engine
from models.facts import FactsFile

FILE = "exactness.json"

_PROMPT, _MORE, _REST = 24, 16, 8
"""The token counts of a test: two parts that are cached as slices, then a part that is computed after them."""


def _tokens(engine: Engine) -> Iterator[list[int]]:
    """Yield the test's three lists of tokens, spread over the vocabulary without repetition."""
    ids = [place * 7919 % engine.info.vocabulary for place in range(_PROMPT + _MORE + _REST)]
    yield ids[:_PROMPT]
    yield ids[_PROMPT : _PROMPT + _MORE]
    yield ids[_PROMPT + _MORE :]


def _slices(engine: Engine) -> bool:
    """Return whether two slices, cut and joined, give the same logits as a computed prompt."""
    if not engine.info.sliceable:
        return True  # no slices are kept, so the result does not matter
    prompt, more, rest = _tokens(engine)
    engine.prefill(0, prompt)
    engine.prefill(0, more)
    kept = [engine.slice(0, 0, _PROMPT), engine.slice(0, _PROMPT, _PROMPT + _MORE)]
    computed = engine.prefill(0, rest)
    engine.clear(0)
    engine.join(0, kept)
    return np.array_equal(computed, engine.prefill(0, rest))


def _rollback(engine: Engine) -> bool:
    """Return whether tokens that were read and rolled back leave the logits unchanged."""
    prompt, more, rest = _tokens(engine)
    engine.prefill(0, prompt)
    computed = engine.prefill(0, rest)
    engine.rollback(0, _REST)
    for token in more[:2]:
        engine.decode({0: token})
    engine.prefill(0, more)
    engine.rollback(0, 2 + _MORE)
    return np.array_equal(computed, engine.prefill(0, rest))


CHECKS: Mapping[Check, Callable[[Engine], bool]] = {"slices": _slices, "rollback": _rollback}


def examine(engine: Engine) -> dict[Check, bool]:
    """Run every check on an empty engine and leave it empty; return whether each was exact. Raises EngineError."""
    verdicts: dict[Check, bool] = {}
    for name, check in CHECKS.items():
        try:
            verdicts[name] = check(engine)
        finally:
            engine.clear(0)
    return verdicts


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The test verdicts of engines on this machine, stored in a folder of weights."""

    folder: Path

    def inexact(self, engine: Engine, arithmetic: str) -> frozenset[Check]:
        """Return the checks that fail on this empty engine; `arithmetic` identifies the computing code and processor.

        Without a stored verdict, tests the engine and stores the verdict. Raises EngineError.
        """
        file, key = FactsFile(self.folder, FILE), f"{engine.info.kv_key} {arithmetic}"
        verdict: dict[Check, bool] | None = file.load().get(key)
        if not isinstance(verdict, dict) or set(verdict) != set(CHECKS):
            verdict = examine(engine)
            file.keep(key, verdict)
        return frozenset(name for name in CHECKS if not verdict[name])
