"""Parses dates as people and programs write them: to an aware datetime where a zone is given, else to a naive one."""

import re
from datetime import UTC, datetime, tzinfo
from math import isfinite

from dateutil import parser, tz

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_YEAR_FIRST = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_./]?)(\d\d)\2(\d\d)(?:[T _-]{1,3}(\d\d)[:.h_-]?(\d\d))?(?!\d)")
_DAY_FIRST = re.compile(r"(?<!\d)(\d{1,2})\. ?(\d{1,2})\. ?((?:19|20)\d\d)(?!\d)")
_MONTH_NAMED = re.compile(rf"(?<!\w)(?:\d{{1,2}}\.? {_MONTH}|{_MONTH} \d{{1,2}}),? (?:19|20)\d\d(?!\d)", re.IGNORECASE)
_HAS_YEAR = re.compile(r"\d{4}|\d{1,2}[./-]\d{1,2}[./-]\d\d")
_LONGEST = 64


def date_in(text: str) -> datetime | None:
    """Return the first date in a name or title, in a form such as 2026-03-14, 20260314, 14.3.2026, 14 March 2026."""
    for match in _YEAR_FIRST.finditer(text):
        year, month, day, hour, minute = (int(match[group] or 0) for group in (1, 3, 4, 5, 6))
        for clock in ((hour, minute), (0, 0)):
            try:
                return datetime(year, month, day, *clock)
            except ValueError:
                continue
    for match in _DAY_FIRST.finditer(text):
        try:
            return datetime(int(match[3]), int(match[2]), int(match[1]))
        except ValueError:
            continue
    return next((date for match in _MONTH_NAMED.finditer(text) if (date := parse_date(match[0]))), None)


def parse_date(value: object) -> datetime | None:
    """Parse the date in a field: ISO 8601, a time since 1970 in s, ms, µs or ns, or free text with a year."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _LONGEST:
            return None
        if text.replace(".", "", 1).isdecimal() and len(text) > 8:
            return _timestamp(float(text))
        return _written(text)
    return _timestamp(float(value)) if isinstance(value, int | float) and abs(value) < 1e20 else None


def sane(date: datetime | None) -> datetime | None:
    """Return the moment; None if it is in the first or last year of `datetime`, where a change of the time zone may
    fail.
    """
    return date if date and 1 < date.year < 9999 else None


def _timestamp(seconds: float) -> datetime | None:
    if not isfinite(seconds) or seconds < 1e8:  # before 1973: a counter, not a time
        return None
    while seconds > 1e11:
        seconds /= 1000
    try:
        return sane(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _written(text: str) -> datetime | None:
    try:
        return sane(datetime.fromisoformat(text))
    except ValueError:
        pass
    # The parser would give text without a year the current year.
    if not _HAS_YEAR.search(text):
        return None
    try:
        return sane(parser.parse(text, tzinfos=_zone))
    except (ValueError, OverflowError):
        return None


def _zone(_name: str | None, offset: int | None) -> tzinfo | None:
    """Return the zone for an offset; None for a zone's name, which is ambiguous."""
    return None if offset is None or abs(offset) >= 86400 else tz.tzoffset(None, offset)
