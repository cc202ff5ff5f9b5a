"""Reads iCalendar files: each event and each task becomes a document in plain words."""

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from icalendar import Calendar, Component

from device_app.knowledge.readers.dates import sane
from device_app.knowledge.readers.decoding import decode
from device_app.knowledge.readers.omitted import Omitted
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.schedules import BROKEN, Schedules, moment_of, text_of, values_of
from shared.errors import UnreadableFile
from shared.types import Block, Document

_LARGEST = 8 << 20
"""The most bytes of a calendar file, some 30,000 events: the parser takes 40 times as much memory."""
_BORDER = re.compile(r"^(BEGIN|END):(\S+)", re.MULTILINE | re.IGNORECASE)
_UNITS = {"HOURLY": "hour", "DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_WEEKDAYS = dict(zip(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), range(7), strict=True))
_ORDINALS = {"1": "first ", "2": "second ", "3": "third ", "4": "fourth ", "5": "fifth ", "-1": "last "}


def read_ics(path: Path, max_bytes: int) -> Iterator[Document | Omitted]:
    """Yield a document for each event and task; a repeated event has its rule, not each date. Raises UnreadableFile."""
    text = decode(read_whole(path, min(max_bytes, _LARGEST)))
    try:
        calendars = Calendar.from_ical(_closed(text), multiple=True)
    except BROKEN as error:
        raise UnreadableFile("broken calendar") from error
    for calendar in calendars:
        zone, schedules = _own_zone(calendar), Schedules(calendar)
        for component in calendar.walk():
            if component.name in ("VEVENT", "VTODO") and component.keys():
                yield _entry(component, zone, schedules)
        yield from schedules.omitted()


def _closed(text: str) -> str:
    """Return the text with an end for each component that a truncated file leaves open, without a broken last line."""
    whole = text[: text.rfind("\n") + 1]
    opened: list[str] = []
    for border, name in _BORDER.findall(whole):
        if border.upper() == "BEGIN":
            opened.append(name)
        elif opened[-1:] == [name]:
            opened.pop()
    return whole + "".join(f"END:{name}\r\n" for name in reversed(opened))


def _own_zone(calendar: Component) -> tzinfo | None:
    """Return the time zone that the calendar names; None if there is none of that name."""
    try:
        return ZoneInfo(text_of(calendar, "X-WR-TIMEZONE"))
    except (*BROKEN, OSError):
        return None


def _entry(component: Component, zone: tzinfo | None, schedules: Schedules) -> Document:
    title = text_of(component, "SUMMARY") or "(no title)"
    start, end, due = (moment_of(component, name) for name in ("DTSTART", "DTEND", "DUE"))
    if start and not end:
        end = _plus(start, component)
    start, end, due = (_local(moment, zone) for moment in (start, end, due))
    people = tuple(
        dict.fromkeys(_person(person) for name in ("ORGANIZER", "ATTENDEE") for person in values_of(component, name))
    )
    when = start or due
    key = " ".join(filter(None, [text_of(component, "UID") or title, _instance(component)]))
    lines = [
        f"{title}: {_span(start, end)}" if start else title,
        f"Due: {_spoken(due)}" if due else "",
        _labelled(
            "Repeats", ", and ".join(filter(None, (_recurrence(rule, zone) for rule in values_of(component, "RRULE"))))
        ),
        _labelled("Where", text_of(component, "LOCATION")),
        _labelled("With", ", ".join(people)),
        _labelled("Status", text_of(component, "STATUS").lower()),
        _labelled("Categories", ", ".join(_categories(component))),
        *text_of(component, "DESCRIPTION").split("\n"),
    ]
    return Document(
        key=key,
        kind="event" if component.name == "VEVENT" else "task",
        title=title,
        blocks=tuple(Block(line) for line in lines if line.strip()),
        date=sane(when if isinstance(when, datetime) else datetime.combine(when, time())) if when else None,
        people=people,
        event=schedules.event(component, key),
    )


def _labelled(label: str, text: str) -> str:
    return f"{label}: {' '.join(text.split())}" if text else ""


def _local(moment: date | None, zone: tzinfo | None) -> date | None:
    """Convert a time in UTC, as programs write it, to the calendar's or the device's zone; keep any other time."""
    if not isinstance(moment, datetime) or moment.tzname() != "UTC":
        return moment
    try:
        return moment.astimezone(zone)
    except BROKEN:
        return moment


def _plus(start: date, component: Component) -> date | None:
    """Return the end of an event, computed from its start and duration."""
    for value in values_of(component, "DURATION"):
        try:
            return start + value.dt if isinstance(value.dt, timedelta) else None
        except BROKEN:
            continue
    return None


def _instance(component: Component) -> str:
    """Return the original date of the repeated event that this event replaces; "" for none."""
    moment = moment_of(component, "RECURRENCE-ID")
    return moment.isoformat() if moment else ""


def _categories(component: Component) -> list[str]:
    return [str(category) for value in values_of(component, "CATEGORIES") for category in getattr(value, "cats", [])]


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
    if start.date() == end.date() and _zone(start) == _zone(end):
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
    """Return a recurrence rule in words: `every 2 weeks on Tuesday, Thursday until …`; "" for an invalid rule."""
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
    except BROKEN:
        return ""


def _weekday(code: str) -> str:
    # 5 January 1970 was a Monday.
    name = f"{date(1970, 1, 5) + timedelta(days=_WEEKDAYS[code[-2:]]):%A}"
    return f"the {_ORDINALS.get(code[:-2].lstrip('+'), '')}{name}" if len(code) > 2 else name
