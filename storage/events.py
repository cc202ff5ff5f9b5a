"""The table of the times of calendar entries. Independent of the rules of recurrence."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from shared.types import CalendarEvent, Moment
from storage.database import Database
from storage.passages import show

_ANYWHERE: Final = timedelta(days=2)
"""The margin by which a search for a day is widened, because an event's day in its own time zone may differ from the
device's day.
"""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its document. `passage` is the id of the document's first passage, `path` is printable."""

    event: CalendarEvent
    passage: int
    kind: str
    title: str
    people: tuple[str, ...]
    path: str


@dataclass(frozen=True, slots=True)
class EventStore:
    """The events of one database. Callers that change several rows hold `database.transaction()`."""

    database: Database

    def put(self, document_id: int, event: CalendarEvent | None) -> None:
        """Store the calendar event of a document, replacing its earlier event; None deletes it."""
        if event is None:
            self.database.execute("DELETE FROM events WHERE document_id = ?", (document_id,))
            return
        row = (
            document_id,
            event.uid,
            event.start.isoformat(),
            round(event.lasts.total_seconds()),
            event.zone,
            json.dumps(event.rules),
            _dumped(event.added),
            _dumped(event.left_out),
            event.last.isoformat() if event.last else None,
            event.replaces.isoformat() if event.replaces else None,
            event.revision,
            event.stamped,
            event.status,
            event.place,
        )
        marks = ", ".join("?" * len(row))
        self.database.execute(f"INSERT OR REPLACE INTO events VALUES ({marks})", row)

    def between(self, first: date, last: date) -> Iterator[StoredEvent]:
        """Yield the events that may take place on a day from `first` to `last`, with every version and replacement of
        each event.
        """
        # ISO 8601 sorts as text, and "~" sorts after every time of day.
        rows = self.database.execute(
            f"{_SELECT} WHERE uid IN (SELECT uid FROM events WHERE start <= ? AND (last IS NULL OR "
            "date(last, '+' || seconds || ' seconds') >= ?)) ORDER BY document_id",
            (f"{_shifted(last, _ANYWHERE)}~", _shifted(first, -_ANYWHERE)),
        )
        return map(_event, rows)


_SELECT = (
    "SELECT uid, start, seconds, zone, rules, added, left_out, last, replaces, revision, stamped, status, place, "
    "(SELECT id FROM passages WHERE document_id = documents.id ORDER BY ordinal LIMIT 1), kind, title, people, path "
    "FROM events JOIN documents ON documents.id = document_id JOIN files ON files.id = file_id"
)


def _event(row: Sequence[Any]) -> StoredEvent:
    uid, start, seconds, zone, rules, added, left_out, last, replaces, revision, stamped, status, place, *document = row
    event = CalendarEvent(
        uid,
        _moment(start),
        timedelta(seconds=seconds),
        zone,
        tuple(json.loads(rules)),
        tuple(map(_moment, json.loads(added))),
        tuple(map(_moment, json.loads(left_out))),
        date.fromisoformat(last) if last else None,
        _moment(replaces) if replaces else None,
        revision,
        stamped,
        status,
        place,
    )
    passage, kind, title, people, path = document
    return StoredEvent(event, passage, kind, title, tuple(json.loads(people)), show(path))


def _dumped(moments: Iterable[Moment]) -> str:
    return json.dumps([moment.isoformat() for moment in moments])


def _moment(text: str) -> Moment:
    return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)


def _shifted(day: date, by: timedelta) -> str:
    """Return the day moved by a number of days, limited to the days that the calendar type can hold, in ISO 8601."""
    return date.fromordinal(min(max(day.toordinal() + by.days, 1), date.max.toordinal())).isoformat()
