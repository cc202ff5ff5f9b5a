"""When events take place: rules, zones, exceptions, versions, within the asked days."""

import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge.recurrence import Occurrence, occurrences, starts
from shared.types import CalendarEvent
from storage.events import StoredEvent

START = datetime(2026, 3, 2, 10)  # a Monday


@pytest.fixture(autouse=True)
def in_the_middle_of_europe(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the device's time zone to Central Europe."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


def stored(event: CalendarEvent, title: str = "Rowing") -> StoredEvent:
    return StoredEvent(event, 1, "event", title, (), "/a.ics")


def event(**changed: object) -> CalendarEvent:
    given = {"uid": "u", "start": START, "lasts": timedelta(hours=1), "zone": "Europe/Rome"} | changed
    return CalendarEvent(**given)  # type: ignore[arg-type]


def between(first: date, last: date, *events: CalendarEvent, most: int = 100) -> list[Occurrence]:
    return occurrences(map(stored, events), first, last, most)


def times(listed: list[Occurrence]) -> list[str]:
    return [f"{occurrence.begins:%d.%m. %H:%M}" for occurrence in listed]


MAY = date(2026, 5, 1), date(2026, 5, 31)
WEEKLY = ("FREQ=WEEKLY;BYDAY=MO",)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"rules": WEEKLY}, ["04.05. 10:00", "11.05. 10:00", "18.05. 10:00", "25.05. 10:00"]),
        ({"rules": ("FREQ=WEEKLY;BYDAY=MO;INTERVAL=3",)}, ["04.05. 10:00", "25.05. 10:00"]),
        ({"rules": ("FREQ=WEEKLY;BYDAY=MO;UNTIL=20260511T100000",)}, ["04.05. 10:00", "11.05. 10:00"]),
        ({"rules": ("FREQ=MONTHLY;BYDAY=-1FR",)}, ["29.05. 10:00"]),
        ({"rules": ("FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=17",)}, ["17.05. 10:00"]),
        (
            {"rules": WEEKLY, "left_out": (datetime(2026, 5, 4, 10), date(2026, 5, 11))},
            ["18.05. 10:00", "25.05. 10:00"],
        ),
        ({"added": (datetime(2026, 5, 9, 12),)}, ["09.05. 12:00"]),
        # In summer as in winter at ten in Rome, and four hours later here than in New York.
        ({"rules": ("FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=17",), "zone": "America/New_York"}, ["17.05. 16:00"]),
        ({"start": datetime(2026, 5, 31, 23, 30), "zone": "UTC"}, []),
        ({"start": datetime(2026, 4, 30, 23, 30), "zone": "UTC"}, ["01.05. 01:30"]),
        ({"start": datetime(2026, 4, 30, 23, 30), "zone": ""}, ["30.04. 23:30"]),
        ({"start": datetime(2026, 4, 30, 23, 0), "lasts": timedelta(hours=1), "zone": ""}, []),
        ({"start": datetime(2026, 5, 9, 9), "zone": "Nowhere/At all"}, ["09.05. 09:00"]),
        ({"start": date(2026, 4, 29), "lasts": timedelta(days=3)}, ["29.04. 00:00"]),
        ({"start": date(2026, 4, 29), "lasts": timedelta(days=2)}, []),
        ({"rules": WEEKLY, "status": "cancelled"}, []),
        ({"rules": ("FREQ=NEVER",)}, []),
    ],
)
def test_an_event_takes_place_on_the_days_that_its_rules_give(changed: dict[str, object], expected: list[str]) -> None:
    last = max(event(**changed).start.year, 2026)
    assert last == 2026
    assert times(between(*MAY, event(**changed))) == expected


