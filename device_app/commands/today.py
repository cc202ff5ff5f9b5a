"""Summarises for a returning person what is on today, and what is new since yesterday. Uses no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING

from device_app.everyday.kinds import counted_kind
from shared.printable import safe_line

if TYPE_CHECKING:
    from device_app.device import Device

_AHEAD = 7
"""The number of days after today in which the next event is searched for, if nothing is on today."""


@dataclass(frozen=True, slots=True)
class Today:
    """The events of today, a line each, or if there are none, in `next`, the next event within a week.

    `has_calendar`: an event or a task was read at all. `new` are the numbers of documents read since yesterday, by
    kind, and `newest` is the title of the newest.
    """

    has_calendar: bool
    events: Sequence[str] = ()
    next: str = ""
    new: Sequence[str] = ()
    newest: str = ""


def today(device: Device, now: datetime) -> Today:
    """Return today's events and the new documents, at a moment given with the person's time zone. Raises StoreError."""
    documents = device.knowledge
    has_calendar = not {"event", "task"}.isdisjoint(documents.kinds())
    events, following = _events(device, now) if has_calendar else ([], "")
    since = datetime.combine(now.date() - timedelta(days=1), time(0), now.tzinfo)
    new = documents.new_since(since, now.date())
    if new is None:
        return Today(has_calendar, events, following)
    kinds = [counted_kind(kind, count) for kind, count in new.kinds.items()]
    return Today(has_calendar, events, following, kinds, safe_line(new.newest.title))


def _events(device: Device, now: datetime) -> tuple[list[str], str]:
    """Return the events of today and, if there are none, the next one."""
    from device_app.everyday.agenda_events import on_days, zone
    from device_app.everyday.agenda_wording import in_short, near_name

    day, here = now.date(), zone(now)
    if events := on_days(device.knowledge, day, day, here=here):
        return [in_short(event, day, day) for event in events], ""
    later = on_days(device.knowledge, day + timedelta(days=1), day + timedelta(days=_AHEAD), here=here)
    following = next((event for event in later if not event.is_cancelled), None)
    return [], f"{near_name(following.day, day)}: {in_short(following, following.day, day)}" if following else ""
