import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from shared.errors import UnreadableFile
from shared.types import Document

Read = Callable[..., list[Document]]


@pytest.fixture(autouse=True)
def in_the_middle_of_europe(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the device's time zone to Central Europe."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


def calendar(*entries: str) -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *entries, "END:VCALENDAR", ""])


def event(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT"])


def lines(documents: list[Document]) -> list[str]:
    return [block.text for document in documents for block in document.blocks]


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
    ("times", "expected"),
    [
        (["DTSTART;VALUE=DATE:20260314"], "Saturday, 14 March 2026"),
        (["DTSTART;VALUE=DATE:20260314", "DTEND;VALUE=DATE:20260315"], "Saturday, 14 March 2026"),
        (
            ["DTSTART;VALUE=DATE:20260314", "DTEND;VALUE=DATE:20260317"],
            "Saturday, 14 March 2026 to Monday, 16 March 2026",
        ),
        (["DTSTART:20260314T100000"], "Saturday, 14 March 2026, 10:00"),
        (["DTSTART:20260314T100000Z", "DURATION:PT90M"], "Saturday, 14 March 2026, 11:00–12:30 (CET)"),
        (["DTSTART;TZID=Etc/UTC:20260714T100000"], "Tuesday, 14 July 2026, 12:00 (CEST)"),
        (["DTSTART;TZID=Europe/London:20260314T100000"], "Saturday, 14 March 2026, 10:00 (Europe/London)"),
        (
            ["DTSTART:20260314T220000", "DTEND:20260315T010000"],
            "Saturday, 14 March 2026, 22:00 to Sunday, 15 March 2026, 01:00",
        ),
        (
            ["DTSTART;TZID=Europe/Rome:20260314T062000", "DTEND;TZID=Europe/Lisbon:20260314T082500"],
            "Saturday, 14 March 2026, 06:20 (Europe/Rome) to Saturday, 14 March 2026, 08:25 (Europe/Lisbon)",
        ),
        (["DTSTART;TZID=Nowhere/City:20260314T100000"], "Saturday, 14 March 2026, 10:00"),
        (["DTSTART:20260314T100000", "DTEND;VALUE=DATE:20260315"], "Saturday, 14 March 2026, 10:00"),
    ],
)
def test_times_are_told_in_words(read: Read, times: list[str], expected: str) -> None:
    assert lines(read("a.ics", calendar(event("SUMMARY:A", *times))))[0] == f"A: {expected}"


@pytest.mark.parametrize(
    ("zone", "expected", "date"),
    [
        ("America/New_York", "Saturday, 14 March 2026, 19:30 (America/New_York)", "2026-03-14T19:30:00-04:00"),
        ("UTC", "Saturday, 14 March 2026, 23:30 (UTC)", "2026-03-14T23:30:00+00:00"),
        ("Nowhere/City", "Sunday, 15 March 2026, 00:30 (CET)", "2026-03-15T00:30:00+01:00"),
        ("../../etc", "Sunday, 15 March 2026, 00:30 (CET)", "2026-03-15T00:30:00+01:00"),
    ],
)
def test_times_in_utc_are_told_in_the_calendars_zone(read: Read, zone: str, expected: str, date: str) -> None:
    given = event("SUMMARY:A", "DTSTART:20260314T233000Z", "RECURRENCE-ID:20260314T233000Z")
    (document,) = read("a.ics", calendar(f"X-WR-TIMEZONE:{zone}", given))
    assert lines([document])[0] == f"A: {expected}"
    assert document.date == datetime.fromisoformat(date)
    assert document.date.isoformat() == date
    assert document.key == "A 2026-03-14T23:30:00+00:00"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("FREQ=DAILY", "every day"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH;COUNT=5", "every 2 weeks on Tuesday, Thursday, 5 times"),
        ("FREQ=MONTHLY;BYDAY=-1WE", "every month on the last Wednesday"),
        ("FREQ=MONTHLY;BYMONTHDAY=15", "every month on day 15"),
        ("FREQ=YEARLY;UNTIL=20301230T233000Z", "every year until Tuesday, 31 December 2030"),
    ],
)
def test_recurrence_is_told_in_words(read: Read, rule: str, expected: str) -> None:
    assert f"Repeats: {expected}" in lines(read("a.ics", calendar(event("SUMMARY:A", f"RRULE:{rule}"))))


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
    assert [document.key for document in read("a.ics", calendar(rule, moved))] == ["row", "row 2026-03-10T06:15:00"]


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
    assert [(document.title, document.date is None or document.date.year > 1) for document in documents] == [
        ("A", True),
        ("B", True),
    ]


@pytest.mark.parametrize(
    "cut",
    [
        "END:VCALENDAR",
        "\r\nEND:VCALENDAR",
        "ENT\r\nEND:VCALENDAR",
        "END:VEVENT",
        "DESCRIPTION:T",
        "ION:T",
        "er as ever",
    ],
)
def test_a_cut_calendar_keeps_what_it_has(read: Read, cut: str) -> None:
    whole = calendar(
        event("UID:a", "SUMMARY:A"),
        event(
            "UID:b",
            "SUMMARY:B",
            "BEGIN:VALARM",
            "ACTION:DISPLAY",
            "END:VALARM",
            "DESCRIPTION:Tea at Pet",
            " er as ever",
        ),
    )
    assert [document.title for document in read("a.ics", whole[: whole.rindex(cut)])] == ["A", "B"]


@pytest.mark.parametrize(
    "text", ["nonsense", "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a", "BEGIN:VCALENDAR\r\nno line\r\n"]
)
def test_what_is_no_calendar_is_refused(read: Read, text: str) -> None:
    with pytest.raises(UnreadableFile):
        read("a.ics", text)