def test_a_single_occurrence_is_moved_cancelled_or_replaced_by_a_newer_version() -> None:
    whole = event(rules=WEEKLY)
    moved = event(start=datetime(2026, 5, 12, 18), replaces=datetime(2026, 5, 11, 10), revision=1)
    again = event(start=datetime(2026, 5, 13, 7), replaces=datetime(2026, 5, 11, 10), revision=2)
    off = event(start=datetime(2026, 5, 18, 10), replaces=datetime(2026, 5, 18, 10), status="cancelled")
    away = event(start=datetime(2026, 6, 2, 10), replaces=datetime(2026, 5, 25, 10))
    listed = between(*MAY, again, whole, moved, off, away)
    assert times(listed) == ["04.05. 10:00", "13.05. 07:00", "18.05. 10:00"]
    assert [occurrence.is_cancelled for occurrence in listed] == [False, False, True]
    assert [occurrence.instead_of and f"{occurrence.instead_of:%d.%m.}" for occurrence in listed] == [
        None,
        "11.05.",
        None,
    ]


def test_the_newest_version_of_an_event_in_several_files_counts() -> None:
    old, new = event(start=datetime(2026, 5, 4, 9)), event(start=datetime(2026, 5, 5, 9), stamped="2026-02-01")
    assert times(between(*MAY, old, new)) == times(between(*MAY, new, old)) == ["05.05. 09:00"]
    elsewhere = event(start=datetime(2026, 9, 5, 9), revision=1)
    assert between(*MAY, old, new, elsewhere) == []


def test_what_takes_place_is_listed_by_day_with_whole_days_first() -> None:
    listed = between(
        *MAY,
        event(uid="late", start=datetime(2026, 5, 2, 20)),
        event(uid="early", start=datetime(2026, 5, 2, 8)),
        event(uid="day", start=date(2026, 5, 2)),
        event(uid="before", start=datetime(2026, 5, 1, 23)),
    )
    assert [occurrence.stored.event.uid for occurrence in listed] == ["before", "day", "early", "late"]


def test_of_an_event_that_takes_place_very_often_some_are_listed() -> None:
    hourly = event(rules=("FREQ=HOURLY",))
    assert len(between(*MAY, hourly)) == 100
    assert times(between(*MAY, hourly, most=2)) == ["01.05. 00:00", "01.05. 01:00"]


DAYS = st.lists(st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"]), min_size=1, max_size=3, unique=True)
RULES = st.one_of(
    st.builds(lambda n, days: f"FREQ=WEEKLY;INTERVAL={n};BYDAY={','.join(days)}", st.integers(1, 5), DAYS),
    st.builds(
        lambda n, d: f"FREQ=MONTHLY;INTERVAL={n};BYMONTHDAY={d}", st.integers(1, 7), st.integers(-31, 31).filter(bool)
    ),
    st.builds(
        lambda n, k, day: f"FREQ=MONTHLY;INTERVAL={n};BYDAY={k}{day[0]}", st.integers(1, 7), st.integers(1, 5), DAYS
    ),
    st.builds(
        lambda n, k: f"FREQ=MONTHLY;INTERVAL={n};BYDAY=MO,TU,FR;BYSETPOS={k}", st.integers(1, 3), st.integers(-3, -1)
    ),
    st.builds(
        lambda n, m: f"FREQ=YEARLY;INTERVAL={n};BYMONTH={m};BYMONTHDAY=29", st.integers(1, 4), st.integers(1, 12)
    ),
    st.builds(lambda n: f"FREQ=DAILY;INTERVAL={n}", st.integers(1, 400)),
    st.builds(lambda n: f"FREQ=HOURLY;INTERVAL={n};BYHOUR=0,5,6,11", st.integers(1, 50)),
)


@given(rule=RULES, start=st.datetimes(datetime(1995, 1, 1), datetime(2026, 1, 1)), days=st.integers(0, 12_000))
def test_a_search_that_begins_near_the_days_gives_what_one_from_the_start_gives(
    rule: str, start: datetime, days: int
) -> None:
    start = start.replace(microsecond=0)
    near, end = start + timedelta(days), start + timedelta(days + 900)
    try:
        expected = rrulestr(rule, dtstart=start).between(near, end, inc=True)
        listed = []
        for moment in starts(rule, start, near):
            if moment > end:
                break
            listed += [moment] if moment >= near else []
    except ValueError:  # hours that are never met
        return
    assert listed == expected
