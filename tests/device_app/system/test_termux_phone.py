"""A phone's commands: what they answer, and what is said where they hang, are denied, print nonsense or are missing."""

import threading
import time
from pathlib import Path

import pytest

from device_app.system import phone as phones
from device_app.system import termux
from device_app.system.termux import Reply, Source
from tests.termux import Phone, Wrong, battery, ended


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"PREFIX": "/data/data/com.termux/files/usr"}, "linux", True),
        ({}, "android", True),
        ({"PREFIX": "/usr/local"}, "linux", False),
        ({}, "darwin", False),
    ],
)
def test_a_phone_is_known_by_its_prefix_or_its_platform(
    environment: dict[str, str], platform: str, expected: bool
) -> None:
    assert phones.is_phone(environment, platform) is expected


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (Wrong.HANGS, "did not answer within 0.2 seconds. Install the app Termux:API"),
        (
            Wrong.DENIES,
            "Android denies termux-battery-status its permission (READ_SMS). Allow it in Android's settings",
        ),
        (Wrong.NONSENSE, "prints no valid answer. Run: pkg upgrade termux-api"),
        (Wrong.FAILS, "prints no valid answer"),
        (Wrong.MISSING, "is not installed. Run: pkg install termux-api"),
    ],
)
def test_a_command_that_goes_wrong_is_named_with_what_to_do(
    phone: Phone, monkeypatch: pytest.MonkeyPatch, how: Wrong, said: str
) -> None:
    phone.enter(monkeypatch)
    value, reply = termux.call_json("termux-battery-status")
    assert (value, reply.problem) == (battery(), "")
    phone.goes_wrong(how, "termux-battery-status")
    value, reply = termux.call_json("termux-battery-status", seconds=0.2 if how is Wrong.HANGS else 60)
    assert value is None
    assert said in reply.problem


