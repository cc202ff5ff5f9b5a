"""Which event a message moves or cancels: several messages about it, events of the same name, any order of messages."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from datetime import date, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge.announced import Announced, announced
from device_app.knowledge.event_notices import Dated, event_name, is_moved_to, key, of_events, spans
from device_app.knowledge.recurrence import Occurrence
from shared.types import CalendarEvent, StoredPassage
from storage.events import StoredEvent

MONDAY = date(2026, 11, 23)
STAMPED = "2026-11-10T08:00:00+00:00"
LUCIA = "Lucia Conti <lucia@conti.example>"


def event(title: str, begins: datetime, uid: str = "", people: Sequence[str] = (), stamped: str = STAMPED) -> Dated:
    calendar = CalendarEvent(uid or title, begins, timedelta(hours=1), stamped=stamped)
    stored = StoredEvent(calendar, 1, "event", title, tuple(people), "/a.ics")
    name = event_name(title, "", people, lambda word: word in ("petra", "martina", "lucia"))
    return Dated(Occurrence(begins, begins + timedelta(hours=1), stored), name)


def mail(text: str, day: int, title: str = "Hello", writer: str = LUCIA) -> list[Announced]:
    passage = StoredPassage(
        day, text, 0, 1, None, day, title, "mail", f"2026-11-{day:02}T11:00:00+01:00", (writer,), "/m"
    )
    return list(announced(passage, frozenset()))


CHOIR = event("Choir rehearsal", datetime(2026, 11, 27, 19))
CLUB = event("Book club", datetime(2026, 11, 26, 20))
OFF = mail("The choir rehearsal on Friday is cancelled.", 23)
MOVED = mail("The choir rehearsal is moved from Friday to Saturday.", 23)
MOVED_AGAIN = mail("The choir rehearsal is moved from Saturday to Sunday at 10:00.", 24)
BACK = mail("The choir rehearsal is moved back to Friday, 19:00.", 25)
ON = mail("The choir rehearsal is not cancelled, it takes place as planned.", 25)


@pytest.mark.parametrize(
    ("messages", "quoted_days"),
    [
        ([OFF], [23]),
        ([MOVED, MOVED_AGAIN], [24, 23]),
        ([MOVED_AGAIN], []),  # from a day that nobody has named before
        ([MOVED, BACK], []),
        ([MOVED, MOVED_AGAIN, BACK], []),
        ([OFF, ON], []),
        ([ON], []),
    ],
)
def test_of_several_messages_the_newest_comes_first(messages: list[list[Announced]], quoted_days: list[int]) -> None:
    changed = of_events([CLUB, CHOIR], [each for message in messages for each in message])
    assert [each.written.day for each in changed.get(key(CHOIR.occurrence), ())] == quoted_days
    assert key(CLUB.occurrence) not in changed


def test_a_message_that_fits_two_events_is_of_neither() -> None:
    theatre = event("Theatre rehearsal", datetime(2026, 11, 27, 20))
    message = mail("The rehearsal on Friday is cancelled.", 23)
    assert of_events([CHOIR], message)
    assert not of_events([CHOIR, theatre], message)


def test_a_meeting_is_not_one_of_several_meetings() -> None:
    meetings = [event(f"{name} meeting", datetime(2026, 11, 27, at)) for at, name in ((9, "Team"), (11, "Project"))]
    assert not of_events(meetings, mail("The meeting on Friday is cancelled.", 23))
    assert list(of_events(meetings, mail("The team meeting on Friday is cancelled.", 23))) == [
        key(meetings[0].occurrence)
    ]


def test_a_message_is_read_once_for_all_events_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    read, near = list[Announced](), Announced.near

    def counted(each: Announced, needed: Collection[str]) -> list[str]:
        read.append(each)
        return near(each, needed)

    monkeypatch.setattr(Announced, "near", counted)
    days = [CHOIR.day + timedelta(weeks=week) for week in range(200)]
    series = [event("Choir rehearsal", datetime(day.year, day.month, day.day, 19), str(day)) for day in days]
    of_events(series, mail("The choir rehearsal is cancelled because of the singers' cold.", 23))
    assert len(read) == 1


def test_of_events_in_a_row_that_of_the_named_week_is_meant() -> None:
    later = event("Choir rehearsal", datetime(2026, 12, 4, 19), "later")
    moved = mail("The choir rehearsal is moved to Thursday, 3 December.", 23)
    open_ = mail("The choir rehearsal is cancelled.", 23)
    assert list(of_events([CHOIR, later], moved)) == [key(later.occurrence)]
    assert list(of_events([CHOIR, later], open_)) == [key(CHOIR.occurrence)]


@pytest.mark.parametrize(
    ("stamped", "is_shown"),
    [("", True), ("2026-11-23T09:59:00+00:00", True), ("2026-11-23T10:01:00+00:00", False), ("2026-11-24", False)],
)
def test_an_entry_that_was_changed_after_the_message_stands(stamped: str, *, is_shown: bool) -> None:
    choir = event("Choir rehearsal", datetime(2026, 11, 27, 19), stamped=stamped)
    assert bool(of_events([choir], OFF)) == is_shown


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on friday, 27 november", [date(2026, 11, 27)]),
        ("on friday", [date(2026, 11, 27)]),
        ("today", [MONDAY]),
        ("on 20 november 2026", []),
        ("on monday", [MONDAY, date(2026, 11, 30)]),
        ("in 2026", []),
    ],
)
def test_days_from_the_writing_on(text: str, days: list[date]) -> None:
    assert [first for first, last in spans(text, MONDAY) if first == last] == days


def test_where_a_message_moves_an_event() -> None:
    changed = of_events([CHOIR], MOVED)
    assert is_moved_to(CHOIR.occurrence, date(2026, 11, 28), date(2026, 11, 28), changed)
    assert not is_moved_to(CHOIR.occurrence, date(2026, 11, 29), date(2026, 11, 30), changed)
    assert not is_moved_to(CLUB.occurrence, date(2026, 11, 28), date(2026, 11, 28), changed)


SENTENCES = (
    "The choir rehearsal on Friday is cancelled.",
    "The book club is moved to Sunday.",
    "We start at 4 instead of 3.",
    "The rehearsal is not cancelled.",
    "It stays on Thursday.",
    "The theatre rehearsal is off.",
    "No book club on Thursday.",
    "Shall we move the book club?",
    "The trains are cancelled.",
    "Hello all.",
)


@given(
    st.lists(st.tuples(st.lists(st.sampled_from(SENTENCES), max_size=4), st.integers(1, 30)), max_size=4),
    st.lists(st.tuples(st.sampled_from(("Choir rehearsal", "Book club", "Yoga")), st.integers(1, 30)), max_size=4),
    st.integers(),
)
def test_whatever_is_written_only_newer_messages_that_name_an_event_count(
    written: list[tuple[list[str], int]], planned: list[tuple[str, int]], seed: int
) -> None:
    messages = [each for texts, day in written for each in mail(" ".join(texts), day)] if written else []
    events = [event(title, datetime(2026, 11, day, 19), f"{title}{day}") for title, day in planned]
    changed = of_events(events, messages)
    by_key: Mapping[Hashable, Dated] = {key(each.occurrence): each for each in events}
    for about, quoted in changed.items():
        assert quoted
        assert [each.written for each in quoted] == sorted((each.written for each in quoted), reverse=True)
        assert all(date(2026, 11, 10) <= each.written <= by_key[about].day for each in quoted)
        assert all(by_key[about].name.needed & each.scope for each in quoted)
    assert not any("Yoga" in str(about) for about in changed)
    Random(seed).shuffle(events)
    assert of_events(events, messages).keys() == changed.keys()
