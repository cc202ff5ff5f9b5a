"""Computes when events take place: recurrence rules by dateutil, within the requested days (RFC 5545, 3.8.5).

The work is bounded for any rule: a search begins shortly before the requested days, and all years are shifted to the
end of the calendar, so that a rule without a match ends after at most 800 years.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from itertools import chain, islice, takewhile
from operator import attrgetter
from typing import Final
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

from shared.types import CalendarEvent, Moment
from storage.events import StoredEvent

MOST: Final = 100
"""The most occurrences of an event that are computed for a question."""

_ERA: Final = timedelta(days=146_097)
"""400 years, after which dates fall on the same weekdays again."""

_UNITS: Final = {
    "WEEKLY": timedelta(weeks=1),
    "DAILY": timedelta(days=1),
    "HOURLY": timedelta(hours=1),
    "MINUTELY": timedelta(minutes=1),
    "SECONDLY": timedelta(seconds=1),
}
_UNTIL: Final = "%Y%m%dT%H%M%S"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event at one of its times.

    `begins` and `ends` are aware times in the device's zone or, for an all-day event, its first day and the day after
    its last one. `instead_of` is the original time of a moved occurrence.
    """

    begins: Moment
    ends: Moment
    stored: StoredEvent
    instead_of: Moment | None = None

    @property
    def day(self) -> date:
        """The day on which the occurrence begins."""
        return _day(self.begins)

    @property
    def is_cancelled(self) -> bool:
        """Whether the occurrence is cancelled."""
        return self.stored.event.status == "cancelled"

    @property
    def order(self) -> tuple[date, bool, float]:
        """The sort key of occurrences: by day, all-day occurrences first, then by time."""
        clock = self.begins.timestamp() if isinstance(self.begins, datetime) else 0.0
        return self.day, isinstance(self.begins, datetime), clock


def until(rule: str, end: datetime) -> str:
    """Return the recurrence rule, ended at `end`, a local time in the event's zone, by its UNTIL."""
    return f"{rule};UNTIL={end.strftime(_UNTIL)}"


