"""A device whose free memory and disk space are known, with two models present and two that could be downloaded."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from models.catalog import Entry, Weights


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets how many bytes of memory and disk are free."""
    here = {"smollm2-135m", "smollm2-135m-q4_1", "all-minilm-l6-v2"}

    def free(memory: int = 4_000_000_000, disk: int = 50_000_000_000) -> None:
        monkeypatch.setattr("models.forecast.available", lambda: memory)
        monkeypatch.setattr("models.forecast.shutil", SimpleNamespace(disk_usage=lambda _: SimpleNamespace(free=disk)))

    def pull(_: Weights, entry: Entry, progress: Any) -> bool:
        progress("Fetching", entry.size, entry.size)
        here.add(entry.name)
        return True

    monkeypatch.setattr(Weights, "state", lambda _, entry: "present" if entry.name in here else "missing")
    monkeypatch.setattr(Weights, "pull", pull)
    monkeypatch.setattr("models.forecast.looked_into", lambda *_: None)
    free()
    return free
