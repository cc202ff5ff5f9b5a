"""The self-test of an engine: it finds what is not exact, is run once for each kind of engine, and is acted upon."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from models import exactness
from models.engine import Check, KVSlice, Logits
from models.exactness import CHECKS, FILE, Verdicts, examine
from models.fake import FakeEngine
from models.llama_bindings import arithmetic
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from shared.errors import EngineError
from tests.tiny_model import ARCHITECTURES, tiny_model


class SlicesOff(FakeEngine):
    """Joined states give other logits by the least bit."""

    _joined = False

    def join(self, sequence: int, slices: Sequence[KVSlice]) -> None:
        super().join(sequence, slices)
        self._joined = True

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        logits = super().prefill(sequence, tokens)
        return np.nextafter(logits, np.float32(9)) if self._joined else logits


class RollbackOff(FakeEngine):
    """What was rolled back leaves a trace."""

    _trace = 0.0

    def rollback(self, sequence: int, count: int) -> None:
        super().rollback(sequence, count)
        self._trace += 1e-3 if self.length(sequence) else 0.0

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        return super().prefill(sequence, tokens) + np.float32(self._trace)


@pytest.fixture(params=ARCHITECTURES)
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LlamaCppEngine]:
    """Each architecture, with random weights."""
    engine = LlamaCppEngine(LlamaModel(tiny_model(tmp_path / "model.gguf", request.param)), context=256, threads=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("engine", "failing"),
    [(FakeEngine(), set()), (SlicesOff(), {"slices"}), (RollbackOff(), {"rollback"})],
)
def test_what_is_not_exact_is_found(engine: FakeEngine, failing: set[Check]) -> None:
    assert {name for name, exact in examine(engine).items() if not exact} == failing
    assert [engine.length(sequence) for sequence in range(4)] == [0] * 4


def test_every_engine_of_this_build_is_exact_or_keeps_no_states(real: LlamaCppEngine) -> None:
    assert examine(real) == {"slices": True, "rollback": True}


def test_an_engine_is_tested_once(tmp_path: Path) -> None:
    engine = SlicesOff()
    assert Verdicts(tmp_path).inexact(engine, "this processor") == {"slices"}
    computed = engine.computed
    assert computed < 2 * 128  # a few dozen tokens for each check
    assert Verdicts(tmp_path).inexact(engine, "this processor") == {"slices"}
    assert engine.computed == computed
    Verdicts(tmp_path).inexact(engine, "another processor")
    assert engine.computed == 2 * computed
    assert len(json.loads((tmp_path / FILE).read_text())) == 2
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.mark.parametrize("kept", ["", "[]", "{", '{"fake x": null}', '{"fake x": {"slices": true}}'])
def test_a_verdict_that_is_damaged_or_of_fewer_checks_is_made_anew(tmp_path: Path, kept: str) -> None:
    (tmp_path / FILE).write_text(kept)
    assert Verdicts(tmp_path).inexact(SlicesOff(), "x") == {"slices"}
    assert json.loads((tmp_path / FILE).read_text())["fake x"] == {"slices": False, "rollback": True}


def test_where_nothing_can_be_kept_it_is_tested_each_time(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert Verdicts(missing).inexact(SlicesOff(), "x") == {"slices"}
    assert not missing.exists()


def test_a_check_that_fails_leaves_nothing_in_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine()

    def broken(tested: FakeEngine) -> bool:
        tested.prefill(0, [1, 2, 3])
        raise EngineError("The graph could not be computed.")

    monkeypatch.setattr(exactness, "CHECKS", {**CHECKS, "rollback": broken})
    with pytest.raises(EngineError):
        examine(engine)
    assert engine.length(0) == 0


def test_no_states_are_kept_where_they_are_not_exact(real: LlamaCppEngine) -> None:
    real.restrict(frozenset({"slices"}))
    real.prefill(0, [5, 6, 7])
    assert not (real.info.sliceable or real.info.movable)
    assert real.info.inexact == {"slices"}
    with pytest.raises(EngineError):
        real.slice(0, 0, 2)


def test_a_rollback_that_is_not_exact_computes_again(real: LlamaCppEngine) -> None:
    real.restrict(frozenset({"rollback"}))
    real.prefill(0, [5, 6, 7, 8])
    real.rollback(0, 1)
    before = real.computed
    real.prefill(0, [9])
    assert real.computed == before + 3 + 1
    assert real.tokens(0) == (5, 6, 7, 9)


def test_what_computes_is_named_the_same_each_time() -> None:
    assert arithmetic() == arithmetic() != ""
