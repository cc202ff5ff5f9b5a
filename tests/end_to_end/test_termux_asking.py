"""`jackdaw ask` on a phone keeps it awake for as long as an answer takes, and never waits for a command that hangs."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.gated import GATE
from tests.termux import Phone, Wrong, python

DRILL = "Who has the blue drill?"
MOST_S = 45.0
"""The timeout in seconds of a `termux-*` command in these tests, long enough for a machine under load."""

LOCK, UNLOCK = ["termux-wake-lock"], ["termux-wake-unlock"]


@pytest.fixture
def gate(phone: Phone) -> Path:
    """The path of the file that lets the fake model answer once it exists, on a phone that has read a note."""
    folder = phone.home / "notes"
    folder.mkdir()
    (folder / "drill.md").write_text("# Lent\n\nPetra has borrowed the blue drill.\n")
    assert phone.json("add", str(folder))["documents"] == 1
    return phone.home / "gate"


@contextmanager
def asked(phone: Phone, gate: Path) -> Iterator[subprocess.Popen[str]]:
    """A running `jackdaw ask` that holds the wake lock, and whose answer waits for the file `gate`."""
    phone.forget_calls()
    code = f"""
from device_app.cli import main
from device_app.system import termux
from tests.gated import gated_device
termux.SECONDS = {MOST_S}
main(gated_device)
"""
    with subprocess.Popen(
        [python(), "-c", code, "ask", DRILL, "--fresh", "--json"],
        env=phone.environment | {GATE: str(gate)},
        cwd=phone.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while locks(phone) != [LOCK]:
            assert process.poll() is None
            time.sleep(0.01)
        yield process


def locks(phone: Phone) -> list[list[str]]:
    return phone.calls(*LOCK, *UNLOCK)


def opened(gate: Path, words: str = "") -> None:
    """Create the file `gate`, which lets the model answer or, if it has `words`, fail with them."""
    new = gate.with_suffix(".new")
    new.write_text(words)
    new.rename(gate)


def test_the_wake_lock_is_held_until_the_answer_is_written(phone: Phone, gate: Path) -> None:
    with asked(phone, gate) as process:
        assert process.poll() is None
        assert locks(phone) == [LOCK]
        opened(gate)
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Petra" in json.loads(printed)["answer"]
    assert locks(phone) == [LOCK, UNLOCK]


def test_ctrl_c_gives_it_back(phone: Phone, gate: Path) -> None:
    with asked(phone, gate) as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert locks(phone) == [LOCK, UNLOCK]


def test_a_failure_gives_it_back(phone: Phone, gate: Path) -> None:
    with asked(phone, gate) as process:
        opened(gate, "The model is out of order.")
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "The model is out of order." in said
    assert locks(phone) == [LOCK, UNLOCK]


def test_commands_that_hang_delay_no_answer(phone: Phone, gate: Path) -> None:
    names = [path.name for path in phone.bin.glob("termux-*")]
    phone.goes_wrong(Wrong.HANGS, *names)
    with asked(phone, gate) as process:
        opened(gate)
        printed, _ = process.communicate(timeout=MOST_S - 5)  # less than one time-out
    assert "Petra" in json.loads(printed)["answer"]
    assert process.returncode == 0
    assert locks(phone) in ([LOCK], [LOCK, UNLOCK])  # the lock may have been heard, so its release is sent
