"""Compares the times of events with a moment, or with a part of a day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from device_app.english.agenda import says_due

if TYPE_CHECKING:
    from device_app.english.windows import Window
    from device_app.knowledge.recurrence import Occurrence

_AN_HOUR: Final = timedelta(hours=1)


def has_begun(occurrence: Occurrence, moment: datetime) -> bool:
    """Return whether an event starts by a moment; an all-day event starts with its day."""
    begins = occurrence.begins
    return begins <= moment if isinstance(begins, datetime) else begins <= moment.date()


def to_come(events: Sequence[Occurrence], moment: datetime) -> list[Occurrence]:
    """Return the uncancelled events that begin after a moment; all-day events count from the next day on."""
    return [each for each in events if not (each.is_cancelled or has_begun(each, moment))]


def is_in_part(occurrence: Occurrence, window: Window) -> bool:
    """Return whether an event is in the window's part of the day; an all-day event is in any part."""
    begins, ends = occurrence.begins, occurrence.ends
    if (
        window.begins is None
        or window.ends is None
        or not isinstance(begins, datetime)
        or not isinstance(ends, datetime)
    ):
        return True
    first = datetime.combine(window.first, window.begins)
    last = datetime.combine(window.first, window.ends)
    if window.begins == window.ends:
        last += _AN_HOUR
    begins, ends = begins.replace(tzinfo=None), ends.replace(tzinfo=None)  # on the same clock as the window
    return begins < last and (ends > first or begins >= first)


def may_be_due(occurrence: Occurrence) -> bool:
    """Return whether something may be due then: a task, an event of a whole day, or one whose title says so."""
    begins, ends, stored = occurrence.begins, occurrence.ends, occurrence.stored
    is_day = not isinstance(begins, datetime) and ends <= begins + timedelta(days=1)
    return stored.kind == "task" or is_day or says_due(stored.title)
