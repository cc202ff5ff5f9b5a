"""The table of calendar events: stored, deleted with their document, and found by their days."""

import sqlite3
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from shared.types import Block, CalendarEvent, Document, Passage
from storage.database import Database
from storage.events import EventStore
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument
from tests.older_homes import make_store

PATH = b"/home/a.ics"
EVENT = CalendarEvent(
    "u1",
    datetime(2026, 5, 4, 10),
    timedelta(hours=2),
    "Europe/Rome",
    ("FREQ=WEEKLY;UNTIL=20260601T100000",),
    (datetime(2026, 5, 5, 10),),
    (datetime(2026, 5, 11, 10), date(2026, 5, 18)),
    date(2026, 6, 1),
    None,
    3,
    "2026-01-01T00:00:00+00:00",
    "tentative",
    "Harbour",
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KnowledgeStore]:
    database = Database(tmp_path / "jackdaw.db")
    yield KnowledgeStore(database)
    database.close()


def put(store: KnowledgeStore, key: str, event: CalendarEvent | None, text: str = "Rowing") -> None:
    document = Document(key, "event", "Rowing", (Block(text),), event=event)
    vectors = np.ones((1, 4), np.float32)
    with store.database.transaction():
        state = FileState(PATH, 1, 1, "0", "readers")
        file_id = store.open_file(state)
        store.put(file_id, PreparedDocument(document, repr(event), [Passage(text, 0)], vectors))


def stored(
    store: KnowledgeStore, first: date = date(2026, 5, 1), last: date = date(2026, 5, 31)
) -> list[CalendarEvent]:
    return [row.event for row in EventStore(store.database).between(first, last)]


@pytest.mark.parametrize(
    "event",
    [
        EVENT,
        CalendarEvent("u2", date(2026, 5, 4), timedelta(days=1), last=date(2026, 5, 4)),
        CalendarEvent("u3", date(2026, 5, 4), rules=("FREQ=YEARLY",), replaces=date(2026, 5, 3)),
    ],
)
def test_an_event_comes_back_as_it_was_stored(event: CalendarEvent, store: KnowledgeStore) -> None:
    put(store, "a", event)
    assert stored(store) == [event]
    (row,) = EventStore(store.database).between(date(2026, 5, 1), date(2026, 5, 31))
    assert (row.kind, row.title, row.path) == ("event", "Rowing", "/home/a.ics")
    assert store.passages([row.passage])[row.passage].text == "Rowing"


@pytest.mark.parametrize(
    ("first", "last", "is_found"),
    [
        (date(2026, 5, 4), date(2026, 5, 4), True),
        (date(2026, 6, 1), date(2026, 7, 1), True),
        (date(2026, 6, 10), date(2026, 7, 1), False),
        (date(2026, 4, 1), date(2026, 4, 30), False),
        (date.min, date.max, True),
    ],
)
def test_an_event_is_found_by_the_days_from_its_first_to_its_last(
    first: date, last: date, is_found: bool, store: KnowledgeStore
) -> None:
    put(store, "a", EVENT)
    assert bool(stored(store, first, last)) == is_found


def test_an_event_that_lasts_long_or_never_ends_is_found_late(store: KnowledgeStore) -> None:
    put(store, "long", CalendarEvent("l", date(2026, 1, 1), timedelta(days=200), last=date(2026, 1, 1)))
    put(store, "endless", CalendarEvent("e", date(2020, 1, 1), rules=("FREQ=DAILY",)))
    assert len(stored(store)) == 2


def test_every_version_of_an_event_is_found_if_one_of_them_is(store: KnowledgeStore) -> None:
    moved = CalendarEvent("u1", date(2027, 1, 1), last=date(2027, 1, 1), revision=4)
    put(store, "a", EVENT)
    put(store, "b", moved)
    assert stored(store) == [EVENT, moved]


def test_an_event_goes_with_its_document_and_changes_with_it(store: KnowledgeStore) -> None:
    put(store, "a", EVENT)
    put(store, "a", CalendarEvent("u1", date(2026, 5, 9), last=date(2026, 5, 9)), "Rowing")
    assert [event.start for event in stored(store)] == [date(2026, 5, 9)]
    put(store, "a", EVENT, "Rowing, at last")  # other passages
    assert stored(store) == [EVENT]
    put(store, "a", None)
    assert stored(store) == []
    put(store, "a", EVENT)
    with store.database.transaction():
        store.remove_file(PATH)
    assert store.database.execute("SELECT COUNT(*) FROM events") == [(0,)]


def test_calendars_that_an_earlier_version_read_count_as_incomplete_and_other_files_do_not(tmp_path: Path) -> None:
    path = tmp_path / "jackdaw.db"
    make_store(path, 7)
    with sqlite3.connect(path) as connection:
        for number, kind in enumerate(("event", "task", "note"), 1):
            connection.execute("INSERT INTO files VALUES (?, ?, 1, 1, 'x', 'r', 't')", (number, kind.encode()))
            connection.execute(
                "INSERT INTO documents VALUES (?, ?, 'k', 'h', ?, 't', NULL, '[]')", (number, number, kind)
            )
    connection.close()
    database = Database(path)
    assert database.execute("SELECT path FROM files WHERE sha256 IS NULL ORDER BY id") == [(b"event",), (b"task",)]
    database.close()
