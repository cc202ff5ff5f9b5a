"""Reads iCalendar: each event and each task as a person would write it."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from icalendar import Calendar, Component

from device_app.knowledge.readers.dates import sane
from device_app.knowledge.readers.decoding import decode
from device_app.knowledge.readers.opening import read_whole
from shared.errors import UnreadableFile
from shared.types import Block, Document

_LARGEST = 8 << 20
"""The most bytes, some 30,000 events: the parser takes 40 times as much memory."""
# The errors of icalendar for a file that is no calendar, and on access to a broken property.
_BROKEN = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError)
_BORDER = re.compile(r"^(BEGIN|END):(\S+)", re.MULTILINE | re.IGNORECASE)
_UNITS = {"HOURLY": "hour", "DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_WEEKDAYS = dict(zip(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), range(7), strict=True))
_ORDINALS = {"1": "first ", "2": "second ", "3": "third ", "4": "fourth ", "5": "fifth ", "-1": "last "}


def read_ics(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a document for each event and task; a repeated one has its rule, not each date. Raises UnreadableFile."""
    text = decode(read_whole(path, min(max_bytes, _LARGEST)))
    try:
        calendars = Calendar.from_ical(_closed(text), multiple=True)
    except _BROKEN as error:
        raise UnreadableFile("broken calendar") from error
    for calendar in calendars:
        zone = _own_zone(calendar)
        for component in calendar.walk():
            if component.name in ("VEVENT", "VTODO") and component.keys():
                yield _entry(component, zone)


def _closed(text: str) -> str:
    """Add an end to every component left open by a truncated file; drop a last line without a line break."""
    whole = text[: text.rfind("\n") + 1]
    opened: list[str] = []
    for border, name in _BORDER.findall(whole):
        if border.upper() == "BEGIN":
            opened.append(name)
        elif opened[-1:] == [name]:
            opened.pop()
    return whole + "".join(f"END:{name}\r\n" for name in reversed(opened))


def _own_zone(calendar: Component) -> tzinfo | None:
    """Return the calendar's own time zone; None if it names no existing one."""
    try:
        return ZoneInfo(_text(calendar, "X-WR-TIMEZONE"))
    except (*_BROKEN, OSError):
        return None


def _entry(component: Component, zone: tzinfo | None) -> Document:
    title = _text(component, "SUMMARY") or "(no title)"
    start, end, due = (_moment(component, name) for name in ("DTSTART", "DTEND", "DUE"))
    if start and not end:
        end = _plus(start, component)
    start, end, due = (_local(moment, zone) for moment in (start, end, due))
    people = tuple(
        dict.fromkeys(_person(person) for name in ("ORGANIZER", "ATTENDEE") for person in _all(component, name))
    )
    when = start or due
    lines = [
        f"{title}: {_span(start, end)}" if start else title,
        f"Due: {_spoken(due)}" if due else "",
        _labelled(
            "Repeats", ", and ".join(filter(None, (_recurrence(rule, zone) for rule in _all(component, "RRULE"))))
        ),
        _labelled("Where", _text(component, "LOCATION")),
        _labelled("With", ", ".join(people)),
        _labelled("Status", _text(component, "STATUS").lower()),
        _labelled("Categories", ", ".join(_categories(component))),
        *_text(component, "DESCRIPTION").split("\n"),
    ]
    return Document(
        key=" ".join(filter(None, [_text(component, "UID") or title, _instance(component)])),
        kind="event" if component.name == "VEVENT" else "task",
        title=title,
        blocks=tuple(Block(line) for line in lines if line.strip()),
        date=sane(when if isinstance(when, datetime) else datetime.combine(when, time())) if when else None,
        people=people,
    )


def _labelled(label: str, text: str) -> str:
    return f"{label}: {' '.join(text.split())}" if text else ""


def _all(component: Component, name: str) -> Sequence[Any]:
    """Return the values of a property; none if it is broken."""
    try:
        value = component.get(name)
    except _BROKEN:
        return []
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(component: Component, name: str) -> str:
    return next((str(value).strip() for value in _all(component, name)), "")


