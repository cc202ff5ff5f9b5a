"""When calendar entries take place, and the reports about entries whose times cannot be computed."""

import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from device_app.knowledge import readers
from device_app.knowledge.recurrence import zone_of
from shared.types import CalendarEvent

Events = Callable[..., list[CalendarEvent]]
VIENNA = (
    "BEGIN:VTIMEZONE\r\nTZID:Own zone\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nTZOFFSETFROM:+0200\r\n"
    "TZOFFSETTO:+0100\r\nRRULE:FREQ={};BYMONTH=10;BYDAY=-1SU\r\nEND:STANDARD\r\nBEGIN:DAYLIGHT\r\n"
    "DTSTART:19700329T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\n"
    "END:DAYLIGHT\r\nEND:VTIMEZONE"
)


@pytest.fixture(autouse=True)
def in_the_middle_of_europe(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the device's time zone to Central Europe."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def omitted() -> list[str]:
    """Return what the reader left out of a calendar."""
    return []


@pytest.fixture
def read(tmp_path: Path, omitted: list[str]) -> Events:
    """The events of a calendar with these lines."""

    def events(*lines: str) -> list[CalendarEvent]:
        path = tmp_path / "a.ics"
        path.write_text("\r\n".join(["BEGIN:VCALENDAR", *lines, "END:VCALENDAR", ""]))
        return [document.event for document in readers.read(path, on_omitted=omitted.append) if document.event]

    return events


def entry(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", "UID:u", "SUMMARY:A", *lines, "END:VEVENT"])


def test_an_event_is_read_with_its_zone_version_and_exceptions(read: Events, omitted: list[str]) -> None:
    (event,) = read(
        entry(
            *("DTSTART;TZID=Europe/Rome:20260314T100000", "DTEND;TZID=Europe/Rome:20260314T113000", "SEQUENCE:3"),
            *("RRULE:FREQ=WEEKLY;BYDAY=SA;COUNT=4", "LOCATION:Harbour\\, pier 2", "STATUS:CONFIRMED"),
            *("EXDATE;TZID=Europe/Rome:20260321T100000", "EXDATE:20260328T090000Z", "RDATE;VALUE=DATE:20260501"),
            "DTSTAMP:20260101T080000Z",
        )
    )
    assert event == CalendarEvent(
        uid="u",
        start=datetime(2026, 3, 14, 10),
        lasts=timedelta(minutes=90),
        zone="Europe/Rome",
        rules=("FREQ=WEEKLY;BYDAY=SA;UNTIL=20260404T100000",),
        added=(date(2026, 5, 1),),
        left_out=(datetime(2026, 3, 21, 10), datetime(2026, 3, 28, 10)),
        last=date(2026, 5, 1),
        revision=3,
        stamped="2026-01-01T08:00:00+00:00",
        status="confirmed",
        place="Harbour, pier 2",
    )
    assert omitted == []


@pytest.mark.parametrize(
    ("lines", "start", "lasts", "zone"),
    [
        (["DTSTART;VALUE=DATE:20260314"], date(2026, 3, 14), timedelta(), ""),
        (["DTSTART;VALUE=DATE:20260314", "DTEND;VALUE=DATE:20260317"], date(2026, 3, 14), timedelta(days=3), ""),
        (["DTSTART:20260314T100000"], datetime(2026, 3, 14, 10), timedelta(), ""),
        (["DTSTART:20260314T100000Z", "DURATION:PT90M"], datetime(2026, 3, 14, 10), timedelta(minutes=90), "UTC"),
        (["DTSTART:20260314T100000", "DTEND:20260314T090000"], datetime(2026, 3, 14, 10), timedelta(), ""),
        (["DTSTART:20260314T100000", "DURATION:P99999D"], datetime(2026, 3, 14, 10), timedelta(days=3660), ""),
    ],
)
def test_start_length_and_zone(read: Events, lines: list[str], start: date, lasts: timedelta, zone: str) -> None:
    (event,) = read(entry(*lines))
    assert (event.start, event.lasts, event.zone) == (start, lasts, zone)


@pytest.mark.parametrize(
    ("rule", "expected", "last"),
    [
        ("FREQ=DAILY", "FREQ=DAILY", None),
        ("FREQ=MONTHLY", "FREQ=MONTHLY;BYMONTHDAY=14", None),
        ("FREQ=YEARLY", "BYMONTH=3;FREQ=YEARLY;BYMONTHDAY=14", None),
        ("FREQ=DAILY;UNTIL=20260320T090000Z", "FREQ=DAILY;UNTIL=20260320T100000", date(2026, 3, 20)),
        ("FREQ=DAILY;UNTIL=20260320", "FREQ=DAILY;UNTIL=20260320T235959", date(2026, 3, 20)),
        ("FREQ=DAILY;COUNT=1", "FREQ=DAILY;UNTIL=20260314T100000", date(2026, 3, 14)),
    ],
)
def test_a_rule_is_kept_with_its_own_days_and_an_end_instead_of_a_count(
    read: Events, omitted: list[str], rule: str, expected: str, last: date | None
) -> None:
    (event,) = read(entry("DTSTART;TZID=Europe/Rome:20260314T100000", f"RRULE:{rule}"))
    assert (event.rules, event.last, omitted) == ((expected,), last, [])


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31", "names a day that never comes"),
        ("FREQ=DAILY;UNTIL=20200101", "names a day that never comes"),
        ("FREQ=SECONDLY", "cannot be worked out"),
        ("FREQ=HOURLY;BYMINUTE=0,1,2,3,4,5,6,7,8,9,10,11,12,13", "cannot be worked out"),
        ("FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;BYHOUR=3;COUNT=10000", "cannot be worked out"),
        ("FREQ=DAILY;INTERVAL=0", "cannot be worked out"),
        ("FREQ=DAILY;INTERVAL=99999999999999", "cannot be worked out"),
        ("RSCALE=CHINESE;FREQ=YEARLY", "cannot be worked out"),
        ("FREQ=FOO", "cannot be worked out"),
    ],
)
def test_a_rule_that_gives_nothing_is_named_and_leaves_the_event_at_its_date(
    read: Events, omitted: list[str], rule: str, said: str
) -> None:
    (event,) = read(entry("DTSTART:20260314T100000", f"RRULE:{rule}"))
    assert (event.rules, event.last) == ((), date(2026, 3, 14))
    assert omitted == [f"a rule of repetition {said}"]


