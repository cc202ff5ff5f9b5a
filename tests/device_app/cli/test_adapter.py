"""LoRA adapters in the user's commands: chosen, shown and refused; an answer made with one adapter is never reused
under another.
"""

import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from device_app.device import Device
from device_app.settings import Settings, load
from models import catalog
from models.adapter import ASKS
from models.catalog import entries
from models.fake import FakeEngine
from models.forecast import Inside
from storage.paths import Paths
from tests.adapter_file import ADAPTER, MODEL, pairs, write
from tests.devices import fake_device

QUESTION = ("ask", "Who has the blue drill?", "--json")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model file named in the settings; it has only a header, as nothing else of it is read."""
    path = write(tmp_path / "model.gguf", MODEL, {})
    monkeypatch.setenv("JACKDAW_MODEL_NAME", f"file:{path}")
    for module in ("commands", "forecast"):
        monkeypatch.setattr(f"models.{module}.looked_into", lambda *_: Inside(1, 1, 4096, 49152, "", True, 10))
    return path


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    return write(tmp_path / "adapter.gguf", ADAPTER, pairs(1, rank=8))


@pytest.fixture
def unfit(tmp_path: Path) -> Path:
    return write(tmp_path / "unfit.gguf", {**ADAPTER, "general.architecture": "qwen2"})


def choose(jackdaw: Any, adapter: Path | str) -> None:
    assert jackdaw("config", "set", "model.adapter", str(adapter)).code == 0


def loads_what_is_chosen(paths: Paths, settings: Settings) -> Device:
    """Makes a device whose fake model reports the adapter from the settings as loaded; other fake models
    report none.
    """

    def loaded() -> FakeEngine:
        engine = FakeEngine()
        engine._info = replace(engine.info, adapter=device.adapter.hash if device.adapter else "")
        return engine

    device = fake_device(paths, settings, loaded)
    return device


def shipping(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str) -> None:
    """Let the model in the settings be one from the catalog that comes with the given adapter."""
    monkeypatch.delenv("JACKDAW_MODEL_NAME")
    monkeypatch.setattr(entries, "_ADAPTERS", folder)
    own = replace(catalog.CATALOG[0], adapter=name)
    monkeypatch.setattr(entries, "CATALOG", (own, *catalog.CATALOG[1:]))
    monkeypatch.setattr(catalog.Weights, "state", lambda *_: "present")
    monkeypatch.setattr(catalog.Weights, "path", lambda *_: folder / "model.gguf")


def test_info_shows_the_adapter_and_whether_it_is_in_force(jackdaw: Any, model: Path, adapter: Path) -> None:
    name = f"file:{model}"
    assert json.loads(jackdaw("models", "info", name, "--json").out)["adapter"] is None
    choose(jackdaw, adapter)
    info = json.loads(jackdaw("models", "info", name, "--json").out)["adapter"]
    assert (info["name"], info["rank"], info["in_force"], info["why_not"]) == ("An answerer", 8, True, "")
    assert (info["path"], info["size"], len(info["hash"])) == (str(adapter), adapter.stat().st_size, 32)
    shown = jackdaw("models", "info", name).out
    for words in ("An answerer, rank 8, 0.2 MB, Apache-2.0", "Trained on nothing.", "used"):
        assert words in shown


def test_info_shows_why_an_adapter_is_not_in_force(jackdaw: Any, model: Path, unfit: Path) -> None:
    choose(jackdaw, unfit)
    info = json.loads(jackdaw("models", "info", "--json").out)["adapter"]
    assert info["in_force"] is False
    assert "made for the architecture qwen2, not llama" in info["why_not"]
    assert "not used: " in jackdaw("models", "info").out


def test_what_comes_with_a_model_is_the_default_and_can_be_turned_off(
    jackdaw: Any, model: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipping(monkeypatch, model.parent, adapter.name)
    assert json.loads(jackdaw("models", "info", "--json").out)["adapter"]["in_force"] is True
    choose(jackdaw, "off")
    info = json.loads(jackdaw("models", "info", "--json").out)["adapter"]
    assert (info["name"], info["in_force"], info["why_not"]) == ("An answerer", False, "model.adapter is off")


def test_a_model_that_comes_without_one_says_nothing(jackdaw: Any, notes: Path, model: Path) -> None:
    outcome = jackdaw(*QUESTION)
    assert (outcome.code, outcome.err) == (0, "")
    assert "adapter" in jackdaw("models", "info").out


def test_a_question_is_answered_without_an_adapter_that_does_not_fit_and_says_so_once(
    jackdaw: Any, notes: Path, model: Path, unfit: Path
) -> None:
    choose(jackdaw, unfit)
    for _ in range(2):  # the second answer is one that was kept
        outcome = jackdaw(*QUESTION)
        assert outcome.code == 0
        assert (
            outcome.err.count("is not used, the bare model answers: the adapter is made for the architecture qwen2")
            == 1
        )
    for name in ("nowhere.gguf", "~nobody-has-this-name/a.gguf"):
        choose(jackdaw, name)
        assert "there is no such file. Set model.adapter to another file, or to off." in jackdaw(*QUESTION).err


@pytest.mark.parametrize("command", [("why", QUESTION[1]), ("cache", "warm", QUESTION[1])])
def test_who_prepares_or_explains_an_answer_says_once_that_an_adapter_is_not_used(
    jackdaw: Any, notes: Path, model: Path, adapter: Path, unfit: Path, command: tuple[str, ...]
) -> None:
    for chosen, said in ((adapter, 0), (unfit, 1)):
        choose(jackdaw, chosen)
        for outcome in (jackdaw(*command), jackdaw(*command, "--json")):
            assert outcome.code == 0
            assert (
                outcome.err.count("Set model.adapter to another file, or to off.")
                == len(outcome.err.splitlines())
                == said
            )


def test_who_works_ahead_once_is_told_once_that_an_adapter_is_not_used(
    jackdaw: Any, model: Path, adapter: Path, unfit: Path
) -> None:
    for chosen, said in ((adapter, 0), (unfit, 1)):
        choose(jackdaw, chosen)
        for as_json in ((), ("--json",)):
            assert jackdaw("daemon", "run-once", *as_json).err.count("the bare model answers: ") == said


def test_status_and_doctor_tell_what_is_in_force_and_what_is_refused(
    jackdaw: Any, notes: Path, model: Path, adapter: Path, unfit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def info() -> dict[str, Any]:
        return dict(json.loads(jackdaw("status", "--json").out)["model"])

    def adapter_findings() -> list[tuple[str, str]]:
        findings = json.loads(jackdaw("doctor", "--json").out)["findings"]
        return [(finding["level"], finding["said"]) for finding in findings if finding["check"] == "adapter"]

    assert (info()["adapter"], info()["refused"], adapter_findings()) == ("", "", [])
    choose(jackdaw, adapter)
    assert (len(info()["adapter"]), info()["refused"]) == (32, "")
    assert adapter_findings() == [("ok", "An answerer, rank 8: the model answers with it")]
    asking = write(adapter.with_name("asking.gguf"), {**ADAPTER, ASKS: "true"}, pairs(1, rank=8))
    choose(jackdaw, asking)
    assert adapter_findings() == [("ok", "An answerer, rank 8: the model answers and predicts questions with it")]
    choose(jackdaw, unfit)
    assert info()["adapter"] == ""
    assert "qwen2" in info()["refused"]
    assert "qwen2" in jackdaw("status").out
    ((level, said),) = adapter_findings()
    assert (level, "qwen2" in said) == ("warn", True)


@pytest.mark.parametrize("loads_s", [0.0, 0.3])
def test_what_llama_cpp_alone_refused_is_told_once(
    jackdaw: Any, notes: Path, model: Path, adapter: Path, loads_s: float
) -> None:
    def refusing() -> FakeEngine:
        time.sleep(loads_s)
        engine = FakeEngine()
        engine._info = replace(engine.info, refused="It is not used.")
        return engine

    jackdaw.make = partial(fake_device, engine=refusing)
    choose(jackdaw, adapter)
    findings = json.loads(jackdaw("doctor", "--json").out)["findings"]
    assert [finding["said"] for finding in findings if finding["check"] == "adapter"] == ["It is not used."]
    for command in (QUESTION, ("why", QUESTION[1]), ("cache", "warm", QUESTION[1])):
        assert jackdaw(*command).err.splitlines() == ["It is not used."]


def test_a_path_that_is_set_holds_from_any_folder(
    jackdaw: Any, model: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JACKDAW_MODEL_NAME")
    monkeypatch.chdir(adapter.parent)
    choose(jackdaw, adapter.name)
    assert jackdaw("config", "set", "model.name", f"file:{model.name}").code == 0
    monkeypatch.chdir("/")
    assert json.loads(jackdaw("models", "info", "--json").out)["adapter"]["in_force"] is True


def test_the_setting_is_strict(jackdaw: Any) -> None:
    outcome = jackdaw("config", "set", "model.adapter", "")
    assert outcome.code == 2
    assert "model.adapter" in outcome.err


def test_answers_are_named_by_what_the_adapter_holds_and_by_whether_it_is_used(
    paths: Paths, model: Path, adapter: Path, unfit: Path, tmp_path: Path
) -> None:
    def under(chosen: Path | str) -> str:
        flags = {"model.adapter": str(chosen), "model.name": f"file:{model}"}
        with Device(paths, load(paths, {}, flags).settings) as device:
            return device.options().fingerprint

    bare = under("off")
    assert {under("auto"), under(unfit), under(tmp_path / "nowhere.gguf")} == {bare}
    adapted = under(adapter)
    assert adapted != bare
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(adapter.read_bytes())
    assert under(copy) == adapted
    write(adapter, ADAPTER, pairs(1, rank=8, seed=1))
    assert under(adapter) not in (bare, adapted)
    model.unlink()
    assert under(adapter)  # nothing can be answered, and nothing fails


def test_an_answer_of_one_choice_never_serves_under_another(
    jackdaw: Any, notes: Path, model: Path, adapter: Path, unfit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jackdaw.make = loads_what_is_chosen

    def hit() -> bool:
        return bool(json.loads(jackdaw(*QUESTION).out)["cache"]["qa"]["hit"])

    assert (hit(), hit()) == (False, True)  # bare
    choose(jackdaw, adapter)
    assert (hit(), hit()) == (False, True)
    choose(jackdaw, "off")
    assert hit()
    choose(jackdaw, unfit)
    assert hit()  # it is the bare model's
    write(adapter, ADAPTER, pairs(1, rank=8, seed=1))
    choose(jackdaw, adapter)
    assert not hit()


@pytest.mark.parametrize("command", [("ask", QUESTION[1]), ("cache", "warm", QUESTION[1])])
def test_an_answer_for_which_llama_cpp_refused_the_adapter_is_the_bare_models(
    jackdaw: Any, notes: Path, model: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    choose(jackdaw, adapter)
    assert jackdaw(*command).code == 0
    jackdaw.make = loads_what_is_chosen
    hits = []
    for chosen in (adapter, "off"):
        choose(jackdaw, chosen)
        hits.append(json.loads(jackdaw(*QUESTION).out)["cache"]["qa"]["hit"])
    assert hits == [False, True]
