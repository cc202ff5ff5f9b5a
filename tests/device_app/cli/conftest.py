"""One command line run in this process, in a home of its own."""

import os
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import pytest

from device_app.cli import ask, cache, knowledge, run, why
from device_app.inference.local import LocalSource
from device_app.device import Device
from models.fake import FakeEmbedder, FakeEngine
from shared.prompt import CHATML
from storage.paths import Paths


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


Jackdaw = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    for variable in [name for name in os.environ if name.startswith("JACKDAW_")]:
        monkeypatch.delenv(variable)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "home"))
    return Paths.locate(os.environ)


@pytest.fixture(autouse=True)
def niced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """By how much a command lowered its priority; this process keeps its own."""
    by: list[int] = []
    monkeypatch.setattr(os, "nice", by.append)
    return by


@pytest.fixture
def jackdaw(capsys: pytest.CaptureFixture[str]) -> Jackdaw:
    def call(*arguments: str) -> Outcome:
        code = run(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device's model and embedder are fakes, and nothing is fetched."""
    loaded: Future[LocalSource] = Future()
    loaded.set_result(LocalSource(FakeEngine(), CHATML))
    monkeypatch.setattr(Device, "embedder", FakeEmbedder())
    monkeypatch.setattr(Device, "begin_loading", lambda _: loaded)
    monkeypatch.setattr("models.minilm_onnx.DIMENSIONS", FakeEmbedder.dimensions)
    for module in (ask, cache, knowledge, why):
        monkeypatch.setattr(module, "ensure_weights", lambda *_, **__: None)


@pytest.fixture
def notes(without_weights: None, jackdaw: Jackdaw, tmp_path: Path) -> Path:
    """A folder that was read, with a file about a drill."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "drill.md").write_text("# Things lent\n\nPetra has borrowed the blue drill.\n")
    assert jackdaw("add", str(folder)).code == 0
    return folder
