"""A self-test of what the caches rely on: that kept attention states, and what is left after a rollback, give the same
logits to the bit as computing from the start.

Whether they do depends on the model, on the build of llama.cpp and on the processor's instructions, and no rule fits
all. So each engine is tested when one like it is first loaded, in some 70 tokens; the verdict is kept beside the
weights. What fails is done without (`LlamaCppEngine.restrict`). A check more is one more entry in CHECKS.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.engine import Check, Engine

FILE = "exactness.json"

_PROMPT, _MORE, _REST = 24, 16, 8
"""Tokens of a test: what is kept in two slices, and what is computed behind them."""


def _tokens(engine: Engine) -> Iterator[list[int]]:
    """The tokens of the test, in its three parts: spread over the vocabulary, none twice."""
    ids = [place * 7919 % engine.info.vocabulary for place in range(_PROMPT + _MORE + _REST)]
    yield ids[:_PROMPT]
    yield ids[_PROMPT : _PROMPT + _MORE]
    yield ids[_PROMPT + _MORE :]


def _slices(engine: Engine) -> bool:
    """Whether two slices that are cut and joined give the logits of a prompt that is computed."""
    if not engine.info.sliceable:
        return True  # none are kept, whatever this would say
    prompt, more, rest = _tokens(engine)
    engine.prefill(0, prompt)
    engine.prefill(0, more)
    kept = [engine.slice(0, 0, _PROMPT), engine.slice(0, _PROMPT, _PROMPT + _MORE)]
    computed = engine.prefill(0, rest)
    engine.clear(0)
    engine.join(0, kept)
    return np.array_equal(computed, engine.prefill(0, rest))


def _rollback(engine: Engine) -> bool:
    """Whether tokens that were read and cut off again leave no trace."""
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
    """Run every check on an engine that holds nothing; whether each was exact. Leaves it empty. Raises EngineError."""
    verdicts: dict[Check, bool] = {}
    for name, check in CHECKS.items():
        try:
            verdicts[name] = check(engine)
        finally:
            engine.clear(0)
    return verdicts


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdicts on the engines that were tested here, in a folder of weights."""

    folder: Path

    def inexact(self, engine: Engine, arithmetic: str) -> frozenset[Check]:
        """The checks that fail on this engine, which holds nothing. `arithmetic` names what computes it.

        It is tested where a verdict is missing. Raises EngineError.
        """
        key = f"{engine.info.kv_key} {arithmetic}"
        kept = self._kept()
        verdict = kept.get(key)
        if verdict is None or set(verdict) != set(CHECKS):
            verdict = examine(engine)
            self._keep({**kept, key: verdict})
        return frozenset(name for name in CHECKS if not verdict[name])

    def _kept(self) -> dict[str, dict[Check, bool]]:
        try:
            kept = json.loads((self.folder / FILE).read_text("utf-8"))
            return {str(key): dict(checks) for key, checks in kept.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # nothing is known, so the next engine is tested

    def _keep(self, verdicts: Mapping[str, Mapping[Check, bool]]) -> None:
        with suppress(OSError):  # a folder that cannot be written: it is tested again next time
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=f".{FILE}-")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(verdicts, file, indent=1)
            Path(name).replace(self.folder / FILE)
