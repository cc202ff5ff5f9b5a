from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from shared.errors import UnreadableFile
from shared.types import Document

Read = Callable[..., list[Document]]


def calendar(*entries: str) -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *entries, "END:VCALENDAR", ""])


def event(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT"])


def lines(documents: list[Document]) -> list[str]:
    return [block.text for one in documents for block in one.blocks]


def test_an_event_is_told_in_words(read: Read) -> None:
    entry = event(
        *("UID:dentist@x", "SUMMARY:Dentist", "LOCATION:Dr Stocchi\\, Harbour 3", "STATUS:TENTATIVE"),
        *("DTSTART;TZID=Europe/Rome:20260314T100000", "DTEND;TZID=Europe/Rome:20260314T110000"),
        *('ORGANIZER;CN="Petra":mailto:petra@x.org', "ATTENDEE:MAILTO:bo@x.org", "CATEGORIES:teeth"),
        *("DESCRIPTION:Bring the card.\\nNo coffee", "  before.", "BEGIN:VALARM", "ACTION:DISPLAY", "END:VALARM"),
    )
    (dentist,) = read("a.ics", calendar(entry))
    assert (dentist.key, dentist.kind, dentist.title) == ("dentist@x", "event", "Dentist")
    assert dentist.date is not None
    assert dentist.date.astimezone(UTC) == datetime(2026, 3, 14, 9, tzinfo=UTC)
    assert dentist.people == ("Petra <petra@x.org>", "bo@x.org")
    assert lines([dentist]) == [
        "Dentist: Saturday, 14 March 2026, 10:00–11:00 (Europe/Rome)",
        "Where: Dr Stocchi, Harbour 3",
        "With: Petra <petra@x.org>, bo@x.org",
        "Status: tentative",
        "Categories: teeth",
        "Bring the card.",
        "No coffee before.",
    ]


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (["DTSTART;VALUE=DATE:20260314"], "Saturday, 14 March 2026"),
        (["DTSTART;VALUE=DATE:20260314", "DTEND;VALUE=DATE:20260315"], "Saturday, 14 March 2026"),
        (
            ["DTSTART;VALUE=DATE:20260314", "DTEND;VALUE=DATE:20260317"],
            "Saturday, 14 March 2026 to Monday, 16 March 2026",
        ),
        (["DTSTART:20260314T100000"], "Saturday, 14 March 2026, 10:00"),
        (["DTSTART:20260314T100000Z", "DURATION:PT90M"], "Saturday, 14 March 2026, 10:00–11:30 (UTC)"),
        (
            ["DTSTART:20260314T220000", "DTEND:20260315T010000"],
            "Saturday, 14 March 2026, 22:00 to Sunday, 15 March 2026, 01:00",
        ),
        (["DTSTART;TZID=Nowhere/City:20260314T100000"], "Saturday, 14 March 2026, 10:00"),
        (["DTSTART:20260314T100000", "DTEND;VALUE=DATE:20260315"], "Saturday, 14 March 2026, 10:00"),
    ],
)
def test_times_are_told_in_words(read: Read, times: list[str], told: str) -> None:
    assert lines(read("a.ics", calendar(event("SUMMARY:A", *times))))[0] == f"A: {told}"


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("FREQ=DAILY", "every day"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH;COUNT=5", "every 2 weeks on Tuesday, Thursday, 5 times"),
        ("FREQ=MONTHLY;BYDAY=-1WE", "every month on the last Wednesday"),
        ("FREQ=MONTHLY;BYMONTHDAY=15", "every month on day 15"),
        ("FREQ=YEARLY;UNTIL=20301231T000000Z", "every year until Tuesday, 31 December 2030"),
    ],
)
def test_recurrence_is_told_in_words(read: Read, rule: str, told: str) -> None:
    assert f"Repeats: {told}" in lines(read("a.ics", calendar(event("SUMMARY:A", f"RRULE:{rule}"))))


def test_a_task_has_a_due_date(read: Read) -> None:
    text = calendar("BEGIN:VTODO\r\nUID:t\r\nSUMMARY:Tax\r\nDUE;VALUE=DATE:20260630\r\nEND:VTODO")
    (task,) = read("a.ics", text)
    assert (task.kind, task.date, lines([task])) == (
        "task",
        datetime(2026, 6, 30),
        ["Tax", "Due: Tuesday, 30 June 2026"],
    )


def test_a_moved_time_of_a_repeated_event_has_its_own_key(read: Read) -> None:
    rule = event("UID:row", "SUMMARY:Row", "DTSTART:20260303T061500", "RRULE:FREQ=WEEKLY")
    moved = event("UID:row", "SUMMARY:Row", "DTSTART:20260311T061500", "RECURRENCE-ID:20260310T061500")
    assert [one.key for one in read("a.ics", calendar(rule, moved))] == ["row", "row 2026-03-10T06:15:00"]


@pytest.mark.parametrize(
    "line",
    [
        "DTSTART:99999999",
        "DTSTART:99991231T235959Z",
        "DTSTART:00010101T000000",
        "DURATION:PT99999999999999H",
        "RRULE:FREQ=FOO;INTERVAL=x;BYDAY=99ZZ",
        "RRULE:FREQ=DAILY;INTERVAL=0;COUNT=-1",
        "ATTENDEE;CN=",
        "CATEGORIES",
        "SUMMARY:second",
        "RECURRENCE-ID:nonsense",
    ],
)
def test_a_broken_property_costs_itself_alone(read: Read, line: str) -> None:
    documents = read("a.ics", calendar(event("UID:a", "SUMMARY:A", line), event("UID:b", "SUMMARY:B")))
    assert [(one.title, one.date is None or one.date.year > 1) for one in documents] == [("A", True), ("B", True)]


@pytest.mark.parametrize(
    "text", ["nonsense", "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a", "BEGIN:VCALENDAR\r\nno line\r\n"]
)
def test_what_is_no_calendar_is_refused(read: Read, text: str) -> None:
    with pytest.raises(UnreadableFile):
        read("a.ics", text)