def starts(rule: str, start: datetime, near: datetime | None = None) -> Iterator[datetime]:
    """Yield the times at which a recurrence rule repeats, in order. Raises ValueError for an invalid rule.

    `rule` has no COUNT, and names the days of a month for FREQ=MONTHLY and YEARLY. Times long before `near` are left
    out.
    """
    parts = dict(part.split("=", 1) for part in rule.split(";"))
    last = datetime.strptime(parts.pop("UNTIL"), _UNTIL) if "UNTIL" in parts else None
    begin = _restarted(parts, start, near) if near else start
    shift = _ERA * max(0, (9599 - begin.year) // 400)  # 400 to 800 years before the end
    for late in rrulestr(";".join(map("=".join, parts.items())), dtstart=begin + shift, ignoretz=True):
        moment = late - shift
        if last and moment > last:
            return
        yield moment


def _restarted(parts: dict[str, str], start: datetime, near: datetime) -> datetime:
    """Return a time, one or two intervals before `near`, from which the rule continues with the same times as from its
    start.
    """
    interval = int(parts.get("INTERVAL", 1))
    if unit := _UNITS.get(parts["FREQ"]):
        return start + max(0, (near - start) // (unit * interval) - 1) * interval * unit
    months = interval * (12 if parts["FREQ"] == "YEARLY" else 1)
    skipped = ((near.year - start.year) * 12 + near.month - start.month) // months - 1
    if skipped < 1:
        return start
    year, month = divmod(start.year * 12 + start.month - 1 + skipped * months, 12)
    return start.replace(year=year, month=month + 1, day=1)


def occurrences(
    events: Iterable[StoredEvent], first: date, last: date, most: int = MOST, here: tzinfo | None = None
) -> list[Occurrence]:
    """Return the events on the days from `first` to `last`, in order; at most `most` occurrences of each event.

    Days and times are in the zone `here`, or else in the device's. If several files hold an event, its newest version
    counts. Cancelled occurrences of a series are included, cancelled series not.
    """
    by_uid: dict[str, dict[datetime | date | None, StoredEvent]] = {}
    for stored in events:
        versions = by_uid.setdefault(stored.event.uid, {})
        event = stored.event
        place = _instant(event.replaces, event) if event.replaces else None
        if place not in versions or _version(versions[place]) < _version(stored):
            versions[place] = stored
    every = chain.from_iterable(_of_event(versions, first, last, most, here) for versions in by_uid.values())
    return sorted(every, key=attrgetter("order"))


def _of_event(
    versions: dict[datetime | date | None, StoredEvent], first: date, last: date, most: int, here: tzinfo | None
) -> Iterator[Occurrence]:
    """Yield an event's occurrences, and those that replace some of them.

    `versions` maps the time that a version replaces, in UTC, to that version, and None to the event itself.
    """
    whole = versions.get(None)
    for stored in versions.values():
        if stored is not whole:
            event = stored.event
            moved = event.replaces if event.replaces and event.replaces != event.start else None
            occurrence = _occurrence(event.start, stored, here, _here(moved, event, here) if moved else None)
            if _is_within(occurrence, first, last, here):
                yield occurrence
    if whole is None or (whole.event.status == "cancelled" and whole.event.rules):
        return
    left_out = {_instant(moment, whole.event) for moment in whole.event.left_out} | versions.keys()
    within = (
        _occurrence(moment, whole, here)
        for moment in _moments(whole.event, first, last)
        if not left_out & {_instant(moment, whole.event), _day(moment)}
    )
    yield from islice((occurrence for occurrence in within if _is_within(occurrence, first, last, here)), most)


def _moments(event: CalendarEvent, first: date, last: date) -> Iterator[Moment]:
    """Yield an event's times that may fall on the days from `first` to `last`, and some just before and after."""
    begin, start = _wall(first) - timedelta(days=2) - event.lasts, _wall(event.start)
    end = _wall(last) + timedelta(days=3)
    by_rules: set[datetime] = set()
    for rule in event.rules:
        try:
            repeated = takewhile(lambda moment: moment < end, starts(rule, start, begin))
            by_rules.update(moment for moment in repeated if moment >= begin)
        except (ValueError, OverflowError):  # readers refuse such rules
            continue
    moments = by_rules if event.rules else {start}
    for moment in sorted(moments | set(map(_wall, event.added))):
        yield moment if isinstance(event.start, datetime) else moment.date()


def _occurrence(
    moment: Moment, stored: StoredEvent, here: tzinfo | None, instead_of: Moment | None = None
) -> Occurrence:
    begins, lasts = _here(moment, stored.event, here), stored.event.lasts
    if isinstance(begins, datetime):
        return Occurrence(begins, (begins.astimezone(UTC) + lasts).astimezone(here), stored, instead_of)
    return Occurrence(begins, begins + max(lasts, timedelta(days=1)), stored, instead_of)


def _is_within(occurrence: Occurrence, first: date, last: date, here: tzinfo | None) -> bool:
    begins, ends = occurrence.begins, occurrence.ends
    if not isinstance(begins, datetime):
        return begins <= last and _day(ends) > first
    midnight = datetime.combine(first, time(), here).astimezone(here)
    return occurrence.day <= last and isinstance(ends, datetime) and (ends > midnight or begins >= midnight)


def _here(moment: Moment, event: CalendarEvent, here: tzinfo | None) -> Moment:
    """Return a time of the event in the zone `here`, or else in the device's."""
    if not isinstance(moment, datetime):
        return moment
    return moment.replace(tzinfo=zone_of(event.zone) or here).astimezone(here)


def _instant(moment: Moment, event: CalendarEvent) -> Moment:
    """Return a time of the event in UTC, which is comparable across zones."""
    if not isinstance(moment, datetime):
        return moment
    return moment.replace(tzinfo=zone_of(event.zone)).astimezone(UTC)


@lru_cache(maxsize=256)
def zone_of(zone: str) -> tzinfo | None:
    """Return the zone of an event; None for the device's own zone, and for a zone that this device does not know."""
    try:
        if zone.startswith("BEGIN:VTIMEZONE"):
            from icalendar import Timezone  # takes long to import, and is rarely needed: most zones have a name

            text = Timezone.from_ical(zone)
            return text.to_tz(lookup_tzid=False) if isinstance(text, Timezone) else None
        return ZoneInfo(zone) if zone else None
    except (ValueError, OSError, KeyError):
        return None


def _version(stored: StoredEvent) -> tuple[int, str]:
    return stored.event.revision, stored.event.stamped


def _wall(moment: Moment) -> datetime:
    return moment if isinstance(moment, datetime) else datetime.combine(moment, time())


def _day(moment: Moment) -> date:
    return moment.date() if isinstance(moment, datetime) else moment