def _moment(component: Component, name: str) -> date | None:
    for value in _all(component, name):
        try:
            moment = value.dt
        except _BROKEN:
            continue
        if isinstance(moment, date):
            return moment
    return None


def _local(moment: date | None, zone: tzinfo | None) -> date | None:
    """Convert a time in UTC, as programs write it, to the calendar's zone or else the device's; keep any other."""
    if not isinstance(moment, datetime) or moment.tzname() != "UTC":
        return moment
    try:
        return moment.astimezone(zone)
    except _BROKEN:
        return moment


def _plus(start: date, component: Component) -> date | None:
    """Return the end of an event, computed from its start and duration."""
    for value in _all(component, "DURATION"):
        try:
            return start + value.dt if isinstance(value.dt, timedelta) else None
        except _BROKEN:
            continue
    return None


def _instance(component: Component) -> str:
    """Return the date of the repeated event that this one replaces; "" for none."""
    moment = _moment(component, "RECURRENCE-ID")
    return moment.isoformat() if moment else ""


def _categories(component: Component) -> list[str]:
    return [str(category) for value in _all(component, "CATEGORIES") for category in getattr(value, "cats", [])]


def _person(value: Any) -> str:
    address = str(value)
    address = address[7:] if address.lower().startswith("mailto:") else address
    name = str(getattr(value, "params", {}).get("CN", "")).strip()
    return f"{name} <{address}>" if name and name != address else address


def _span(start: date, end: date | None) -> str:
    if not isinstance(start, datetime):
        # The end of an all-day event is the day after it.
        last = end - timedelta(days=1) if end and not isinstance(end, datetime) and end > start else start
        return _spoken(start) if last <= start else f"{_spoken(start)} to {_spoken(last)}"
    if not isinstance(end, datetime) or end == start:
        return _spoken(start)
    if start.date() == end.date():
        return f"{_day(start)}, {_clock(start)}–{_clock(end)}{_zone(start)}"
    return f"{_spoken(start)} to {_spoken(end)}"


def _spoken(when: date) -> str:
    return f"{_day(when)}, {_clock(when)}{_zone(when)}" if isinstance(when, datetime) else _day(when)


def _day(when: date) -> str:
    return f"{when:%A}, {when.day} {when:%B} {when.year}"


def _clock(when: datetime) -> str:
    return f"{when.hour:02}:{when.minute:02}"


def _zone(when: datetime) -> str:
    return f" ({getattr(when.tzinfo, 'key', None) or when.tzname()})" if when.tzinfo else ""


def _recurrence(rule: Any, zone: tzinfo | None) -> str:
    """Return `every 2 weeks on Tuesday, Thursday until …`; "" for an invalid rule."""
    try:
        parts = {str(name).upper(): value if isinstance(value, list) else [value] for name, value in rule.items()}
        unit = _UNITS[str(parts["FREQ"][0])]
        interval = int(parts.get("INTERVAL", [1])[0])
        words = f"every {unit}" if interval == 1 else f"every {interval} {unit}s"
        if days := [_weekday(str(day)) for day in parts.get("BYDAY", [])]:
            words += f" on {', '.join(days)}"
        if dates := [str(day) for day in parts.get("BYMONTHDAY", [])]:
            words += f" on day {', '.join(dates)}"
        if "COUNT" in parts:
            words += f", {int(parts['COUNT'][0])} times"
        until = _local(parts["UNTIL"][0], zone) if "UNTIL" in parts else None
        return words + (f" until {_day(until)}" if until else "")
    except _BROKEN:
        return ""


def _weekday(code: str) -> str:
    # 5 January 1970 was a Monday.
    name = f"{date(1970, 1, 5) + timedelta(days=_WEEKDAYS[code[-2:]]):%A}"
    return f"the {_ORDINALS.get(code[:-2].lstrip('+'), '')}{name}" if len(code) > 2 else name