def test_a_command_that_timed_out_is_not_waited_for_again_soon(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    phone.enter(monkeypatch)
    monkeypatch.setattr(termux, "SECONDS", 0.2)
    phone.goes_wrong(Wrong.HANGS, "termux-wake-lock")
    said = [termux.call("termux-wake-lock").problem for _ in range(3)]
    assert "did not answer within 0.2 seconds" in said[0]
    assert said == said[:1] * 3
    assert len(phone.calls()) <= 1  # none if it was ended before it noted its call
    monkeypatch.setattr(termux, "SECONDS", 60.0)
    assert termux.call("termux-volume").is_answer  # others are asked
    monkeypatch.setattr(termux, "SILENT_S", 0.0)  # later
    phone.answers("termux-wake-lock", "")
    assert termux.call("termux-wake-lock").is_answer


def test_a_command_that_answers_late_once_is_asked_again(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its app is installed, so one late answer must not count as a missing command: background work has to see when the
    phone is unplugged.
    """
    phone.enter(monkeypatch)
    monkeypatch.setattr(termux, "SECONDS", 60.0)
    assert termux.call("termux-battery-status").is_answer
    phone.goes_wrong(Wrong.HANGS, "termux-battery-status")
    assert termux.call("termux-battery-status", seconds=0.2).problem
    phone.answers("termux-battery-status", battery(3))
    assert b'"percentage": 3' in termux.call("termux-battery-status").printed


def test_a_command_that_waited_for_others_in_vain_is_not_taken_for_silent(
    phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    phone.enter(monkeypatch)
    over = threading.Event()
    names = ("termux-dialog", "termux-sms-list")  # as many as run at a time
    phone.goes_wrong(Wrong.HANGS, *names)
    threads = [
        threading.Thread(target=termux.call, args=(name,), kwargs={"seconds": 600, "is_over": over.is_set})
        for name in names
    ]
    for thread in threads:
        thread.start()
    while len(phone.calls()) < 2:
        time.sleep(0.005)
    reply = termux.call("termux-battery-status", seconds=0.2)
    over.set()
    for thread in threads:
        thread.join(60)
    assert phone.calls("termux-battery-status") == []
    assert "other commands" in reply.problem
    assert termux.call("termux-battery-status", seconds=60).is_answer


def test_a_person_who_says_nothing_is_asked_again(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    phone.enter(monkeypatch)
    monkeypatch.setattr(termux, "SECONDS", 0.1)
    phone.goes_wrong(Wrong.HANGS, "termux-dialog")
    assert termux.call("termux-dialog", "speech", seconds=0.3).problem
    phone.answers("termux-dialog", "{}")
    assert termux.call("termux-dialog", "speech", seconds=60).is_answer


def test_a_call_ends_once_it_is_over_also_while_it_waits_for_others(
    phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    phone.enter(monkeypatch)
    over = threading.Event()
    names = ("termux-volume", "termux-toast", "termux-wake-lock")  # more than run at a time
    phone.goes_wrong(Wrong.HANGS, *names)
    replies: list[Reply] = []

    def call(name: str) -> None:
        replies.append(termux.call(name, seconds=600, is_over=over.is_set))

    threads = [threading.Thread(target=call, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    while len(phone.calls()) < 2:
        time.sleep(0.005)
    over.set()
    for thread in threads:
        thread.join(60)
    assert [reply.problem.partition(" was ")[2] for reply in replies] == ["ended before it answered"] * 3
    phone.answers("termux-volume", "")
    assert termux.call("termux-volume", seconds=60).is_answer  # it was not silent


def test_a_command_that_is_sent_is_not_waited_for_and_ends_all_the_same(
    phone: Phone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    phone.enter(monkeypatch)
    monkeypatch.setattr(termux, "SECONDS", 3.0)
    process = tmp_path / "process"
    phone.script("termux-wake-unlock", f"echo $$ > {process}.new; mv {process}.new {process}; exec sleep 600")
    began = time.monotonic()
    termux.send("termux-wake-unlock")
    assert time.monotonic() - began < 3
    while not process.exists():
        time.sleep(0.005)
    assert ended(int(process.read_text()))


def test_an_answer_nested_too_deeply_is_no_answer(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    phone.enter(monkeypatch)
    phone.answers("termux-battery-status", "[" * 1_900 + '"error"')
    _, reply = termux.call_json("termux-battery-status")
    assert "prints no valid answer" in reply.problem


def test_commands_are_found_without_a_path(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    phone.enter(monkeypatch)
    monkeypatch.setenv("PATH", "/nowhere")
    assert termux.find("termux-wake-lock") == str(phone.bin / "termux-wake-lock")


@pytest.mark.parametrize(
    ("version", "release", "listed", "wrong"),
    [
        ("0.119.0", "F_DROID", {"com.termux": "org.fdroid.fdroid", "com.termux.api": "org.fdroid.fdroid"}, ""),
        ("0.119.0", "GITHUB", {"com.termux": "", "com.termux.api": ""}, ""),
        ("0.119.0", "GITHUB", {}, ""),
        ("googleplay.2026.02.11", "", {}, "from the Play Store: that build lacks messages"),
        ("0.119.0", "", {"com.termux": "com.android.vending"}, "from the Play Store: that build lacks messages"),
        (
            "0.119.0",
            "F_DROID",
            {"com.termux": "org.fdroid.fdroid", "com.termux.api": "com.android.vending"},
            "com.termux.api is from the Play Store and Termux is not",
        ),
    ],
)
def test_a_mix_of_places_is_noticed(version: str, release: str, listed: dict[str, str], wrong: str) -> None:
    environment = {"TERMUX_VERSION": version, "TERMUX_APK_RELEASE": release}
    said = termux.mixed(environment, [Source(app, installer) for app, installer in listed.items()])
    assert wrong in said
    assert bool(wrong) == bool(said)


def test_where_the_apps_are_from_is_read(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    phone.enter(monkeypatch)
    assert termux.sources() == [
        Source("com.termux", "org.fdroid.fdroid"),
        Source("com.termux.api", "org.fdroid.fdroid"),
    ]
    phone.answers("pm", "package:com.termux  installer=null\nnonsense\n")
    assert termux.sources() == [Source("com.termux", "")]
    phone.goes_wrong(Wrong.MISSING, "pm")
    assert termux.sources() == []


def test_a_denied_storage_is_told_from_a_missing_file(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, outside = phone.home / "storage" / "shared", phone.home / "notes"
    phone.enter(monkeypatch)
    assert "termux-setup-storage" in phones.storage_advice(shared / "letter.pdf")  # never asked for
    assert "termux-setup-storage" in phones.storage_advice(Path("/storage/emulated/99/letter.pdf"))
    assert phones.storage_advice(outside / "letter.pdf") == ""
    shared.mkdir(parents=True)
    assert phones.storage_advice(shared / "letter.pdf") == ""  # it may be read, so the file is missing
    shared.rmdir()
    monkeypatch.undo()
    assert phones.storage_advice(shared / "letter.pdf") == ""  # no phone
