"""A day on a simulated phone, as processes: files are read, questions answered, work is done ahead, and it all ends
well, whatever the phone's commands do and whoever is killed.
"""

import contextlib
import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.termux import ROOT, Phone, Wrong, battery

SOON = {
    "JACKDAW_DAEMON_QUIET_MINUTES": "0",
    "JACKDAW_DAEMON_TEMPERATURE": "150",
    "JACKDAW_DAEMON_LOAD": "1",
}
"""Settings under which work ahead waits for the battery alone."""

DRILL = "Who has the blue drill?"


def add_notes(phone: Phone, *, fakes: bool = True) -> Path:
    """A folder with a note, which was read."""
    folder = phone.home / "notes"
    folder.mkdir()
    (folder / "drill.md").write_text("# Lent\n\nPetra has borrowed the blue drill.\n")
    assert phone.json("add", str(folder), fakes=fakes)["documents"] == 1
    return folder


def test_a_day_on_a_phone(phone: Phone) -> None:
    add_notes(phone)
    phone.answers("termux-battery-status", battery(3))
    asked = phone.json("ask", DRILL, code=None)
    assert asked["origin"] == "device"  # an empty battery keeps nobody from asking
    phone.answers("termux-battery-status", battery(80, "PLUGGED_AC"))
    locked = phone.calls("termux-wake-lock")
    worked = phone.json("daemon", "run-once", "--when-idle", own=SOON)
    assert (worked["stopped"], len(worked["steps"]) > 0) == (None, True)
    assert phone.calls("termux-wake-lock") == locked  # a job of Android's is none of the person's


@pytest.mark.long
def test_an_empty_battery_is_left_alone(phone: Phone) -> None:
    add_notes(phone)
    phone.answers("termux-battery-status", battery(3))
    waits = phone.json("daemon", "run-once", "--when-idle", code=3, own={**SOON, "JACKDAW_DAEMON_MAINS": "false"})
    assert re.fullmatch(r"the battery is under \d+%", waits["stopped"])


@pytest.mark.long
@pytest.mark.parametrize("how", Wrong)
def test_commands_that_go_wrong_keep_nobody_from_work(phone: Phone, how: Wrong) -> None:
    names = [path.name for path in phone.bin.iterdir() if path.name.startswith(("termux-", "sv-", "pm", "getprop"))]
    phone.goes_wrong(how, *names)
    add_notes(phone)
    assert phone.json("ask", DRILL, code=None)["origin"] == "device"
    worked = phone.json("daemon", "run-once", "--when-idle", own=SOON)  # what is unknown counts as fine
    assert worked["steps"]
    facts = phone.json("phone", "status")["facts"]
    assert any(fact["remedy"] for fact in facts)
    assert phone.run("phone", "setup", "-y").returncode == (
        1 if how in (Wrong.FAILS, Wrong.MISSING, Wrong.HANGS) else 0
    )
    assert phone.run("phone", "remove").returncode == 0
    assert phone.run("doctor").returncode in (1, 2)


@pytest.mark.long
def test_unplugged_work_ends_between_two_steps(phone: Phone) -> None:
    folder = add_notes(phone)
    for number in range(200):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nBox {number} is in room {number * 7}.\n")
    phone.answers("termux-battery-status", battery(80, "PLUGGED_AC"))
    command = phone.command("daemon", "run-once", "--when-idle", "--json")
    with subprocess.Popen(
        command, env=phone.environment | SOON, cwd=phone.home, stdout=subprocess.PIPE, text=True
    ) as process:
        while len(phone.calls("termux-battery-status")) < 2:
            time.sleep(0.02)
        phone.answers("termux-battery-status", battery(80))
        said, _ = process.communicate(timeout=60)
    stopped = json.loads(said)["stopped"]
    assert stopped in ("the device runs on battery power", None)  # None: it was done before
    assert phone.json("ask", "Where is box 7?", code=None)["sources"] is not None


@pytest.mark.long
@pytest.mark.parametrize("after_s", [0.3, 0.8, 1.5])
def test_a_job_that_is_killed_leaves_all_whole(phone: Phone, after_s: float) -> None:
    add_notes(phone)
    phone.answers("termux-battery-status", battery(80, "PLUGGED_AC"))
    with subprocess.Popen(
        phone.command("daemon", "run-once"), env=phone.environment, cwd=phone.home, stdout=subprocess.DEVNULL
    ) as process:
        time.sleep(after_s)
        process.kill()
    assert "fail" not in [
        finding["level"] for finding in phone.json("doctor", code=None)["findings"] if finding["check"] == "store"
    ]
    phone.json("daemon", "run-once", "--when-idle", code=None, own=SOON)
    assert phone.calls("termux-wake-lock", "termux-wake-unlock")[-1:] != [["termux-wake-lock"]]
    assert phone.json("ask", DRILL, code=None)["sources"]


@pytest.mark.long
def test_a_job_and_the_app_at_once(phone: Phone, terminal: Callable[..., Any]) -> None:
    add_notes(phone)
    phone.answers("termux-battery-status", battery(80, "PLUGGED_AC"))
    app = terminal(phone.command(), phone.environment, 40, 20)
    app.awaits("ready")
    assert "\x1b[?1003h" not in app.written  # the mouse is the terminal's
    app.types(f"{DRILL}\r")
    app.awaits("Petra")
    done = phone.run("daemon", "run-once", own=SOON)
    assert done.returncode in (0, 3), done.stderr
    app.types("\x1b[A" * 5)  # a swipe
    app.types("/copy\r")
    app.until(lambda: "\x1b]52;c;" in app.written)
    app.types("\x11")
    assert app.ends() == 0


