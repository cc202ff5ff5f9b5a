"""Runs single command lines in the test's process, with a data folder of their own."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from device_app.cli import run
from device_app.commands.opening import MakeDevice
from device_app.system import conditions
from device_app.system.conditions import Conditions, Sensors
from storage.paths import Paths
from tests.devices import fake_device


@dataclass(frozen=True)
class Outcome:
    """The output and the exit code of a command."""

    code: int
    out: str
    err: str


class Jackdaw:
    """Runs a `jackdaw` command line and returns its outcome; `make` makes the device that the command uses."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.make: MakeDevice | None = None

    def __call__(self, *arguments: str) -> Outcome:
        code = run(arguments, self.make)
        captured = self._capsys.readouterr()
        return Outcome(code, captured.out, captured.err)


@pytest.fixture(autouse=True)
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    for variable in [name for name in os.environ if name.startswith("JACKDAW_")]:
        monkeypatch.delenv(variable)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "home"))
    return Paths.locate(os.environ)


@pytest.fixture(autouse=True)
def niced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records by how much commands would lower the priority; the test's process keeps its own."""
    by: list[int] = []
    monkeypatch.setattr(os, "nice", by.append)
    return by


@pytest.fixture(autouse=True)
def power(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sensors know nothing of power, charge and heat, on which the cost of an answer depends."""
    monkeypatch.setattr(Sensors, "power", lambda _: Conditions())
    monkeypatch.setattr(conditions, "WAIT_S", 60)  # a busy machine may be slow to start a thread


@pytest.fixture
def jackdaw(capsys: pytest.CaptureFixture[str]) -> Jackdaw:
    return Jackdaw(capsys)


@pytest.fixture
def without_weights(jackdaw: Jackdaw) -> None:
    """Make the device use a fake model and a fake embedder, and download nothing."""
    jackdaw.make = fake_device


@pytest.fixture
def notes(without_weights: None, jackdaw: Jackdaw, tmp_path: Path) -> Path:
    """A folder with a file about a drill, which `jackdaw add` has read."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "drill.md").write_text("# Things lent\n\nPetra has borrowed the blue drill.\n")
    assert jackdaw("add", str(folder)).code == 0
    return folder
