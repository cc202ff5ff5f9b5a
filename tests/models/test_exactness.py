"""The self-test of an engine's exactness: it detects inexact results, runs once for each kind of engine, and restricts
what is reused.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from models import exactness
from models.exact_loading import VERDICTS
from models.exactness import CHECKS, Verdicts, examine, verdict_key
from models.fake import FakeEngine
from models.llama_bindings import arithmetic
from models.llama_context import LlamaContext
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.verdict import EXACT, Check, Verdict
from shared.errors import ContextFull, EngineError
from tests.inexact import INEXACT, Inexact, OrderOff, RollbackOff, RowsOff
from tests.tiny_model import ARCHITECTURES, tiny_model


@pytest.fixture
def llama(tmp_path: Path) -> Iterator[LlamaCppEngine]:
    """An engine with a tiny Llama model, whose architecture allows states to be kept."""
    engine = LlamaCppEngine(LlamaModel(tiny_model(tmp_path / "model.gguf", "llama")), context=256, threads=1)
    yield engine
    engine.close()


@pytest.fixture(params=ARCHITECTURES)
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LlamaCppEngine]:
    """An engine for each supported architecture, with random weights."""
    engine = LlamaCppEngine(LlamaModel(tiny_model(tmp_path / "model.gguf", request.param)), context=256, threads=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(("kind", "failing"), INEXACT.items())
def test_what_is_not_exact_is_found(kind: type[Inexact], failing: set[Check]) -> None:
    engine = kind()
    assert {name for name, exact in examine(engine).items() if not exact} == failing
    assert [engine.length(sequence) for sequence in range(4)] == [0] * 4


def test_every_engine_of_this_build_is_exact_or_keeps_no_states(real: LlamaCppEngine) -> None:
    assert examine(real) == dict.fromkeys(CHECKS, True)


def test_an_engine_is_tested_once(tmp_path: Path) -> None:
    engine = OrderOff()
    assert Verdicts(tmp_path).tested(engine, "this processor") == Verdict(frozenset({"reordered"}))
    computed = engine.computed
    assert computed < 600  # seconds, with the default model
    assert Verdicts(tmp_path).tested(engine, "this processor").inexact == {"reordered"}
    assert engine.computed == computed
    Verdicts(tmp_path).tested(engine, "another processor")
    assert engine.computed == 2 * computed
    assert len(json.loads((tmp_path / VERDICTS).read_text())) == 2
    assert [path.name for path in tmp_path.iterdir()] == [VERDICTS]


def test_a_kept_verdict_stays_valid_for_what_it_covers(tmp_path: Path) -> None:
    key, engine = verdict_key(Inexact().info.kv_key, "x"), Inexact()
    (tmp_path / VERDICTS).write_text(json.dumps({key: {"slices": False, "rollback": True, "gone": True}}))
    assert Verdicts(tmp_path).kept(key) == Verdict(frozenset({"slices"}), frozenset({"passes", "reordered", "rows"}))
    assert Verdicts(tmp_path).tested(engine, "x") == Verdict(frozenset({"slices"}))
    new = engine.computed
    examine(engine, ["slices", "rollback"])
    assert engine.computed > new


def test_a_verdict_of_an_engine_that_computed_otherwise_is_not_used(tmp_path: Path) -> None:
    engine = RollbackOff()
    earlier = f"{engine.info.kv_key} x"
    (tmp_path / VERDICTS).write_text(json.dumps({earlier: {"passes": False}}))
    assert Verdicts(tmp_path).tested(engine, "x") == Verdict(frozenset({"rollback"}))


@pytest.mark.parametrize("kept", ["", "[]", "{", '{"KEY": null}', '{"KEY": {"slices": 1}}', '{"KEY": [true]}'])
def test_a_damaged_verdict_is_replaced(tmp_path: Path, kept: str) -> None:
    engine = RollbackOff()
    key = verdict_key(engine.info.kv_key, "x")
    (tmp_path / VERDICTS).write_text(kept.replace("KEY", key))
    assert Verdicts(tmp_path).tested(engine, "x") == Verdict(frozenset({"rollback"}))
    assert json.loads((tmp_path / VERDICTS).read_text())[key] == {**dict.fromkeys(CHECKS, True), "rollback": False}


def test_where_nothing_can_be_kept_it_is_tested_each_time(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert Verdicts(missing).tested(RowsOff(), "x").inexact == {"rows"}
    assert not missing.exists()


def test_a_check_that_fails_leaves_nothing_in_the_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = Inexact()

    def broken(tested: FakeEngine) -> bool:
        tested.prefill(0, [1, 2, 3])
        raise EngineError("The graph could not be computed.")

    monkeypatch.setattr(exactness, "CHECKS", {**CHECKS, "rollback": broken})
    with pytest.raises(EngineError):
        Verdicts(tmp_path).tested(engine, "x")
    assert engine.length(0) == 0
    assert "slices" not in Verdicts(tmp_path).kept(verdict_key(engine.info.kv_key, "x")).untested


SERVED: Mapping[Check, tuple[bool, bool, bool]] = {
    "slices": (False, False, True),
    "passes": (False, False, True),
    "reordered": (False, False, True),
    "rows": (True, False, True),
    "rollback": (True, True, False),
}
"""For each check that fails or was not run: whether states are kept, whether they are served to several rows, and
whether rolled back states are used.
"""


@pytest.mark.parametrize(("check", "served"), SERVED.items())
@pytest.mark.parametrize("tested", [True, False])
def test_what_is_not_known_to_be_exact_is_not_served(
    llama: LlamaCppEngine, check: Check, served: tuple[bool, bool, bool], tested: bool
) -> None:
    kept, in_rows, rolled_back = served
    failing = frozenset({check})
    llama.restrict(Verdict(failing) if tested else Verdict(untested=failing))
    assert (llama.info.sliceable, llama.info.movable, llama.info.verdict.serves_rows) == (kept, kept, in_rows)
    llama.prefill(0, [5, 6, 7, 8])
    if not kept:
        with pytest.raises(EngineError):
            llama.slice(0, 0, 2)
    llama.rollback(0, 1)
    before = llama.computed
    llama.prefill(0, [9])
    assert llama.computed == before + 1 + (0 if rolled_back else 3)
    assert llama.tokens(0) == (5, 6, 7, 9)
    llama.restrict(EXACT)
    assert llama.info.sliceable
    assert llama.info.movable


@pytest.fixture
def other_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make passes of one token inexact: they compute the token with the next number instead."""
    compute = LlamaContext.compute

    def computed(context: LlamaContext, ids: npt.NDArray[np.int32], *others: Any) -> None:
        compute(context, ids + np.int32(ids.size == 1), *others)

    monkeypatch.setattr(LlamaContext, "compute", computed)


