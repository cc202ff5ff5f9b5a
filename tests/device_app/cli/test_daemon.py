"""`jackdaw daemon`: what each of its commands prints, and how it ends."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from device_app.ahead.work import GiveWay, Step
from device_app.device import Device
from device_app.system.activity import Activity
from storage.paths import Paths
from tests.devices import fake_device


@pytest.fixture(autouse=True)
def quiet(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake device on a machine that may be busy: the background process ignores the load."""
    jackdaw.make = fake_device
    monkeypatch.setenv("JACKDAW_DAEMON_LOAD", "1")
    monkeypatch.setenv("JACKDAW_DAEMON_TEMPERATURE", "150")
    monkeypatch.setenv("JACKDAW_DAEMON_MAINS", "false")
    monkeypatch.setenv("JACKDAW_DAEMON_BATTERY", "0")


def predicting(give_way: GiveWay) -> Iterator[Step]:
    yield Step("predict", "Who has the\x1b[31m drill?", "a note is new", 100, 20, 5.0)


def test_nothing_to_do_is_exit_code_3(jackdaw: Any) -> None:
    outcome = jackdaw("daemon", "run-once", "--json")
    assert outcome.code == 3
    report = json.loads(outcome.out)
    assert (report["steps"], report["tokens"], report["stopped"]) == ([], 0, None)


def test_work_ahead_leaves_the_processor_to_others(jackdaw: Any, niced: list[int]) -> None:
    jackdaw("daemon", "run-once")
    assert niced == [19]


def test_steps_are_printed_and_explained(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "idle_work", staticmethod(predicting))
    plain = jackdaw("daemon", "run-once")
    assert plain.code == 0
    assert plain.out.startswith("predict: Who has the[31m drill?\n1 steps done, 120 tokens, ")
    assert "(a note is new)\n" in jackdaw("daemon", "run-once", "--explain").out
    report = json.loads(jackdaw("daemon", "run-once", "--json", "--explain").out)
    assert report["steps"] == [
        {
            "action": "predict",
            "subject": "Who has the\x1b[31m drill?",
            "why": "a note is new",
            "tokens_prefilled": 100,
            "tokens_decoded": 20,
            "ms": 5.0,
        }
    ]
    assert report["tokens"] == 120
    status = json.loads(jackdaw("daemon", "status", "--json").out)
    assert (status["running"], status["state"], status["tokens"]) == (False, "stopped", 360)
    assert status["last"]["action"] == "predict"
    assert "360 of 200,000 tokens" in jackdaw("daemon", "status").out


def test_changed_files_are_read(jackdaw: Any, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    assert jackdaw("add", str(folder)).code == 3
    (folder / "drill.md").write_text("Petra has borrowed the blue drill.")
    step, *_ = json.loads(jackdaw("daemon", "run-once", "--json").out)["steps"]
    assert (step["action"], step["subject"]) == ("read", "1 document (1 passage)")
    assert jackdaw("ask", "Who has the blue drill?").out.startswith("Petra has borrowed the blue drill.")


def test_a_question_is_noted_and_keeps_the_device_busy(jackdaw: Any, paths: Paths) -> None:
    assert Activity(paths.activity).last() is None
    assert jackdaw("ask", "Who has the blue drill?").code == 3
    assert Activity(paths.activity).last() is not None
    refused = jackdaw("daemon", "run-once", "--when-idle")
    assert refused.code == 3
    assert "a question was asked less than 5 minutes ago" in refused.err
    assert json.loads(jackdaw("daemon", "run-once", "--json").out)["stopped"] is None


def test_pause_and_resume(jackdaw: Any) -> None:
    assert json.loads(jackdaw("daemon", "pause", "--json").out) == {"paused": True}
    assert json.loads(jackdaw("daemon", "status", "--json").out)["paused"] is True
    assert json.loads(jackdaw("daemon", "run-once", "--json").out)["stopped"] == "background work is paused"
    assert jackdaw("daemon", "resume").out == "Background work is not paused.\n"
    assert jackdaw("daemon", "resume").code == 0
    assert json.loads(jackdaw("daemon", "status", "--json").out)["paused"] is False


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("run-once", "daemon_lock"),
        ("run", "daemon_lock"),
        ("status", "daemon_lock"),
        ("pause", "daemon_paused"),
        ("resume", "daemon_paused"),
    ],
)
def test_a_folder_in_the_place_of_a_file_is_named(jackdaw: Any, paths: Paths, command: str, place: str) -> None:
    folder = getattr(paths, place)
    folder.mkdir(parents=True)
    outcome = jackdaw("daemon", command)
    assert outcome.code == 1
    assert str(folder) in outcome.err
    assert "Move the folder away" in outcome.err


