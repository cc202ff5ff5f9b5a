"""The setting with which a model is loaded: the first one that is exact on this machine, else the one that
loses least.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from models import exact_loading
from models.engine import KVType
from models.exact_loading import VERDICTS, Choice, Setting, choice, described, explained, finish, load, settings
from models.exactness import Verdicts
from models.facts import FactsFile
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.verdict import EXACT, Verdict
from shared.errors import EngineError, GaveWay
from tests.inexact import Inexact, JoinsOff, PassesOff, RollbackOff, RowsOff
from tests.tiny_model import tiny_model

F16, Q8, F16_PLAIN, Q8_PLAIN = (Setting(kv, repacks) for repacks in (True, False) for kv in ("f16", "q8_0"))

Kinds = Mapping[Setting, type[Inexact]]


class Builder:
    """Builds a fake engine for each setting in `kinds` and records which were built; all other settings fail
    to load.
    """

    def __init__(self, kinds: Kinds, parameters: int = 0) -> None:
        self.kinds, self.parameters = kinds, parameters
        self.built: list[Setting] = []
        self.engines: list[Inexact] = []

    def __call__(self, setting: Setting) -> LlamaCppEngine:
        self.built.append(setting)
        if setting not in self.kinds:
            raise EngineError("There is no flash attention for this model.")
        engine = self.kinds[setting](setting)
        engine._info = replace(engine._info, parameters=self.parameters)
        self.engines.append(engine)
        return cast(LlamaCppEngine, engine)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Choice:
    monkeypatch.setattr(exact_loading, "_may_repack", lambda: True)
    return Choice(FactsFile(tmp_path, VERDICTS), "setting model")


def test_the_least_costly_settings_are_tried_first() -> None:
    assert settings("f16", may_repack=True) == [F16, Q8, F16_PLAIN, Q8_PLAIN]
    assert settings("q8_0", may_repack=False) == [Q8, F16]


@pytest.mark.parametrize(
    ("kv", "kinds", "taken", "tries"),
    [
        ("f16", {F16: Inexact}, F16, 1),
        ("q8_0", {Q8: Inexact}, Q8, 1),
        ("f16", {F16: PassesOff, Q8: Inexact}, Q8, 2),
        ("q8_0", {F16: Inexact, Q8: PassesOff}, F16, 2),
        ("f16", {F16: RollbackOff, Q8: Inexact}, Q8, 2),
        ("f16", {F16: PassesOff, Q8: JoinsOff, F16_PLAIN: Inexact}, F16_PLAIN, 3),
        ("f16", {F16: PassesOff, Q8: PassesOff, F16_PLAIN: PassesOff, Q8_PLAIN: Inexact}, Q8_PLAIN, 4),
        ("f16", {F16: PassesOff, F16_PLAIN: Inexact}, F16_PLAIN, 3),  # q8_0 is not possible
        # Nothing is exact: the one that loses least, and of equals the configured one.
        ("f16", {F16: PassesOff, Q8: RowsOff, F16_PLAIN: JoinsOff, Q8_PLAIN: RowsOff}, Q8, 5),
        ("f16", {F16: PassesOff, Q8: RowsOff, F16_PLAIN: RollbackOff, Q8_PLAIN: RowsOff}, F16_PLAIN, 5),
        ("f16", dict.fromkeys([F16, Q8, F16_PLAIN, Q8_PLAIN], PassesOff), F16, 5),
        ("f16", {F16: PassesOff}, F16, 5),
    ],
)
def test_the_setting_that_is_taken(own: Choice, kv: KVType, kinds: Kinds, taken: Setting, tries: int) -> None:
    builder = Builder(kinds)
    engine = load(builder, kv, own)
    assert Setting(engine.info.kv_type, engine.info.repacks) == taken
    assert len(builder.built) == tries
    assert engine.info.verdict == Verdicts(own.file.folder).tested(builder.engines[-1], _arithmetic())
    assert [engine._closed for engine in builder.engines] == [True] * (len(builder.engines) - 1) + [False]
    again = Builder(kinds)
    load(again, kv, own)
    assert again.built == [taken]
    assert again.engines[0].computed == 0


def _arithmetic() -> str:
    from models.llama_bindings import arithmetic

    return arithmetic()


def test_where_memory_is_short_no_larger_states_are_taken(own: Choice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_loading, "available", lambda: 1000)
    builder = Builder({Q8: PassesOff, F16: Inexact, Q8_PLAIN: Inexact})
    assert load(builder, "q8_0", own).info.kv_type == "q8_0"
    assert F16 not in builder.built


@pytest.mark.parametrize("kept", [None, 7, [], {"kv": "q4", "repacks": True, "loss": 0}, {"kv": "q8_0"}])
def test_a_damaged_choice_is_no_choice(own: Choice, kept: object) -> None:
    own.file.keep(own.key, kept)
    assert own.load() is None


def test_of_a_large_model_one_check_runs_at_each_start_and_the_others_in_idle_time(own: Choice) -> None:
    kinds = {F16: RowsOff, Q8: Inexact}
    engine = load(Builder(kinds, 4_000_000_000), "f16", own)
    assert engine.info.verdict == Verdict(untested=frozenset({"rollback", "passes", "reordered", "rows"}))
    assert not engine.info.sliceable
    engine = load(Builder(kinds, 4_000_000_000), "f16", own)
    assert engine.info.verdict == Verdict(untested=frozenset({"passes", "reordered", "rows"}))
    engine.prefill(1, [1, 2, 3])
    finish(engine, own.file.folder, engine)
    assert engine.info.verdict == Verdict(frozenset({"rows"}))
    assert engine.info.sliceable
    assert engine.length(1) == 0
    assert load(Builder(kinds, 4_000_000_000), "f16", own).info.kv_type == "q8_0"


def test_a_server_waits_for_all_checks(own: Choice) -> None:
    assert load(Builder({F16: Inexact}, 4_000_000_000), "f16", own, may_wait=True).info.verdict == EXACT


def test_checks_that_give_way_leave_the_engine_as_it_was(own: Choice) -> None:
    engine = load(Builder({F16: GivesWay}, 4_000_000_000), "f16", own)
    before = engine.info.verdict
    cast(GivesWay, engine).may_read = 60
    with pytest.raises(GaveWay):
        finish(engine, own.file.folder, engine)
    assert engine.info.verdict == before
    cast(GivesWay, engine).may_read = 10_000
    finish(engine, own.file.folder, engine)
    assert engine.info.verdict == EXACT


class GivesWay(Inexact):
    """A fake engine that raises GaveWay once it has computed `may_read` tokens."""

    may_read = 10_000

    def prefill(self, sequence: int, tokens: object) -> object:  # type: ignore[override]
        self.may_read -= len(tokens)  # type: ignore[arg-type]
        if self.may_read < 0:
            raise GaveWay("A question was asked.")
        return super().prefill(sequence, tokens)  # type: ignore[arg-type]


def test_words_for_what_was_found_and_taken() -> None:
    assert explained(F16, "f16", EXACT).startswith("reused attention states and rolled-back tokens give exactly")
    assert explained(Q8, "f16", EXACT).startswith("q8_0 attention states are used in place of f16, because")
    said = explained(F16_PLAIN, "f16", Verdict(frozenset({"passes"}), frozenset({"rows"})))
    assert said.startswith("weights are used as they are in the file")
    assert "reading only the rest of a prompt would change this model's answers" in said
    assert "1 of 5 checks are left for the next start or idle time" in said


def test_real_engines_of_all_settings(tmp_path: Path) -> None:
    wide = {f"llama.attention.{part}_length": 32 for part in ("key", "value")}  # a block of q8_0
    path = tiny_model(tmp_path / "model.gguf", "llama", wide)
    keys = set()

    def build(setting: Setting) -> LlamaCppEngine:
        model = LlamaModel(path, repacks=setting.repacks)
        return LlamaCppEngine(model, context=256, threads=1, kv_type=setting.kv)

    for setting in settings("f16", may_repack=True):
        engine = build(setting)
        assert (engine.info.kv_type, engine.info.repacks) == (setting.kv, setting.repacks)
        keys.add(engine.info.kv_key)
        engine.close()
    assert len(keys) == 4
    engine = load(build, "f16", choice(tmp_path, path, "f16", None))
    assert (engine.info.kv_type, engine.info.verdict) == ("f16", EXACT)
    engine.close()


def test_what_is_known_of_a_model_that_is_not_loaded(tmp_path: Path) -> None:
    path = tiny_model(tmp_path / "model.gguf", "llama")
    known = described(tmp_path, path, "f16", None, "", 0)
    assert (known["inexact"], len(known["untested"])) == ([], 5)
    own = choice(tmp_path, path, "f16", None)
    load(
        lambda setting: LlamaCppEngine(LlamaModel(path), context=256, threads=1, kv_type=setting.kv), "f16", own
    ).close()
    assert described(tmp_path, path, "f16", None, "", 0)["untested"] == []
    own.keep(Q8_PLAIN, 4)
    assert described(tmp_path, path, "f16", None, "", 0)["kv"] == "q8_0"