@pytest.mark.usefixtures("other_kernels")
def test_a_prompt_never_has_a_pass_of_one_token(llama: LlamaCppEngine) -> None:
    assert examine(llama)["passes"]
    tokens = [5, 6, 7, 8, 9]
    whole = llama.prefill(0, tokens)
    kept = [llama.slice(0, place, place + 1) for place in range(5)]
    for place in range(5):
        llama.clear(0)
        for part in filter(None, (tokens[:place], tokens[place : place + 1], tokens[place + 1 :])):
            last = llama.prefill(0, part)
        assert np.array_equal(last, whole)
        llama.clear(0)
        llama.join(0, kept[:place])
        assert np.array_equal(llama.prefill(0, tokens[place:]), whole)
    assert not np.array_equal(llama.decode({0: 5})[0], llama.prefill(0, [5])), "a decoded token has such a pass"


@pytest.mark.usefixtures("other_kernels")
def test_nor_does_what_is_computed_again(llama: LlamaCppEngine) -> None:
    whole = llama.prefill(0, [5, 6])
    llama.restrict(Verdict(frozenset({"rollback"})))
    llama.rollback(0, 1)
    assert np.array_equal(llama.prefill(0, [6]), whole)


def test_rolling_back_nothing_computes_nothing_again(llama: LlamaCppEngine) -> None:
    llama.prefill(0, [5, 6])
    llama.restrict(Verdict(frozenset({"rollback"})))
    computed = llama.computed
    llama.rollback(0, 0)
    llama.prefill(0, [7, 8])
    assert llama.computed - computed == 2


def test_a_single_token_needs_room_for_two(llama: LlamaCppEngine) -> None:
    llama.prefill(0, [5] * (llama.info.context - 1))
    with pytest.raises(ContextFull):
        llama.prefill(0, [6])
    llama.decode({0: 6})
    assert llama.length(0) == llama.info.context


def test_what_computes_is_named_the_same_each_time() -> None:
    assert arithmetic() == arithmetic() != ""