def test_of_very_many_times_the_first_are_read(read: Events, omitted: list[str]) -> None:
    (event,) = read(entry("DTSTART:20260314T100000", "RRULE:FREQ=DAILY;COUNT=1000000"))
    assert event.last == date(2026, 3, 14) + timedelta(days=9_999)
    assert omitted == ["an event takes place more than 10,000 times, and only these were read"]


def test_times_are_counted_for_a_hundred_years(read: Events, omitted: list[str]) -> None:
    (event,) = read(entry("DTSTART:20260314T100000", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;COUNT=10000"))
    assert event.last == date(2124, 2, 29)
    assert omitted == ["an event is repeated for more than 100 years, and only these were read"]


@pytest.mark.parametrize("rule", ["FREQ=WEEKLY;COUNT=60", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29", "FREQ=YEARLY;COUNT=20"])
def test_a_file_has_a_bounded_number_of_days_tried(
    read: Events, omitted: list[str], monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    monkeypatch.setattr("device_app.knowledge.readers.schedules._MOST_TRIED", 100)
    events = read(*[entry("DTSTART:20260314T100000", f"RRULE:{rule}")] * 4)
    assert {bool(event.rules) for event in events} == {True, False}
    assert any("a rule of repetition cannot be worked out" in each for each in omitted)


def test_rules_in_vain_are_tried_a_few_times_alone(
    read: Events, omitted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device_app.knowledge.readers.schedules._MOST_UNMATCHED", 2)
    read(*[entry("DTSTART:20260314T100000", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31")] * 5)
    assert omitted == [
        "a rule of repetition names a day that never comes (2 times)",
        "a rule of repetition cannot be worked out (3 times)",
    ]


def test_a_zone_of_the_calendar_itself_is_kept_and_an_unknown_one_is_named(read: Events, omitted: list[str]) -> None:
    own, unknown = read(
        VIENNA.format("YEARLY"),
        entry("DTSTART;TZID=Own zone:20260714T100000"),
        entry("DTSTART;TZID=Mars/Base:20260714T100000"),
    )
    zone = zone_of(own.zone)
    assert isinstance(own.start, datetime)
    assert own.start.replace(tzinfo=zone).utcoffset() == timedelta(hours=2)
    assert (unknown.start, unknown.zone) == (datetime(2026, 7, 14, 10), "")
    assert omitted == ["the time zone “Mars/Base” is not known, so its times are read as local"]


def test_a_zone_that_changes_the_clock_every_second_is_not_used(read: Events, omitted: list[str]) -> None:
    (event,) = read(VIENNA.format("SECONDLY"), entry("DTSTART;TZID=Own zone:20260714T100000"))
    assert event.zone == ""
    assert omitted


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("DTSTART:20260231T100000", "an event has a date that does not exist"),
        ("DTSTART;VALUE=DATE:20260231", "an event has a date that does not exist"),
        ("DTSTART:20260214T100000\r\nRECURRENCE-ID:20260231T100000", "an event has a date that does not exist"),
    ],
)
def test_a_date_that_does_not_exist_is_named(read: Events, omitted: list[str], line: str, said: str) -> None:
    assert read(entry(line)) == []
    assert omitted == [said]


def test_a_cancelled_calendar_cancels_its_events_and_a_moved_date_names_the_one_it_replaces(
    read: Events, omitted: list[str]
) -> None:
    start, replaced = "DTSTART;TZID=Europe/Rome:20260315T100000", "RECURRENCE-ID:20260314T090000Z"
    (event,) = read("METHOD:CANCEL", entry(start, replaced))
    assert (event.status, event.replaces, omitted) == ("cancelled", datetime(2026, 3, 14, 10), [])
    (event,) = read(entry(start, replaced.replace(":", ";RANGE=THISANDFUTURE:", 1)))
    assert omitted == ["a change to all later dates of an event was read for its own date alone"]


def test_a_task_takes_place_when_it_is_due_and_events_without_uid_stay_apart(read: Events) -> None:
    task = "BEGIN:VTODO\r\nSUMMARY:Tax\r\nSTATUS:COMPLETED\r\nDUE;VALUE=DATE:20260630\r\nEND:VTODO"
    nameless = [f"BEGIN:VEVENT\r\nSUMMARY:Tea\r\nDTSTART:2026031{day}T100000\r\nEND:VEVENT" for day in (4, 5)]
    tax, *teas = read(task, *nameless)
    assert (tax.start, tax.status) == (date(2026, 6, 30), "completed")
    assert len({tea.uid for tea in teas}) == 2
