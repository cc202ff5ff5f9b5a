"""Answers from calendars, as sentences and as records."""

import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from device_app.english.query import parse
from device_app.everyday.agenda import Agenda
from device_app.everyday.rule import Asked, Ruled
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore

NOW = datetime(2026, 11, 25, 9)  # a Wednesday
Ask = Callable[..., Ruled | None]

EVENTS = """
UID:row|SUMMARY:Rowing|LOCATION:Boathouse|DTSTART;TZID=Europe/Rome:20260303T061500|DURATION:PT90M|RRULE:FREQ=WEEKLY;BYDAY=TU,TH
UID:row|SUMMARY:Rowing|DTSTART;TZID=Europe/Rome:20261127T070000|DURATION:PT1H|RECURRENCE-ID;TZID=Europe/Rome:20261126T061500
UID:call|SUMMARY:Call with Petra|DTSTART;TZID=America/New_York:20261126T090000|DURATION:PT30M
UID:dentist|SUMMARY:Dentist|DTSTART;TZID=Europe/Rome:20261130T093000|DURATION:PT1H|STATUS:CANCELLED
UID:dentist2|SUMMARY:Dentist|DTSTART;TZID=Europe/Rome:20261210T110000|DURATION:PT1H
UID:review|SUMMARY:Budget review|DTSTART;TZID=Europe/Rome:20261211T130000|DURATION:PT1H|STATUS:CANCELLED
UID:rehearsed|SUMMARY:Rehearsal|DTSTART;TZID=Europe/Rome:20261005T100000|DURATION:PT1H
UID:rehearsal|SUMMARY:Rehearsal|DTSTART;TZID=Europe/Rome:20261212T130000|DURATION:PT1H|STATUS:CANCELLED
UID:club|SUMMARY:Book club|DTSTART;TZID=Europe/Rome:20240124T200000|DURATION:PT2H|RRULE:FREQ=MONTHLY;COUNT=21
UID:trip|SUMMARY:Kobarid|DTSTART;VALUE=DATE:20261204|DTEND;VALUE=DATE:20261207
UID:lunch|SUMMARY:Lunch with Martina|DTSTART;TZID=Europe/Rome:20261217T120000|DURATION:PT1H
UID:physio|SUMMARY:Physiotherapy|DTSTART;TZID=Europe/Rome:20261218T100000|DURATION:PT1H
UID:old|SUMMARY:Vet|DTSTART;TZID=Europe/Rome:20261005T100000|DURATION:PT1H
UID:noon|SUMMARY:Lunch\\, *with* stars|DTSTART;TZID=Europe/Rome:20261125T123000|DURATION:PT1H
"""
TASKS = (
    "UID:tax|SUMMARY:Tax return|DUE;VALUE=DATE:20261127\nUID:done|SUMMARY:Done|DUE;VALUE=DATE:20261127|STATUS:COMPLETED"
)


