"""`jackdaw models`, and how a command that needs model files gets them. These tests use no network."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from device_app.cli import jackdaw as group
from device_app.cli.models import PROGRAM
from device_app.device import Device
from device_app.settings import load
from models import catalog, commands
from models.catalog import CATALOG, Entry, Weights
from models.exact_loading import VERDICTS
from models.exactness import CHECKS
from models.facts import FactsFile
from shared.errors import PullFailed, UsageError, WeightsDamaged, WeightsMissing
from storage.paths import Paths
from tests.tiny_model import tiny_model, words

IN_USE = ["smollm2-135m", "all-minilm-l6-v2"]


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The state of each model of the catalog: none is present at first; downloading one makes it present."""
    known = {entry.name: "missing" for entry in CATALOG}
    real = Weights.state

    def state(weights: Weights, entry: Entry) -> str:
        return real(weights, entry) if entry.source.startswith("file:") else known[entry.name]

    def pull(weights: Weights, entry: Entry, progress: Any) -> bool:
        if known.get(entry.name) == "present":
            return False
        if entry.source.startswith("hub:"):
            raise PullFailed("The hub cannot be reached.")
        progress("Fetching", 1, entry.size)
        progress("Preparing", 0, 0)
        known[entry.name] = "present"
        return True

    monkeypatch.setattr(Weights, "state", state)
    monkeypatch.setattr(Weights, "pull", pull)
    monkeypatch.setattr("models.forecast.looked_into", lambda *_: None)
    return known


@pytest.fixture
def store(tmp_path: Path) -> Weights:
    return Weights(tmp_path)


def on_terminal(monkeypatch: pytest.MonkeyPatch, answer: bool) -> list[str]:
    """Let the command run on a terminal whose user gives the same answer to every question; return the list of the
    questions.
    """
    asked: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        return answer

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(click, "confirm", confirm)
    return asked


def test_every_model_is_listed_with_its_state(jackdaw: Any, states: dict[str, str]) -> None:
    states["smollm2-135m"] = "present"
    listed = {fact["name"]: fact for fact in json.loads(jackdaw("models", "--json").out)["models"]}
    assert list(listed) == [entry.name for entry in CATALOG]
    assert [name for name, fact in listed.items() if fact["in_use"]] == IN_USE
    assert listed["smollm2-135m"]["state"] == "present"
    assert listed["all-minilm-l6-v2"]["state"] == "missing"
    text = jackdaw("models").out
    assert "present, in use" in text
    assert all(name in text for name in listed)


def test_a_file_in_use_is_listed_too(jackdaw: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"x" * 1000)
    monkeypatch.setenv("JACKDAW_MODEL_NAME", f"file:{file}")
    (fact,) = [fact for fact in json.loads(jackdaw("models", "--json").out)["models"] if fact["name"] == "mine"]
    assert (fact["size"], fact["state"], fact["in_use"]) == (1000, "present", True)


def test_pull_without_names_fetches_what_is_in_use_once(jackdaw: Any, states: dict[str, str], paths: Paths) -> None:
    first, second = (json.loads(jackdaw("models", "pull", "--json").out) for _ in range(2))
    assert (first["pulled"], first["unchanged"]) == (IN_USE, [])
    assert (second["pulled"], second["unchanged"]) == ([], IN_USE)
    assert {folder.stat().st_mode & 0o777 for folder in (paths.weights, paths.data)} == {0o700}
    assert "was downloaded before" in jackdaw("models", "pull", "smollm2-135m").out


def test_a_damaged_model_is_pulled_again(jackdaw: Any, states: dict[str, str]) -> None:
    states["smollm2-135m"] = "damaged"
    assert json.loads(jackdaw("models", "pull", "smollm2-135m", "--json").out)["pulled"] == ["smollm2-135m"]


@pytest.mark.parametrize("command", ["pull", "use", "info"])
def test_an_unknown_model_is_wrong_usage(command: str, jackdaw: Any, states: dict[str, str]) -> None:
    outcome = jackdaw("models", command, "gpt-9")
    assert outcome.code == 2
    assert "smollm2-135m" in outcome.err