@pytest.mark.long
def test_ctrl_c_and_a_kill_give_the_wake_lock_back(phone: Phone) -> None:
    folder = add_notes(phone)
    for number in range(3_000):
        (folder / f"{number}.md").write_text(f"Note {number} of {number * 7}.")
    for how in (signal.SIGINT, signal.SIGKILL):
        with subprocess.Popen(phone.command("add", str(folder)), env=phone.environment, cwd=phone.home) as process:
            while phone.calls("termux-wake-lock", "termux-wake-unlock")[-1:] != [["termux-wake-lock"]]:
                assert process.poll() is None
                time.sleep(0.02)
            process.send_signal(how)
        if how is signal.SIGKILL:
            assert phone.calls("termux-wake-lock", "termux-wake-unlock")[-1] == ["termux-wake-lock"]
            phone.run("phone", "status")
        assert phone.calls("termux-wake-lock", "termux-wake-unlock")[-1] == ["termux-wake-unlock"]


@pytest.mark.long
def test_a_traveller_sees_the_day_of_the_place(phone: Phone) -> None:
    """Notes of a link carry the time zone; a kept answer and the daemon's budget follow no wall clock."""
    add_notes(phone)
    for zone, offset in (("Asia/Tokyo", "+09:00"), ("America/New_York", "-0")):
        kept = phone.json("phone", "share", f"https://example.org/{offset}", own={"TZ": zone})["kept"]
        assert offset in Path(kept).read_text().rpartition("Shared on ")[2]
    assert phone.json("ask", DRILL, code=None, own={"TZ": "Asia/Tokyo"})["sources"]
    assert phone.json("ask", DRILL, code=None, own={"TZ": "America/New_York"})["sources"]


MOST_AT_REST = 160_000_000
"""Bytes of memory that the app may take until something is typed."""


@pytest.mark.long
@pytest.mark.weights
def test_the_resting_app_takes_little_memory(phone: Phone, terminal: Callable[..., Any], weights: Path) -> None:
    data = phone.home / ".local" / "share" / "jackdaw"
    data.mkdir(parents=True)
    (data / "weights").symlink_to(weights)
    app = terminal(phone.command(fakes=False), phone.environment, 40, 20)
    app.awaits("ready")
    app.settles()
    process = psutil.Process(app._pid)
    assert process.memory_info().rss <= MOST_AT_REST
    assert process.children(recursive=True) == []


MOST_OF_AN_ANSWER = 420_000_000
"""Bytes of memory that an answer of the default model may take at any moment."""


@pytest.mark.long
@pytest.mark.weights
def test_an_answer_of_the_model_takes_little_memory(phone: Phone, weights: Path) -> None:
    data = phone.home / ".local" / "share" / "jackdaw"
    data.mkdir(parents=True)
    (data / "weights").symlink_to(weights)
    add_notes(phone, fakes=False)
    command, most = phone.command("ask", DRILL, "--fresh", "--json", fakes=False), 0
    with subprocess.Popen(
        command, env=phone.environment, cwd=phone.home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            with contextlib.suppress(psutil.Error):  # it ends meanwhile
                most = max(most, watched.memory_info().rss)
            time.sleep(0.01)
        assert process.stdout
        assert json.loads(process.stdout.read())["sources"]
    assert 0 < most <= MOST_OF_AN_ANSWER


@pytest.mark.long
@pytest.mark.weights
def test_the_sample_life_from_the_first_download_to_the_hooks(
    phone: Phone, terminal: Callable[..., Any], weights: Path
) -> None:
    """With the real model and embedder; the battery hangs, messages are denied, the volume is nonsense."""
    phone.goes_wrong(Wrong.HANGS, "termux-battery-status")
    phone.goes_wrong(Wrong.DENIES, "termux-sms-list")
    phone.goes_wrong(Wrong.NONSENSE, "termux-volume")
    data = phone.home / ".local" / "share" / "jackdaw"
    data.mkdir(parents=True)
    (data / "weights").symlink_to(weights)
    pulled = phone.json("models", "pull", fakes=False, code=None)
    assert "error" not in pulled
    report = phone.json("add", str(ROOT / "scripts" / "sample_life"), fakes=False)
    assert (report["documents"] > 100, report["skipped"]) == (True, [])
    answer = phone.json("ask", "Who has Runa's blue drill?", fakes=False)
    assert answer["sources"]
    again = phone.json("ask", "Who has Runa's blue drill?", fakes=False, code=None)
    assert (again["origin"], again["answer"]) == ("qa_bank", answer["answer"])
    worked = phone.json("daemon", "run-once", "--minutes", "1.5", fakes=False, code=None, own=SOON)
    assert worked["steps"]
    app = terminal(phone.command(fakes=False), phone.environment, 40, 20)
    app.awaits("ready")
    app.types("Who has Runa's blue drill?\r")
    app.awaits(answer["answer"].split()[0])
    app.types("\x11")
    assert app.ends() == 0
    assert phone.json("phone", "setup", "-y")["done"] is True
    assert phone.json("doctor", "--report", fakes=False)["model"]["read_tokens_per_s"] > 0
