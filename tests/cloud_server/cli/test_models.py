"""`jackdaw-server models`: the commands of `jackdaw models`, with the server's settings. These tests use no network."""

import json
from pathlib import Path
from typing import Any

import pytest

from cloud_server.cli import run
from cloud_server.settings import SETTINGS, load
from models.catalog import CATALOG, Entry, Weights
from storage.paths import Paths
from tests.tiny_model import tiny_model


@pytest.fixture(autouse=True)
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    for setting in SETTINGS.values():
        monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "home"))
    return Paths.locate({"JACKDAW_HOME": str(tmp_path / "home")})


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fake downloads: the names of the catalog's models that were downloaded so far; no model is present at first."""
    names: list[str] = []
    real = Weights.state

    def state(weights: Weights, entry: Entry) -> str:
        return real(weights, entry) if entry.is_file else "present" if entry.name in names else "missing"

    def pull(weights: Weights, entry: Entry, progress: Any) -> bool:
        if not entry.is_file:
            names.append(entry.name)
        return True

    monkeypatch.setattr(Weights, "state", state)
    monkeypatch.setattr(Weights, "pull", pull)
    for module in ("commands", "forecast"):  # the first imports it from the second
        monkeypatch.setattr(f"models.{module}.looked_into", lambda *_: None)
    return names


def says(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    """Run `jackdaw-server models` and return what it prints on stdout and on stderr."""
    assert run(["models", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def chosen(paths: Paths) -> str:
    return load(paths, {}).settings.model.name


def test_every_model_is_listed_with_what_it_takes_on_the_server(
    fetched: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    listed = {fact["name"]: fact for fact in json.loads(says(capsys, "list", "--json")[0])["models"]}
    assert list(listed) == [entry.name for entry in CATALOG]
    assert [name for name, fact in listed.items() if fact["in_use"]] == ["smollm2-135m", "all-minilm-l6-v2"]
    states = 16_384 * 98_304 * 34 // 32  # all answers share the context; q8_0
    assert listed["smollm2-1.7b"]["memory"] == 1_055_609_536 + states + 256_000_000
    assert "smollm2-1.7b" in says(capsys)[0]


def test_use_pulls_writes_the_servers_settings_and_says_that_a_server_is_restarted(
    fetched: list[str], paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    paths.server_config_file.parent.mkdir(parents=True)
    paths.server_config_file.write_text("# mine\n[model]\nthreads = 3 # of four\n")
    out, err = says(capsys, "use", "smollm2-1.7b", "--yes")
    assert fetched == ["smollm2-1.7b"]
    assert out == "smollm2-1.7b is the model used from now on.\n"
    assert "Restart a running server" in err
    assert paths.server_config_file.read_text() == ('# mine\n[model]\nthreads = 3 # of four\nname = "smollm2-1.7b"\n')
    assert (chosen(paths), paths.config_file.exists()) == ("smollm2-1.7b", False)


def test_a_variable_that_goes_before_the_file_is_named(
    fetched: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JACKDAW_SERVER_MODEL_NAME", "smollm2-135m")
    assert "JACKDAW_SERVER_MODEL_NAME overrides this value" in says(capsys, "use", "smollm2-1.7b", "--yes")[1]


def test_without_a_terminal_the_servers_own_command_is_named(
    fetched: list[str], paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Run: jackdaw-server models pull smollm2-1.7b" in says(capsys, "use", "smollm2-1.7b", code=1)[1]
    assert (fetched, chosen(paths)) == ([], "smollm2-135m")
    assert json.loads(says(capsys, "pull", "smollm2-360m", "--json")[0])["pulled"] == ["smollm2-360m"]


def test_a_model_too_large_for_the_free_memory_is_refused_with_the_figures_unless_a_flag_says_so(
    fetched: list[str], paths: Paths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("models.forecast.available", lambda: 2_000_000_000)
    _, err = says(capsys, "use", "smollm2-1.7b", "--yes", code=2)
    assert "1,056 MB of weights, 1,711 MB for 16,384 tokens of context, 256 MB for kept states" in err
    assert "2,000 MB are free" in err
    assert (fetched, chosen(paths)) == ([], "smollm2-135m")
    says(capsys, "use", "smollm2-1.7b", "--yes", "--anyway")
    assert chosen(paths) == "smollm2-1.7b"


def test_a_file_of_ones_own_is_opened_and_a_file_that_is_no_model_refused(
    tmp_path: Path, paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    letter = tmp_path / "letter.gguf"
    letter.write_text("Dear all,")
    assert str(letter) in says(capsys, "use", f"file:{letter}", code=1)[1]
    assert chosen(paths) == "smollm2-135m"
    own = tiny_model(tmp_path / "own.gguf", "llama")
    says(capsys, "use", f"file:{own}")
    assert chosen(paths) == f"file:{own}"
    info = json.loads(says(capsys, "info", "--json")[0])
    assert (info["vocabulary"], info["context"], info["in_use"]) == (256, 512, True)
