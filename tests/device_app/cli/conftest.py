"""One command line run in this process, in a home of its own."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from device_app.cli import run
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
