"""Reading a simulated phone's messages (with consent) and notifications, and asking a question by voice."""

import json
import shlex
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from device_app.ahead import reading
from device_app.knowledge.phone import sources
from device_app.system import voice
from tests.device_app.cli.conftest import Jackdaw, Outcome
from tests.devices import fake_device
from tests.termux import MESSAGES, Phone, Wrong, phone

__all__ = ["phone"]

Printed = Callable[..., Any]


@pytest.fixture(autouse=True)
def on_phone(phone: Phone, jackdaw: Jackdaw, monkeypatch: pytest.MonkeyPatch) -> None:
    jackdaw.make = fake_device
    phone.enter(monkeypatch)


@pytest.fixture
def printed(jackdaw: Jackdaw) -> Printed:
    """Runs a command, and returns the object that it prints."""

    def run(*arguments: str, code: int = 0) -> Any:
        done = jackdaw(*arguments, "--json")
        assert done.code == code, done
        return json.loads(done.out)

    return run


def test_messages_are_read_after_consent_and_forgotten_without_it(
    phone: Phone, jackdaw: Jackdaw, printed: Printed
) -> None:
    assert jackdaw("phone", "sources", "read").code == 3
    assert jackdaw("phone", "sources", "allow", "messages").code == 2
    assert phone.calls("termux-sms-list") == []
    done = printed("phone", "sources", "allow", "messages", "--yes")
    assert (done["documents"], done["codes"]) == (1, 1)
    assert printed("phone", "sources", "allow", "contacts", "--yes")["documents"] == 2
    assert printed("phone", "sources", "allow", "calls", "--yes")["documents"] == 1
    assert phone.calls("termux-sms-list") == [["termux-sms-list", "-l", "100", "-o", "0", "-t", "all"]]
    answer = printed("ask", "What did Anna text about Friday?")
    assert "Anna Lindqvist: Friday works: I bring the blue drill at seven. [1]" in answer["answer"]
    assert answer["quoted"]
    results = printed("search", 'from:"070 123 45 67"', "kind:chat")["files"]["results"]
    assert [each["title"] for each in results] == ["Messages with Anna Lindqvist, 2026-08-12"]
    assert printed("search", "482913", code=3)["files"]["results"] == []
    listed = {each["name"]: each for each in printed("phone", "sources")["sources"]}
    assert listed["messages"]["allowed"]
    assert listed["messages"]["documents"] == 1
    assert printed("phone", "sources", "stop", "messages")["removed"] == 1
    assert jackdaw("search", "drill", "--files").code == 3
    assert jackdaw("phone", "sources", "stop", "messages").code == 3


def test_what_an_interrupted_stop_leaves_is_listed_with_how_to_delete_it(
    jackdaw: Jackdaw, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert printed("phone", "sources", "allow", "contacts", "--yes")["documents"] == 2

    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as waiting:
        waiting.setattr(reading, "alone", interrupted)
        assert jackdaw("phone", "sources", "stop", "contacts").code
    said = " ".join(jackdaw("phone", "sources").out.split())
    assert "2 documents are still stored. To delete them: jackdaw phone sources stop contacts" in said
    assert printed("phone", "sources", "stop", "contacts")["removed"] == 2
    assert "still stored" not in jackdaw("phone", "sources").out


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (Wrong.DENIES, "Android denies"),
        (Wrong.NONSENSE, "update the app"),
        (Wrong.FAILS, "cannot be read"),
        (Wrong.MISSING, "pkg install termux-api"),
    ],
)
def test_a_command_that_goes_wrong_says_what_to_do_and_keeps_no_other_from_being_read(
    how: Wrong, says: str, phone: Phone, jackdaw: Jackdaw, printed: Printed
) -> None:
    phone.goes_wrong(how, "termux-sms-list")
    done = jackdaw("phone", "sources", "allow", "messages", "--yes")
    assert done.code == 1
    assert says in done.err
    assert "Traceback" not in done.err
    jackdaw("phone", "sources", "allow", "contacts", "--yes")
    done = jackdaw("phone", "sources", "read")
    assert done.code == 1
    assert "contacts: 0 documents read" in done.out
    assert says in printed("phone", "sources")["sources"][0]["failure"]


