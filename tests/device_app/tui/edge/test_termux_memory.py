"""When the app unloads the model, and when it delays loading the model: by the kind of device and by the free
memory.
"""

from pathlib import Path

import pytest

from device_app.tui.edge.memory import is_needed, loads_late
from models.catalog import Weights, find
from storage.pressure import RESERVE

TERMUX = "/data/data/com.termux/files/usr"


@pytest.mark.parametrize(
    ("prefix", "platform", "free", "needed"),
    [
        (TERMUX, "android", RESERVE - 1, True),
        (TERMUX, "android", 0, True),
        (TERMUX, "android", RESERVE, False),
        (TERMUX, "android", 16 * RESERVE, False),
        (TERMUX, "linux", RESERVE - 1, True),  # a Python that takes Android for Linux
        ("", "android", RESERVE - 1, True),  # started from a notification
        ("", "linux", RESERVE - 1, False),
        ("/usr", "linux", 0, False),
        ("", "darwin", 0, False),
    ],
)
def test_a_phone_that_is_short_of_memory_needs_that_of_the_model(
    monkeypatch: pytest.MonkeyPatch, prefix: str, platform: str, free: int, needed: bool
) -> None:
    monkeypatch.setenv("PREFIX", prefix)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("shared.memory.available", lambda: free)
    assert is_needed() is needed


@pytest.mark.parametrize(
    ("prefix", "free", "late"),
    [(TERMUX, 16_000_000_000, True), (TERMUX, 0, True), ("/usr", 16_000_000_000, False), ("/usr", 100_000_000, True)],
)
def test_a_phone_waits_with_loading_and_a_laptop_does_where_memory_is_short(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prefix: str, free: int, late: bool
) -> None:
    monkeypatch.setenv("PREFIX", prefix)
    monkeypatch.setattr("models.forecast.available", lambda: free)
    assert loads_late(Weights(tmp_path), find("smollm2-135m", "engine")) is late