def test_a_failed_pull_is_exit_code_1(jackdaw: Any, states: dict[str, str]) -> None:
    outcome = jackdaw("models", "pull", "smollm2-360m", "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["error"]["type"] == "PullFailed"


def test_use_pulls_and_is_remembered(jackdaw: Any, states: dict[str, str]) -> None:
    assert jackdaw("models", "use", "smollm2-135m-q4_1", "--yes").code == 0
    assert states["smollm2-135m-q4_1"] == "present"
    assert jackdaw("config", "get", "model.name").out == "smollm2-135m-q4_1\n"
    assert jackdaw("config", "get", "embedder.name").out == "all-minilm-l6-v2\n"


def test_use_of_an_embedder_leaves_the_answering_model(jackdaw: Any, states: dict[str, str]) -> None:
    info = json.loads(jackdaw("models", "use", "all-minilm-l6-v2", "--yes", "--json").out)
    assert info == {"key": "embedder.name", "value": "all-minilm-l6-v2"}
    assert jackdaw("config", "get", "model.name").out == "smollm2-135m\n"


@pytest.mark.parametrize("name", ["smollm2-360m", "file:nowhere.gguf"])
def test_a_model_that_is_not_here_is_not_used(name: str, jackdaw: Any, states: dict[str, str]) -> None:
    assert jackdaw("models", "use", name).code == 1
    assert json.loads(jackdaw("config", "get", "model.name", "--json").out)["origin"] == "default"


def test_a_file_that_is_no_model_is_not_used(jackdaw: Any, tmp_path: Path) -> None:
    file = tmp_path / "letter.gguf"
    file.write_text("Dear all,")
    outcome = jackdaw("models", "use", f"file:{file}")
    assert outcome.code == 1
    assert str(file) in outcome.err
    assert json.loads(jackdaw("config", "get", "model.name", "--json").out)["origin"] == "default"


def test_a_model_too_large_for_the_free_memory_is_not_used_unless_a_flag_says_so(
    jackdaw: Any, states: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.forecast.available", lambda: 190_000_000)
    outcome = jackdaw("models", "use", "smollm2-135m-q4_1", "--yes")
    assert outcome.code == 2
    assert "smollm2-135m-q4_1 needs about 193 MB of memory (98 MB of weights, 94 MB for 4,096 tokens" in outcome.err
    assert "and 190 MB are free" in outcome.err
    assert states["smollm2-135m-q4_1"] == "missing"  # refused before it is fetched
    assert "too large for the free memory" in jackdaw("models").out
    assert jackdaw("models", "use", "smollm2-135m-q4_1", "--yes", "--anyway").code == 0
    assert jackdaw("config", "get", "model.name").out == "smollm2-135m-q4_1\n"


def test_info_of_a_model_that_is_not_here_names_its_licence_and_size(jackdaw: Any, states: dict[str, str]) -> None:
    facts = json.loads(jackdaw("models", "info", "smollm2-1.7b", "--json").out)
    assert (facts["licence"], facts["state"], facts["sha256"]) == ("Apache-2.0", "missing", {})
    shown = jackdaw("models", "info", "smollm2-1.7b").out
    assert "1,056 MB" in shown
    assert "known once the model is downloaded" in shown


def test_model_names_complete() -> None:
    items = ShellComplete(group, {}, "jackdaw", "_JACKDAW_COMPLETE").get_completions(["models", "use"], "smollm2-1.")
    assert [item.value for item in items] == ["smollm2-1.7b"]


def test_what_is_here_is_not_asked_for(states: dict[str, str], store: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    states.update(dict.fromkeys(IN_USE, "present"))
    asked = on_terminal(monkeypatch, answer=False)
    PROGRAM.ensure(store, *IN_USE)
    assert not asked


def test_without_a_terminal_the_command_that_pulls_is_named(states: dict[str, str], store: Weights) -> None:
    with pytest.raises(WeightsMissing, match=r"jackdaw models pull smollm2-1\.7b all-minilm-l6-v2"):
        PROGRAM.ensure(store, "smollm2-1.7b", "all-minilm-l6-v2")
    assert "present" not in states.values()


def test_without_a_terminal_what_is_pinned_is_pulled(
    states: dict[str, str], store: Weights, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "progress", Silent)
    PROGRAM.ensure(store, *IN_USE)
    assert [name for name, state in states.items() if state == "present"] == IN_USE
    assert capsys.readouterr().err == (
        "Downloading smollm2-135m (93 MB) and all-minilm-l6-v2 (84 MB), which is needed only once.\n"
    )


def test_yes_pulls_without_asking(states: dict[str, str], store: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = on_terminal(monkeypatch, answer=False)
    monkeypatch.setattr(commands, "progress", Silent)
    PROGRAM.ensure(store, *IN_USE, yes=True)
    assert not asked
    assert [name for name, state in states.items() if state == "present"] == IN_USE


@pytest.mark.parametrize("answer", [True, False])
def test_on_a_terminal_the_answer_decides(
    answer: bool, states: dict[str, str], store: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = on_terminal(monkeypatch, answer)
    monkeypatch.setattr(commands, "progress", Silent)
    if answer:
        PROGRAM.ensure(store, "smollm2-135m")
    else:
        with pytest.raises(WeightsMissing):
            PROGRAM.ensure(store, "smollm2-135m")
    assert asked == ["Download smollm2-135m (93 MB)?"]
    assert states["smollm2-135m"] == ("present" if answer else "missing")


@pytest.mark.parametrize(
    ("name", "error"), [("smollm2-135m", WeightsDamaged), ("file:nowhere", WeightsMissing), ("gpt-9", UsageError)]
)
def test_what_cannot_be_pulled_is_never_offered(
    name: str, error: type[Exception], states: dict[str, str], store: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    states["smollm2-135m"] = "damaged"
    asked = on_terminal(monkeypatch, answer=True)
    with pytest.raises(error):
        PROGRAM.ensure(store, name)
    assert not asked


def test_nothing_is_downloaded_beside_a_file_that_is_missing(states: dict[str, str], store: Weights) -> None:
    with pytest.raises(WeightsMissing, match="jackdaw models use NAME"):
        PROGRAM.ensure(store, "file:nowhere", "all-minilm-l6-v2")
    assert "present" not in states.values()


def test_whether_an_unknown_size_fits_is_unknown(jackdaw: Any, states: dict[str, str]) -> None:
    facts = json.loads(jackdaw("models", "info", "file:nowhere", "--json").out)
    assert (facts["memory"], facts["fits_memory"]) == (None, None)
    assert "too large" not in jackdaw("models").out


class Silent:
    """A progress bar that draws nothing."""

    def __init__(self, label: str) -> None:
        pass

    def __enter__(self) -> Any:
        return lambda *_: None

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.weights
def test_a_real_file_is_looked_into_and_used(jackdaw: Any, weights: Path) -> None:
    name = f"file:{weights / 'smollm2-135m-instruct.q4_1.gguf'}"
    facts = json.loads(jackdaw("models", "info", name, "--json").out)
    assert (facts["vocabulary"], facts["context"], facts["kv_bytes_per_token"]) == (49152, 8192, 23040)
    assert facts["memory"] == facts["size"] + 23040 * 4096
    assert len(facts["vocabulary_fingerprint"]) == 32
    assert jackdaw("models", "use", name).code == 0
    assert jackdaw("config", "get", "model.name").out == f"{catalog.find(name).source}\n"


def test_what_is_known_of_exactness_is_said(
    jackdaw: Any, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored result of the self-test: none yet, exact, not exact, and not exact with another setting that is."""
    wide = {f"llama.attention.{part}_length": 32 for part in ("key", "value")}  # a block of q8_0
    monkeypatch.setenv("JACKDAW_MODEL_NAME", f"file:{tiny_model(tmp_path / 'own.gguf', 'llama', {**words(), **wide})}")
    paths.weights.mkdir(parents=True)  # as once the embedder is pulled
    facts = FactsFile(paths.weights, VERDICTS)

    def shown() -> dict[str, Any]:
        exactness: dict[str, Any] = json.loads(jackdaw("models", "info", "--json").out)["exactness"]
        assert exactness["said"] in " ".join(jackdaw("models", "info").out.split())
        return exactness

    def loaded() -> None:
        with Device(paths, load(paths, os.environ).settings) as device:
            device.begin_loading().result()

    untested = shown()
    assert (untested["kv"], untested["inexact"], untested["untested"]) == ("f16", [], sorted(CHECKS))
    assert untested["said"].startswith("5 of 5 checks are left for the next start or idle time")
    assert not facts.load()  # nothing is loaded to say it

    loaded()
    (key,) = facts.load()
    facts.keep(key, dict.fromkeys(CHECKS, True))  # whatever this machine's arithmetic is
    exact = shown()
    assert (exact["inexact"], exact["untested"]) == ([], [])
    assert exact["said"] == "reused attention states and rolled-back tokens give exactly the computed results"

    facts.keep(key, {**dict.fromkeys(CHECKS, True), "passes": False})
    inexact = shown()
    assert (inexact["kv"], inexact["inexact"]) == ("f16", ["passes"])
    assert "reading only the rest of a prompt would change this model's answers on this machine" in inexact["said"]

    facts.keep(key.replace(" f16 ", " q8_0 "), dict.fromkeys(CHECKS, True))
    loaded()
    other = shown()
    assert (other["kv"], other["repacks"], other["inexact"]) == ("q8_0", True, [])
    assert other["said"].startswith("q8_0 attention states are used in place of f16, because fewer features")
