"""Events at their times as records of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from device_app.everyday.rule import Item

if TYPE_CHECKING:
    from device_app.knowledge.recurrence import Occurrence


@dataclass(frozen=True, slots=True)
class EventItem(Item):
    """An event at one of its times. `starts` and `ends` are ISO 8601: with the device's offset, or days if it is all
    day, `ends` being the last one. `moved_from` is the time that it had before, `status` what the calendar says.
    """

    TYPE: ClassVar[str] = "event"
    title: str
    starts: str
    ends: str
    all_day: bool
    place: str
    status: str
    moved_from: str
    kind: str
    path: str


def item(occurrence: Occurrence) -> EventItem:
    """Return an event at one of its times as an entry of `items`."""
    stored, ends, moved = occurrence.stored, occurrence.ends, occurrence.instead_of
    all_day = not isinstance(occurrence.begins, datetime)
    return EventItem(
        title=stored.title,
        starts=occurrence.begins.isoformat(),
        ends=(ends - timedelta(days=1) if all_day else ends).isoformat(),
        all_day=all_day,
        place=stored.event.place,
        status=stored.event.status,
        moved_from=moved.isoformat() if moved else "",
        kind=stored.kind,
        path=stored.path,
    )
