"""Whether the network is metered, as NetworkManager says; and a bus that is missing, fails or hangs."""

from pathlib import Path

import pytest

from device_app.system import network


def bus(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put this script on PATH as `busctl`, with no other command."""
    command = folder / "busctl"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(
    ("script", "metered"),
    [
        ("echo 'v u 1'", True),
        ("echo 'v u 2'", False),
        ("echo 'v u 3'", True),
        ("echo 'v u 4'", False),
        ("echo 'v u 0'", None),
        ("echo 'v u 99'", None),
        ("echo 'v s yes'", None),
        ("echo 'v u'", None),
        ("echo", None),
        ("echo 'Call failed: The name is not activatable' >&2; exit 1", None),
        ("printf '\\377'", None),
    ],
)
def test_what_the_manager_says(
    script: str, metered: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus(tmp_path, monkeypatch, script)
    assert network.metered() is metered


def test_a_system_without_a_bus_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert network.metered() is None


def test_a_bus_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_BUS_S", 0.1)
    bus(tmp_path, monkeypatch, "/bin/sleep 600")
    assert network.metered() is None
