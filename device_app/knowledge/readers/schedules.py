"""Reads when a calendar entry takes place: times, zone, recurrence, exceptions and version (RFC 5545).

Parts that cannot be computed are left out and counted: with a bad rule the event keeps only its first date, and with an
unknown zone its time is that of the device's own clock.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import islice, takewhile
from typing import Any, Final

from icalendar import Component

from device_app.knowledge import recurrence
from device_app.knowledge.readers.dates import sane
from device_app.knowledge.readers.omitted import Omitted
from shared.printable import counted, printable
from shared.types import CalendarEvent, Moment

BROKEN: Final = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError)
"""The errors that icalendar raises for a file that is no calendar, and for a broken property."""

_MOST_TIMES: Final = 10_000
"""The most times of a rule with COUNT that are computed."""

_MOST_A_DAY: Final = 288
"""The most times a day of a repeated event: one every five minutes."""

_MOST_DATES: Final = 5_000
"""The most single dates of an event that are kept."""

_MOST_UNMATCHED: Final = 20
"""The most rules of a file that may match no day: to find that out takes up to a second for each rule."""

_MOST_TRIED: Final = 200_000
"""The most days for which the rules of a file are tried: they take a few seconds."""

_FURTHEST: Final = timedelta(days=36525)
"""The longest time after an event's start for which the times of a rule with COUNT are computed."""

_LONGEST: Final = timedelta(days=3660)
"""The longest duration of an event; a longer one is cut to it."""
_LONGEST_ZONE: Final = 5_000
"""The most characters of a time zone's definition that is kept."""
_UNITS: Final = {"YEARLY": 60, "MONTHLY": 30, "WEEKLY": 7, "DAILY": 1, "HOURLY": 1}
"""How many days are tried for a rule of each frequency in the time that a daily rule takes for one day."""

_BY_DAY_OF_YEAR: Final = {"BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY"}
"""The parts that are refused in an hourly rule, as each hour of whole years would be tried."""

_LISTS: Final = {
    "BYMONTH",
    "BYWEEKNO",
    "BYYEARDAY",
    "BYMONTHDAY",
    "BYDAY",
    "BYHOUR",
    "BYMINUTE",
    "BYSECOND",
    "BYSETPOS",
}

_NO_DATE: Final = "an event has a date that does not exist"
_NEVER: Final = "a rule of repetition names a day that never comes"
_INVALID: Final = "a rule of repetition cannot be worked out"
_ENDLESS: Final = f"an event takes place more than {_MOST_TIMES:,} times, and only these were read"
_LONG: Final = f"an event is repeated for more than {_FURTHEST.days // 365} years, and only these were read"
_LATER: Final = "a change to all later dates of an event was read for its own date alone"


