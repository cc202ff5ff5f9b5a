"""Summarises for a returning person what is on today, and what is new since yesterday. Uses no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

from device_app.everyday.kinds import counted_kind
from shared.printable import safe_line

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.knowledge.recurrence import Occurrence

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
    from device_app.everyday.agenda_wording import near_name

    day, here = now.date(), zone(now)
    if events := on_days(device.knowledge, day, day, here=here):
        return _lines(device, now, day, events), ""
    later = on_days(device.knowledge, day + timedelta(days=1), day + timedelta(days=_AHEAD), here=here)
    following = next((event for event in later if not event.is_cancelled), None)
    if following is None:
        return [], ""
    (line,) = _lines(device, now, following.day, [following])
    return [], f"{near_name(following.day, day)}: {line}"


def _lines(device: Device, now: datetime, day: date, events: Sequence[Occurrence]) -> list[str]:
    """Return each event of a day with the newer messages that move or cancel it, on one line."""
    from device_app.everyday.agenda_notices import find, quoted
    from device_app.everyday.agenda_wording import in_short
    from device_app.knowledge.event_notices import key

    notices = find(device.knowledge, device.people.directory, now, (), events)
    quotes = (quoted(notices.get(key(event), ()), day, lambda _: "") for event in events)
    lines = zip((in_short(event, day, day) for event in events), quotes, strict=True)
    return [" ".join(filter(None, (event, *quote.splitlines()))) for event, quote in lines]