def test_a_command_that_hangs_is_ended_and_read_again_later(
    phone: Phone, jackdaw: Jackdaw, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device_app.system.termux.SILENT_S", 0.0)  # each command is a process of its own
    phone.goes_wrong(Wrong.HANGS, "termux-sms-list")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(sources, "SECONDS", 0.3)
        done = jackdaw("phone", "sources", "allow", "messages", "--yes")
    assert done.code == 1
    assert "did not answer" in done.err
    phone.answers("termux-sms-list", MESSAGES)
    assert printed("phone", "sources", "read")["read"]["messages"]["documents"] == 1


@pytest.mark.long
def test_messages_of_more_than_a_megabyte_are_read_in_smaller_pages(phone: Phone, printed: Printed) -> None:
    long = [{**MESSAGES[0], "_id": place, "body": f"Page {place}. " + "tea " * 4_900} for place in range(60)]
    stored = phone.home / "long.json"
    stored.write_text(json.dumps(long))
    page = (
        f"import json, sys; print(json.dumps(json.load(open({str(stored)!r}))[int(sys.argv[2]) :][: int(sys.argv[1])]))"
    )
    phone.script("termux-sms-list", f"{sys.executable} -c {shlex.quote(page)} $2 $4")
    assert printed("phone", "sources", "allow", "messages", "--yes")["documents"] >= 1
    assert len(phone.calls("termux-sms-list")) > 2
    assert printed("search", '"page 59"')["files"]["results"]


def test_the_daemon_reads_what_is_new(phone: Phone, jackdaw: Jackdaw, printed: Printed) -> None:
    printed("phone", "sources", "allow", "messages", "--yes")
    phone.answers("termux-sms-list", [*MESSAGES, {**MESSAGES[0], "_id": 50, "received": "2026-08-14 08:00:00"}])
    steps = printed("daemon", "run-once")["steps"]
    assert "1 document (1 passage) of your messages" in [step["subject"] for step in steps]


def test_notifications_are_shown_and_not_kept(phone: Phone, jackdaw: Jackdaw, printed: Printed) -> None:
    code = {"packageName": "org.example.bank", "title": "Bank", "content": "Your code is 123456", "when": ""}
    listed = printed("phone", "notifications")["notifications"]
    assert [each["text"] for each in listed] == ["Your parcel arrives on Thursday."]
    phone.answers("termux-notification-list", [code, None, {"title": 3}])
    assert printed("phone", "notifications", "what did I miss?", code=3)["codes_left_out"] == 1
    assert jackdaw("search", "parcel").code == 3
    phone.goes_wrong(Wrong.DENIES, "termux-notification-list")
    assert "Android denies" in jackdaw("phone", "notifications").err


def test_a_question_by_voice_after_consent_is_answered_aloud(phone: Phone, jackdaw: Jackdaw, printed: Printed) -> None:
    (phone.home / "note.md").write_text("# Dentist\n\nThe dentist is on Friday at ten.\n")
    assert jackdaw("add", str(phone.home / "note.md")).code == 0
    done = jackdaw("ask", "--voice")
    assert done.code == 2
    assert "may send the sound" in done.err
    assert "phone.voice true" in done.err
    assert phone.calls("termux-dialog") == []
    assert jackdaw("config", "set", "phone.voice", "true").code == 0
    done = jackdaw("ask", "--voice", "--speak")
    assert "> When is the dentist?" in done.err
    assert phone.input_of("termux-tts-speak") in " ".join(done.out.split())
    assert phone.input_of("termux-tts-speak")
    assert phone.calls("termux-tts-speak") == [["termux-tts-speak"]]
    phone.answers("termux-dialog", {"code": -2, "text": ""})
    assert jackdaw("ask", "--voice").code == 3
    phone.goes_wrong(Wrong.MISSING, "termux-dialog")
    assert "pkg install termux-api" in jackdaw("ask", "--voice").err


def asked_by_voice(jackdaw: Jackdaw) -> Outcome:
    """Give consent and ask by voice, on a phone whose speech recognition fails; check that no question is stored, and
    return the outcome.
    """
    assert jackdaw("config", "set", "phone.voice", "true").code == 0
    done = jackdaw("ask", "--voice")
    assert "\x1b" not in done.out + done.err
    assert "Traceback" not in done.err
    assert jackdaw("history").code == 3
    return done


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (Wrong.HANGS, "termux-dialog did not answer within 0.3 seconds"),
        (Wrong.DENIES, "Android denies termux-dialog its permission"),
        (Wrong.NONSENSE, "termux-dialog prints no valid answer"),
        (Wrong.FAILS, "termux-dialog prints no valid answer"),
    ],
)
def test_a_recogniser_that_goes_wrong_says_what_to_do(
    how: Wrong, says: str, phone: Phone, jackdaw: Jackdaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how is Wrong.HANGS:
        monkeypatch.setattr(voice, "LISTEN_S", 0.3)
    phone.goes_wrong(how, "termux-dialog")
    done = asked_by_voice(jackdaw)
    assert (done.code, done.out) == (1, "")
    assert f"The phone did not listen: {says}" in done.err


@pytest.mark.parametrize(
    ("printed_json", "code"),
    [
        ("", 1),
        ("when is the dentist\n", 1),
        ('{"code": -1, "text": "When', 1),
        ("[" * 100_000, 1),
        ("[]", 1),
        ('"When is the dentist?"', 1),
        ("null", 1),
        ("{}", 3),
        ('{"code": -1, "text": 3}', 3),
        ('{"code": -1, "text": ["When"]}', 3),
        ('{"code": -2, "text": ""}', 3),
        ('{"code": -1, "text": " \\n\\t "}', 3),
    ],
)
def test_a_recogniser_that_prints_no_question_asks_none(
    printed_json: str, code: int, phone: Phone, jackdaw: Jackdaw
) -> None:
    phone.answers("termux-dialog", printed_json)
    done = asked_by_voice(jackdaw)
    assert (done.code, done.out) == (code, "")
    assert ("The phone did not listen" if code == 1 else "Nothing was understood") in done.err


def test_a_spoken_question_is_shown_without_its_escapes(phone: Phone, jackdaw: Jackdaw) -> None:
    (phone.home / "note.md").write_text("# Dentist\n\nThe dentist is on Friday at ten.\n")
    assert jackdaw("add", str(phone.home / "note.md")).code == 0
    assert jackdaw("config", "set", "phone.voice", "true").code == 0
    phone.answers("termux-dialog", {"code": -1, "text": "When is\nthe \x07dentist?\x1b"})
    done = jackdaw("ask", "--voice")
    assert "dentist is on Friday" in done.out
    assert "> When is the dentist?" in done.err
    assert not {"\x1b", "\x07"} & set(done.out + done.err)


@pytest.mark.parametrize(
    "words", [("ask", "--voice"), ("ask", "--speak", "Why?"), ("phone", "notifications"), ("phone", "sources", "read")]
)
def test_on_a_laptop_each_says_what_it_needs(
    words: tuple[str, ...], printed: Printed, jackdaw: Jackdaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed("phone", "sources", "allow", "messages", "--yes")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PREFIX", "/usr")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = jackdaw(*words)
    assert done.code == 1
    assert "Android phone" in done.err