class Schedules:
    """Reads the schedules of one calendar, and counts the parts that could not be computed."""

    def __init__(self, calendar: Component) -> None:
        self._is_cancelled = text_of(calendar, "METHOD").upper() == "CANCEL"
        self._zones = {text_of(zone, "TZID"): _text_of_zone(zone) for zone in calendar.walk("VTIMEZONE")}
        self._omitted = Counter[str]()
        self._tried = 0

    def omitted(self) -> Iterator[Omitted]:
        """Yield a description of each kind of part left out of the entries read so far."""
        for what, count in self._omitted.items():
            yield Omitted(what if count == 1 else f"{what} ({counted(count, 'time')})")

    def event(self, component: Component, key: str) -> CalendarEvent | None:
        """Return when an entry takes place or is due; None if it has no time. `key` replaces a missing UID."""
        name = next((name for name in ("DTSTART", "DUE") if moment_of(component, name)), "")
        start = moment_of(component, name)
        needed = ("RECURRENCE-ID",) if start and _is_sane(start) else ("DTSTART", "DUE")
        if any(_is_given(component, name) and moment_of(component, name) is None for name in needed):
            self._omitted[_NO_DATE] += 1
            return None
        if start is None or not _is_sane(start):
            return None
        zone = self._zone(component, name, start)
        here = recurrence.zone_of(zone)
        wall = _on_clock(start, here)
        rules, last = self._rules(component, wall, here)
        added, left_out, replaces = (
            tuple(islice(_moments(component, name, wall, here), _MOST_DATES))
            for name in ("RDATE", "EXDATE", "RECURRENCE-ID")
        )
        if any("RANGE" in value.params for value in values_of(component, "RECURRENCE-ID")):
            self._omitted[_LATER] += 1
        return CalendarEvent(
            uid=text_of(component, "UID") or f"{key} {wall.isoformat()}",
            start=wall,
            lasts=_lasts(component, start),
            zone=zone,
            rules=rules,
            added=added,
            left_out=left_out,
            last=None if rules and last is None else max(map(_day, (wall, *added, *([last] if last else [])))),
            replaces=replaces[0] if replaces else None,
            revision=_number(text_of(component, "SEQUENCE")),
            stamped=_stamp(moment_of(component, "LAST-MODIFIED") or moment_of(component, "DTSTAMP")),
            status="cancelled" if self._is_cancelled else text_of(component, "STATUS").lower()[:20],
            place=" ".join(printable(text_of(component, "LOCATION")).split())[:300],
        )

    def _zone(self, component: Component, name: str, start: Moment) -> str:
        """Return the zone of a property: its name, the text of its VTIMEZONE, or "" for none."""
        if not isinstance(start, datetime):
            return ""
        named = str(values_of(component, name)[0].params.get("TZID", ""))
        key = getattr(start.tzinfo, "key", "")
        zone = str(key or self._zones.get(named, ""))
        if named and not zone:
            self._omitted[f"the time zone “{printable(named)[:60]}” is not known, so its times are read as local"] += 1
        return zone

    def _rules(self, component: Component, start: Moment, here: tzinfo | None) -> tuple[tuple[str, ...], Moment | None]:
        """Return the rules of an entry that give any time, and the last of all their times, None for no end."""
        rules: list[str] = []
        lasts: list[datetime | None] = []
        for value in values_of(component, "RRULE")[:4]:
            try:
                rule, last = self._rule(_parts(value), _wall(start), here)
            except BROKEN:
                self._omitted[_INVALID] += 1
                continue
            if rule:
                rules.append(rule)
                lasts.append(last)
        ends = [last for last in lasts if last]
        return tuple(rules), max(ends) if ends and len(ends) == len(lasts) else None

    def _rule(self, parts: dict[str, list[Any]], start: datetime, here: tzinfo | None) -> tuple[str, datetime | None]:
        """Return a rule for `recurrence.starts` and its last time; "" if the rule gives no time. Raises BROKEN."""
        if self._omitted[_NEVER] >= _MOST_UNMATCHED or self._tried >= _MOST_TRIED:
            raise ValueError
        last = _on_clock(parts.pop("UNTIL")[0], here) if "UNTIL" in parts else None
        count = int(parts.pop("COUNT")[0]) if "COUNT" in parts else None
        rule = ";".join(f"{name}={','.join(map(str, values))}" for name, values in _explicit(parts, start).items())
        end = None if last is None else last if isinstance(last, datetime) else datetime.combine(last, time(23, 59, 59))
        bounded = recurrence.until(rule, end) if end else rule
        moments = recurrence.starts(bounded, start)
        first = next(moments, None)
        if first is None:
            self._omitted[_NEVER] += 1
            return "", None
        near = takewhile(lambda moment: moment - start < _FURTHEST, moments)
        times = [first, *islice(near, min(count or 1, _MOST_TIMES) - 1)]
        self._tried += max(len(times), (times[-1] - start).days // _UNITS[parts["FREQ"][0]])
        if count is None:
            return bounded, end
        if count > len(times) and (end is None or len(times) == _MOST_TIMES):
            self._omitted[_ENDLESS if len(times) == _MOST_TIMES else _LONG] += 1
        return recurrence.until(rule, times[-1]), times[-1]


def _parts(rule: Any) -> dict[str, list[Any]]:
    """Return the parts of a rule, after checking them against the limits. Raises BROKEN."""
    parts = {str(name).upper(): value if isinstance(value, list) else [value] for name, value in rule.items()}
    if parts.keys() - _LISTS - {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST"} or parts["FREQ"][0] not in _UNITS:
        raise ValueError
    if parts["FREQ"][0] == "HOURLY" and parts.keys() & _BY_DAY_OF_YEAR:
        raise ValueError
    a_day = 24 if parts["FREQ"][0] == "HOURLY" else 1
    for name in ("BYHOUR", "BYMINUTE", "BYSECOND"):
        a_day *= len(parts.get(name, [0]))
    bounds = [int(parts.get(name, [1])[0]) for name in ("INTERVAL", "COUNT")]
    if a_day > _MOST_A_DAY or not 1 <= bounds[0] <= 10_000 or bounds[1] < 1 or sum(map(len, parts.values())) > 500:
        raise ValueError
    return parts


def _explicit(parts: dict[str, list[Any]], start: datetime) -> dict[str, list[Any]]:
    """Add the days that a rule takes from its start date, so that it can be continued from another day."""
    months = ("YEARLY", "MONTHLY")
    if parts["FREQ"][0] not in months or parts.keys() & {"BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY"}:
        return parts
    yearly = {"BYMONTH": [start.month]} if parts["FREQ"][0] == "YEARLY" else {}
    return yearly | parts | {"BYMONTHDAY": [start.day]}


def _moments(component: Component, name: str, start: Moment, here: tzinfo | None) -> Iterator[Moment]:
    """Yield the times in a property that lists times (such as EXDATE), as days if the event is all-day."""
    for value in values_of(component, name):
        with suppress(*BROKEN):
            for listed in value.dts if hasattr(value, "dts") else [value]:
                moment = listed.dt[0] if isinstance(listed.dt, tuple) else listed.dt
                if isinstance(moment, date) and _is_sane(moment):
                    wall = _on_clock(moment, here)
                    yield wall if isinstance(start, datetime) else _day(wall)


def _lasts(component: Component, start: Moment) -> timedelta:
    """Return the duration of an entry; zero for a moment, and for a task that is due."""
    end, lasts = moment_of(component, "DTEND"), timedelta()
    with suppress(*BROKEN):
        if end:
            lasts = _instant(end) - _instant(start)
        for value in values_of(component, "DURATION"):
            lasts = value.dt
    return min(max(lasts, timedelta()), _LONGEST)


def _text_of_zone(zone: Component) -> str:
    """Return the text of a VTIMEZONE; "" if it is too long, or changes the clock by rules that are not yearly."""
    with suppress(*BROKEN):
        text = str(zone.to_ical().decode())
        rules = [_parts(rule) for part in zone.subcomponents for rule in values_of(part, "RRULE")]
        is_yearly = all(rule["FREQ"][0] == "YEARLY" for rule in rules)
        if len(text) <= _LONGEST_ZONE and is_yearly and recurrence.zone_of(text):
            return text
    return ""


# Access to the properties of a component, any of which may be broken


def values_of(component: Component, name: str) -> Sequence[Any]:
    """Return the values of a property; none if it is broken."""
    try:
        value = component.get(name)
    except BROKEN:
        return []
    return value if isinstance(value, list) else [] if value is None else [value]


def text_of(component: Component, name: str) -> str:
    """Return the first value of a property as text; "" if there is none."""
    return next((str(value).strip() for value in values_of(component, name)), "")


def moment_of(component: Component, name: str) -> Moment | None:
    """Return the first readable date or time of a property; None if there is none."""
    for value in values_of(component, name):
        try:
            moment = value.dt
        except BROKEN:
            continue
        if isinstance(moment, date):
            return moment
    return None


def _is_given(component: Component, name: str) -> bool:
    """Return whether the component has this property, even a broken one."""
    return name in component or any(name == broken for broken, _ in component.errors)


def _on_clock(moment: Moment, here: tzinfo | None) -> Moment:
    """Return a time on the clock of the zone `here`; None is the device's zone."""
    if isinstance(moment, datetime) and moment.tzinfo:
        return moment.astimezone(here).replace(tzinfo=None)
    return moment


def _instant(moment: Moment) -> datetime:
    wall = _wall(moment)
    return wall if wall.tzinfo else wall.astimezone(UTC)


def _stamp(moment: Moment | None) -> str:
    return _instant(moment).astimezone(UTC).isoformat(timespec="seconds") if moment and _is_sane(moment) else ""


def _is_sane(moment: Moment) -> bool:
    return sane(_wall(moment)) is not None


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else 0


def _wall(moment: Moment) -> datetime:
    return moment if isinstance(moment, datetime) else datetime.combine(moment, time())


def _day(moment: Moment) -> date:
    return moment.date() if isinstance(moment, datetime) else moment