@pytest.fixture(autouse=True)
def in_the_middle_of_europe(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the device's time zone to Central Europe."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeStore:
    """A store with a calendar."""
    folder = tmp_path_factory.mktemp("agenda")
    lines = ["BEGIN:VCALENDAR"]
    for kind, entries in (("VEVENT", EVENTS), ("VTODO", TASKS)):
        for entry in entries.strip().split("\n"):
            lines += [f"BEGIN:{kind}", *entry.split("|"), f"END:{kind}"]
    (folder / "a.ics").write_text("\r\n".join([*lines, "END:VCALENDAR", ""]))
    store = KnowledgeStore(Database(folder / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([folder / "a.ics"])
    return store


@pytest.fixture
def ask(store: KnowledgeStore) -> Ask:
    """Ask a question about the calendar."""

    def answer(question: str, **asked: Any) -> Ruled | None:
        now = NOW.astimezone()
        return Agenda(store, known_people(store.database)).answer(Asked(parse(question, now.date()), now, **asked))

    return answer


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is on today?", "Today, Wednesday, 25 November:\n\n- 12:30–13:30 Lunch, *with* stars [1]"),
        ("What is on tomorrow?", "Tomorrow, Thursday, 26 November:\n\n- 15:00–15:30 Call with Petra [1]"),
        (
            "What is on on Friday?",
            "On Friday, 27 November:\n\n- due Tax return [1]\n"
            "- 07:00–08:00 Rowing · moved from Thursday, 26 November, 06:15 [2]",
        ),
        (
            "What is on on Monday?",
            "Nothing is planned on Monday, 30 November.\n\n- cancelled: 09:30–10:30 Dentist [1]\n\n"
            "Next: on Tuesday, 1 December, 06:15–07:45: Rowing · Boathouse [2].",
        ),
        (
            "What is on at the weekend?",
            "Nothing is planned from Saturday, 28 November to Sunday, 29 November.\n\n"
            "Next: on Tuesday, 1 December, 06:15–07:45: Rowing · Boathouse [1].",
        ),
        (
            "How many appointments do I have next week?",
            "3 events from Monday, 30 November to Sunday, 6 December:\n\n**Monday, 30 November**\n\n"
            "- cancelled: 09:30–10:30 Dentist [1]\n\n"
            "**Tuesday, 1 December**\n\n- 06:15–07:45 Rowing · Boathouse [2]\n\n"
            "**Thursday, 3 December**\n\n- 06:15–07:45 Rowing · Boathouse [2]\n\n"
            "**Friday, 4 December**\n\n- until Sunday, 6 December: Kobarid [3]",
        ),
        (
            "What is on on 6 December?",
            "On Sunday, 6 December:\n\n- since Friday, 4 December, all day: Kobarid [1]",
        ),
        ("What is due on Friday?", "On Friday, 27 November:\n\n- due Tax return [1]"),
        (
            "Which deadlines do I have this week?",
            "1 event from Monday, 23 November to Sunday, 29 November:\n\n"
            "**Friday, 27 November**\n\n- due Tax return [1]",
        ),
        ("Am I free tomorrow at 3 pm?", "No:\n\n- 15:00–15:30 Call with Petra [1]"),
        (
            "Am I free tomorrow morning?",
            "Yes, you are free tomorrow, Thursday, 26 November, before 12:00, as far as your calendars say.",
        ),
        ("Am I free tomorrow?", "No, not all day:\n\n- 15:00–15:30 Call with Petra [1]"),
        (
            "Am I free on 5 December?",
            "Yes, you are free on Saturday, 5 December, as far as your calendars say; but there is:\n\n"
            "- since Friday, 4 December, until Sunday, 6 December: Kobarid [1]",
        ),
        ("Am I busy today?", "Yes:\n\n- 12:30–13:30 Lunch, *with* stars [1]"),
        ("Do I have anything on Saturday?", "No, nothing is planned on Saturday, 28 November.\n\nNext: …"),
        ("When is my next rowing?", "On Friday, 27 November, 07:00–08:00: Rowing · moved from …"),
        ("What's next?", "Today, Wednesday, 25 November, 12:30–13:30: Lunch, *with* stars [1]."),
        (
            "When is my dentist appointment?",
            "On Thursday, 10 December, 11:00–12:00: Dentist [1].\n\n"
            "Cancelled: on Monday, 30 November, 09:30–10:30: Dentist [2].",
        ),
        (
            "How long until my dentist appointment?",
            "On Thursday, 10 December, 11:00–12:00: Dentist [1].\n\n"
            "Cancelled: on Monday, 30 November, 09:30–10:30: Dentist [2].\n\nThat is in 15 days.",
        ),
        ("How soon is the budget review?", "Budget review on Friday, 11 December 2026, 13:00 is cancelled [1]."),
        ("When am I seeing the dentist next?", "On Thursday, 10 December, 11:00–12:00: Dentist [1]."),
        ("When is my next dentist appointment?", "On Thursday, 10 December, 11:00–12:00: Dentist [1]."),
        (
            "When is my next vet appointment?",
            "I found no “vet appointment” that is coming up in your calendars. "
            "The last was on Monday, 5 October, 10:00–11:00: Vet [1].",
        ),
        ("When is the budget review?", "Budget review on Friday, 11 December 2026, 13:00 is cancelled [1]."),
        ("When is my next budget review?", "Budget review on Friday, 11 December 2026, 13:00 is cancelled [1]."),
        ("When is my next rehearsal?", "Rehearsal on Saturday, 12 December 2026, 13:00 is cancelled [1]."),
        (
            "When is the book club?",
            "No more “book club” is planned; the last was on Wednesday, 24 September 2025, 20:00–22:00: Book club [1].",
        ),
        ("When is the vet?", "No more “vet” is planned; the last was on Monday, 5 October, 10:00–11:00: Vet [1]."),
        (
            "Do I have rowing tomorrow?",
            "No, “rowing” is not planned tomorrow, Thursday, 26 November.\n\nNext: on Friday…",
        ),
        ("When is my physio appointment?", "On Friday, 18 December, 10:00–11:00: Physiotherapy [1]."),
        ("Do I have rowing on Tuesday?", "Yes, on Tuesday, 1 December:\n\n- 06:15–07:45 Rowing · Boathouse [1]"),
        ("Which meetings with Petra do I have this week?", "1 event from Monday, 23 November to Sunday, 29 November:…"),
    ],
)
def test_what_is_said(ask: Ask, question: str, expected: str) -> None:
    ruled = ask(question)
    assert ruled
    if expected.endswith("…"):
        assert ruled.text.startswith(expected[:-1])
    else:
        assert ruled.text == expected
    assert len(ruled.sources) == len({mark for mark in range(1, 9) if f"[{mark}]" in ruled.text})
    assert ruled.understood.startswith("agenda")


@pytest.mark.parametrize(
    "question",
    [
        "When is my next karate class?",
        "Do I have karate tomorrow?",
        "kind:mail today?",
        "What is due tomorrow?",
        "When is the lunch with Martin?",
    ],
)
def test_what_the_calendars_lack_is_left_to_others(ask: Ask, question: str) -> None:
    assert ask(question) is None


@pytest.mark.parametrize(
    ("before", "question", "same"),
    [
        ("What is on today?", "and tomorrow?", "What is on tomorrow?"),
        ("What is on today?", "And on Friday?", "What is on on Friday?"),
        ("Am I free today?", "what about tomorrow afternoon?", "Am I free tomorrow afternoon?"),
        ("Do I have rowing tomorrow?", "and on Tuesday", "Do I have rowing on Tuesday?"),
    ],
)
def test_a_question_that_names_other_days_follows_the_one_before_it(
    ask: Ask, before: str, question: str, same: str
) -> None:
    ruled, expected = ask(question, before=before), ask(same)
    assert ruled
    assert expected
    assert ruled.text == expected.text
    assert ask(question) is None
    assert ask(question, before="Who is Petra?") is None
    assert ask("and the weather tomorrow?", before=before) is None


@pytest.mark.parametrize(("written", "is_answered"), [("2026-10-04", True), ("2026-11-20", False)])
def test_an_event_that_a_later_mail_may_have_moved_is_left_to_others(
    tmp_path: Path, written: str, is_answered: bool
) -> None:
    (tmp_path / "a.ics").write_text(
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:v\r\nSUMMARY:Vet\r\nDTSTART:20261005T100000\r\n"
        "END:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    (tmp_path / "a.eml").write_text(
        f"From: a@a.example\nTo: b@b.example\nSubject: Vet\n"
        f"Date: {datetime.fromisoformat(written):%a, %d %b %Y} 10:00:00 +0000\n\nThe vet is moved to 7 December."
    )
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path / "a.ics", tmp_path / "a.eml"])
    now = NOW.astimezone()
    agenda = Agenda(store, known_people(store.database))
    for question in ("When is my next vet appointment?", "what time is the vet on 3 december?", "When is the vet?"):
        assert bool(agenda.answer(Asked(parse(question, now.date()), now))) == is_answered
    assert agenda.answer(Asked(parse("When was the vet on 5 October?", now.date()), now))


