"""Looks up the events and tasks of some days."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING

from storage.events import EventStore, StoredEvent

if TYPE_CHECKING:
    from device_app.knowledge.recurrence import Occurrence
    from storage.knowledge import KnowledgeStore


def on_days(
    store: KnowledgeStore,
    first: date,
    last: date,
    gone: frozenset[str] = frozenset(),
    is_meant: Callable[[StoredEvent], bool] = lambda _: True,
    here: tzinfo | None = None,
) -> list[Occurrence]:
    """Return the events of these days, and the unfinished tasks due on them.

    Events from the files in `gone`, and those for which `is_meant` is false, are left out. `here` is the person's zone;
    None is the device's.
    """
    from device_app.knowledge.recurrence import occurrences  # imports dateutil, which few questions need

    events = [stored for stored in EventStore(store.database).between(first, last) if stored.path not in gone]
    meant = {stored.event.uid for stored in events if is_meant(stored)}
    some = (stored for stored in events if stored.event.uid in meant)
    return [
        each
        for each in occurrences(some, first, last, here=here)
        if each.stored.event.status != "completed" and is_meant(each.stored)
    ]


def zone(now: datetime) -> tzinfo | None:
    """Return the person's time zone; None if it is the device's own."""
    return None if now.utcoffset() == now.astimezone().utcoffset() else now.tzinfo