def test_status_before_anything_ran(jackdaw: Any) -> None:
    assert "not running: jackdaw daemon install" in jackdaw("daemon", "status").out


@dataclass(frozen=True)
class Linux:
    """A home folder and a PATH for the test, with a fake `systemctl` that records its calls."""

    unit: Path
    log: Path


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Linux:
    commands = tmp_path / "bin"
    commands.mkdir()
    log = tmp_path / "log"
    log.touch()
    for name, script in (("systemctl", f'echo "$@" >> {log}'), ("jackdaw", "")):
        (commands / name).write_text(f"#!/bin/sh\n{script}\n")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(commands))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "executable", str(commands / "python"))
    for variable in ("PREFIX", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return Linux(tmp_path / ".config" / "systemd" / "user" / "jackdaw.service", log)


def test_install_shows_what_it_will_write_and_writes_nothing_unasked(jackdaw: Any, linux: Linux) -> None:
    outcome = jackdaw("daemon", "install")
    assert outcome.code == 2
    assert str(linux.unit) in outcome.out
    assert "daemon run\n" in outcome.out
    assert "$ systemctl --user enable --now jackdaw.service" in outcome.out
    assert "Nothing was installed" in outcome.err
    report = json.loads(jackdaw("daemon", "install", "--json").out)
    assert report["installed"] is False
    assert report["files"][0]["path"] == str(linux.unit)
    assert not linux.unit.exists()
    assert linux.log.read_text() == ""


def test_install_and_uninstall(jackdaw: Any, linux: Linux) -> None:
    report = json.loads(jackdaw("daemon", "install", "-y", "--json").out)
    assert report["installed"] is True
    assert linux.unit.read_text("utf-8") == report["files"][0]["text"]
    assert f"JACKDAW_HOME={os.environ['JACKDAW_HOME']}" in linux.unit.read_text("utf-8")
    assert "enable --now" in linux.log.read_text()
    assert jackdaw("daemon", "install", "-y").code == 0
    assert str(linux.unit) in jackdaw("daemon", "uninstall").out
    assert not linux.unit.exists()
    assert "disable --now" in linux.log.read_text()
    assert jackdaw("daemon", "uninstall").code == 3


def test_a_yes_on_the_terminal_is_enough(jackdaw: Any, linux: Linux, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Callable[..., bool] = lambda *_, **__: True  # noqa: E731
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.confirm", answers)
    assert jackdaw("daemon", "install").code == 0
    assert linux.unit.exists()


def test_a_service_that_cannot_be_started_is_told(jackdaw: Any, linux: Linux) -> None:
    systemctl = Path(os.environ["PATH"]) / "systemctl"
    systemctl.write_text("#!/bin/sh\necho 'No bus' >&2\nexit 1\n")
    outcome = jackdaw("daemon", "install", "-y")
    assert outcome.code == 1
    assert "failed: No bus" in outcome.err
    assert linux.unit.exists()


def test_without_a_program_or_a_manager_it_says_what_to_do(jackdaw: Any, linux: Linux) -> None:
    commands = Path(os.environ["PATH"])
    (commands / "jackdaw").unlink()
    assert "Install Jackdaw first" in jackdaw("daemon", "install").err
    (commands / "systemctl").unlink()
    assert "no systemd, launchd or Termux" in jackdaw("daemon", "install").err
