"""The phone's wake lock: taken during long work, released by its last holder, and released after a holder was
killed.
"""

import subprocess
import time
from pathlib import Path

import pytest

from device_app.system import awake as module
from device_app.system.awake import awake, clear_up, holders
from tests.termux import Phone, Wrong, python

LOCK, UNLOCK = ["termux-wake-lock"], ["termux-wake-unlock"]


@pytest.fixture(autouse=True)
def _on_a_phone(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE_S", 0.0)
    phone.enter(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "awake"


def held(folder: Path, count: int) -> None:
    """Wait until `count` processes hold the lock."""
    while holders(folder) != count:
        time.sleep(0.005)


def calls(phone: Phone, count: int) -> list[list[str]]:
    """Wait for `count` calls, and return all so far."""
    while len(made := phone.calls()) < count:
        time.sleep(0.005)
    return made


def test_it_is_held_while_something_lasts_also_if_that_fails(phone: Phone, folder: Path) -> None:
    for error in (None, KeyboardInterrupt, ValueError):
        before = len(phone.calls())
        try:
            with awake(folder):
                assert calls(phone, before + 1)[before:] == [LOCK]
                if error:
                    raise error
        except (KeyboardInterrupt, ValueError):
            assert error
        assert phone.calls()[before:] == [LOCK, UNLOCK]
    assert holders(folder) == 0


def test_what_ends_at_once_takes_nothing(phone: Phone, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE_S", 60)
    with awake(folder):
        pass
    assert phone.calls() == []


@pytest.mark.long
def test_the_last_of_two_gives_it_back(phone: Phone, folder: Path) -> None:
    with awake(folder):
        held(folder, 1)
        other = f"""
import sys
from pathlib import Path
from device_app.system import awake
awake.GRACE_S = 0.0
with awake.awake(Path({str(folder)!r})):
    print("holds", flush=True)
    sys.stdin.read()
"""
        with subprocess.Popen(
            [python(), "-c", other], env=phone.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout and process.stdin
            process.stdout.readline()
            held(folder, 2)
            process.stdin.close()
            process.wait()
        assert UNLOCK not in phone.calls()
        assert holders(folder) == 1
    assert phone.calls().count(UNLOCK) == 1


def test_what_a_kill_left_is_cleared_up(phone: Phone, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "1-1.held").touch()
    assert clear_up(folder)
    assert phone.calls() == [UNLOCK]
    assert not clear_up(folder)
    (folder / "1-1.held").touch()
    with awake(folder):
        held(folder, 1)
        assert clear_up(folder)  # another one still needs it
        assert phone.calls().count(UNLOCK) == 1


@pytest.mark.parametrize("how", [Wrong.HANGS, Wrong.MISSING, Wrong.FAILS])
def test_a_lock_that_goes_wrong_stops_nothing(
    phone: Phone, folder: Path, how: Wrong, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device_app.system.termux.SECONDS", 0.1)
    phone.goes_wrong(how, *LOCK, *UNLOCK)
    with awake(folder):
        held(folder, 1)
    assert holders(folder) == 0


def test_what_it_is_held_for_does_not_wait_for_a_lock_that_hangs(
    phone: Phone, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device_app.system.termux.SECONDS", 20.0)
    phone.goes_wrong(Wrong.HANGS, *LOCK, *UNLOCK)
    with awake(folder):
        calls(phone, 1)
        began = time.monotonic()
    assert time.monotonic() - began < 10
    assert calls(phone, 2) == [LOCK, UNLOCK]  # it may have been heard
    assert holders(folder) == 0


def test_a_laptop_has_none(phone: Phone, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("PREFIX")
    with awake(folder):
        pass
    assert not folder.exists()
