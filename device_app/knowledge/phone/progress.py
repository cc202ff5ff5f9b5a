"""The progress in a phone's log, and the edges of its days across time zones. Uses the system's time zone, no store.

A phone prints local times, and prints all of them differently once it is in another time zone. So the edge between days
that are stored and days to be read is kept as a moment in UTC too, and an entry stays on its side of that edge.
"""

import time as clock
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

import msgspec

from device_app.knowledge.phone.entries import Entry

_RECENT: Final = timedelta(days=2)
"""How many days before the newest stored day are read again with it.

Two time zones are at most 26 hours apart, so that a message that is new since the last reading is never of an earlier
day.
"""

Zone = tuple[object, ...]


def zone() -> Zone:
    """Return the system's present time zone, for comparison; a change of it counts for this process from then on."""
    clock.tzset()
    return clock.tzname, clock.timezone, clock.altzone


@dataclass(frozen=True, slots=True)
class Edge:
    """The beginning of a `day`, which separates stored days from days to be read.

    `at` is its moment in UTC, by the time zone in which the phone was when the day was stored.
    """

    day: date
    at: datetime

    def cut(self, entry: Entry) -> Entry:
        """Return the entry, assigned to a day on the same side of this edge as its moment in UTC.

        So an entry stays among the stored days, or among the days to be read, after a change of the time zone.
        """
        if entry.at.astimezone(UTC) >= self.at:
            day = max(entry.day, self.day)
        else:
            day = min(entry.day, self.day - timedelta(days=1))
        return replace(entry, moved_to=day)


def edge(day: date) -> Edge:
    """Return the beginning of a day in the present time zone."""
    return Edge(day, datetime.combine(day, time()).astimezone(UTC))


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress in a log: all days from `oldest` to `newest` are stored, after `reached` entries were listed.

    `oldest_at` is the moment in UTC at which `oldest` began; the days from the edge `recent` on are read again each
    time. Both are None in the progress of earlier versions. `whole`: no older entries remain. If the `fingerprint` (of
    the embedder and the passages' length) changes, reading starts over.
    """

    newest: date | None = None
    oldest: date | None = None
    reached: int = 0
    whole: bool = False
    fingerprint: str = ""
    oldest_at: datetime | None = None
    recent: Edge | None = None

    @property
    def begins(self) -> Edge | None:
        """The beginning of the oldest stored day; None if none is stored."""
        if self.oldest is None:
            return None
        return Edge(self.oldest, self.oldest_at) if self.oldest_at else edge(self.oldest)

    def back_to(self, oldest: date, newest: date, reached: int) -> "Progress":
        """Return the progress after all days back to `oldest` were stored, as days of the present time zone."""
        recent, before, at = self.recent, self.begins, edge(oldest).at
        if recent is None:
            recent = edge(max(oldest, newest - _RECENT))
        elif before and newest - _RECENT < before.day:  # that edge is among the days stored now
            recent = edge(max(oldest, newest - _RECENT))
            recent = replace(recent, at=min(recent.at, before.at))  # what is after `before` so far stays after it
        return replace(self, newest=newest, oldest=oldest, oldest_at=at, recent=recent, reached=reached)

    def up_to(self, newest: date, count: int) -> "Progress":
        """Return the progress after all days up to `newest` were stored; `count` is the number of new entries."""
        recent = self.recent
        if recent and recent.day < newest - _RECENT:
            later = edge(newest - _RECENT)
            recent = replace(later, at=max(recent.at, later.at))  # what is before the edge so far stays before it
        return replace(self, newest=newest, recent=recent, reached=self.reached + count)


def decoded(progress: str) -> Progress:
    """Return the stored progress; progress stored by an earlier version, which has no time zone, is read in the present
    one.
    """
    try:
        known = msgspec.json.decode(progress, type=Progress)
    except msgspec.MsgspecError:
        return Progress()
    if known.newest and known.oldest and not known.recent:
        return known.back_to(known.oldest, known.newest, known.reached)
    return known