def records(ruled: Ruled | None) -> list[dict[str, Any]]:
    assert ruled
    return [item.as_json() for item in ruled.items]


def test_the_records_have_the_times_of_this_device(ask: Ask) -> None:
    (record,) = records(ask("What is on tomorrow?"))
    path = record.pop("path")
    assert os.path.basename(path) == "a.ics"  # noqa: PTH119
    assert record == {
        "type": "event",
        "title": "Call with Petra",
        "starts": "2026-11-26T15:00:00+01:00",
        "ends": "2026-11-26T15:30:00+01:00",
        "all_day": False,
        "place": "",
        "status": "",
        "moved_from": "",
        "kind": "event",
    }
    (trip,) = records(ask("What is on on 6 December?"))
    assert (trip["starts"], trip["ends"], trip["all_day"]) == ("2026-12-04", "2026-12-06", True)


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        ("How many events do I have next week?", ["Rowing", "Rowing", "Kobarid"]),
        ("How many events did I have this week?", ["Rowing"]),
        ("How many meetings do I have this week?", ["Call with Petra"]),
    ],
)
def test_what_is_counted(ask: Ask, question: str, titles: list[str]) -> None:
    ruled = ask(question)
    assert ruled
    assert [record["title"] for record in records(ruled)] == titles
    assert ruled.text.startswith(f"{len(titles)} ")


def test_meetings_are_not_counted_where_no_title_names_any(ask: Ask) -> None:
    assert ask("How many meetings did I have in November?") is None
    assert ask("How many meetings do I have next week?") is None


def test_without_calendars_and_without_their_files_nothing_is_said(ask: Ask, tmp_path: Path) -> None:
    empty = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    now = NOW.astimezone()
    assert (
        Agenda(empty, known_people(empty.database)).answer(Asked(parse("What is on today?", now.date()), now)) is None
    )
    ruled = ask("What is on today?")
    assert ruled
    gone = frozenset(os.fsdecode(file.path) for file in ruled.files)
    ruled = ask("What is on today?", gone=gone)
    assert ruled
    assert ruled.text == "Nothing is planned today, Wednesday, 25 November."


def test_of_very_many_events_some_are_shown_and_all_are_records(tmp_path: Path) -> None:
    hourly = ["BEGIN:VEVENT", "UID:h", "SUMMARY:Bell", "DTSTART:20261101T000000", "RRULE:FREQ=HOURLY", "END:VEVENT"]
    (tmp_path / "a.ics").write_text("\r\n".join(["BEGIN:VCALENDAR", *hourly, "END:VCALENDAR", ""]))
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path / "a.ics"])
    now = NOW.astimezone()
    ruled = Agenda(store, known_people(store.database)).answer(Asked(parse("What is on this week?", now.date()), now))
    assert ruled
    assert (len(ruled.items), ruled.text.count("Bell [1]")) == (100, 40)
    assert ruled.text.endswith("… and 60 more events.")
