"""Rewrites phrases for days of an agenda into plain ones, which `windows` reads: "between now and Sunday", "Friday
week", "by the end of the month", "the week after next", "Christmas Eve".

"the week after next" becomes "from 2026-11-30 to 2026-12-06". Reads no store.
"""

import calendar
import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from dateutil.easter import easter

from device_app.english.lexicon import NUMBERS

_DAYS: Final = [name.lower() for name in calendar.day_name]
_WEEKDAY: Final = "|".join(_DAYS)
_COUNTED: Final = "two three four five six seven eight nine ten twelve fourteen"
_COUNTS: Final = {"a": 1, "one": 1, "a couple of": 2} | {word: int(NUMBERS[word]) for word in _COUNTED.split()}
_COUNT: Final = rf"(?P<count>\d{{1,2}}|{'|'.join(_COUNTS)})"
_MOST_DAYS: Final = 60

_NOW: Final = re.compile(r"\b(?P<from>between|from) (?:right )?now (?P<to>and|to|until|till|up to)\b")
_UNTIL: Final = re.compile(
    rf"^(?P<before>(?!.*\b(?:how|long|days|weeks|time|sleeps|left|free|from|between)\b).*?)\b"
    rf"(?:up )?(?:until|till|through) (?:and including )?(?=(?:this |next )?(?:{_WEEKDAY}|weekend|the weekend)\b)"
)
_FORTNIGHT: Final = re.compile(r"\b(?P<which>next|coming|following) fortnight\b")
_COMING_DAYS: Final = re.compile(r"\b(?:next|coming|following) days\b")
_LATER: Final = re.compile(r"\blater (?:on )?(?:in )?(?:this|the) (?P<unit>week|month|year)\b")
_AFTER_NEXT: Final = re.compile(r"\b(?:in |on |during |over )?(?:the )?(?P<unit>week|weekend|month) after next\b")
_WEEK_ON: Final = re.compile(
    rf"\b(?:on )?(?:a week on (?P<on>{_WEEKDAY}|tomorrow)|a week (?:from )?(?P<from>today|tomorrow|{_WEEKDAY})"
    rf"|(?P<week>{_WEEKDAY}|today|tomorrow) week)\b"
)
_DAYS_ON: Final = re.compile(
    rf"\bin {_COUNT} days(?:['’] time)?(?! of\b)|\b{_COUNT.replace('count', 'count_')} days from (?:now|today)\b"
    r"|\b(?:in )?a (?P<fortnight>fortnight)(?: from (?:now|today)|['’]s time)\b"
)
_END: Final = re.compile(
    r"\b(?P<how>by|before|until|till|up to|at|towards) the end of (?P<of>the|this|next) (?P<unit>month|week|year)\b"
)
_FEASTS: Final = {
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "boxing day": (12, 26),
    "new year's eve": (12, 31),
    "new years eve": (12, 31),
    "new year's day": (1, 1),
    "new years day": (1, 1),
    "valentine's day": (2, 14),
    "halloween": (10, 31),
}
_OF_EASTER: Final = {"good friday": -2, "easter sunday": 0, "easter monday": 1}
_FEAST: Final = re.compile(
    rf"\b(?:on )?(?P<feast>{'|'.join((*_FEASTS, *_OF_EASTER))})\b(?! (?:party|dinner|lunch|meal))"
)
_LATE: Final = 21
"""The day of a month from which on it is its end."""


def resolved(text: str, today: date, *, is_past: bool = False) -> str:
    """Return a text in lower case with its phrases for days rewritten.

    A feast without a year is the next one, or with `is_past` the last one.
    """
    text = _NOW.sub(r"\g<from> today \g<to>", text)
    text = _UNTIL.sub(r"\g<before>from today to ", text)
    text = _FORTNIGHT.sub(r"\g<which> two weeks", text)
    text = _COMING_DAYS.sub("next few days", text)
    text = _LATER.sub(r"rest of this \g<unit>", text)
    text = _AFTER_NEXT.sub(lambda match: _span(*_after_next(match["unit"], today)), text)
    text = _WEEK_ON.sub(lambda match: _day(_week_on(match["on"] or match["from"] or match["week"], today)), text)
    text = _DAYS_ON.sub(_days_on(today), text)
    text = _END.sub(lambda match: _end(match, today), text)
    return _FEAST.sub(lambda match: _day(_feast(match["feast"], today, is_past=is_past)), text)


def _span(first: date, last: date) -> str:
    return f"from {first.isoformat()} to {last.isoformat()}" if first < last else _day(first)


def _day(day: date) -> str:
    return f"on {day.day} {calendar.month_name[day.month].lower()} {day.year}"


def _after_next(unit: str, today: date) -> tuple[date, date]:
    if unit == "month":
        first = _month_later(_month_later(today))
        return first, _last_of_month(first)
    monday = today + timedelta(14 - today.weekday())
    return (monday + timedelta(5), monday + timedelta(6)) if unit == "weekend" else (monday, monday + timedelta(6))


def _week_on(said: str, today: date) -> date:
    """Return the day a week after today, tomorrow or the next such weekday."""
    ahead = {"today": 0, "tomorrow": 1}
    return today + timedelta(7 + (ahead[said] if said in ahead else (_DAYS.index(said) - today.weekday()) % 7))


def _days_on(today: date) -> Callable[[re.Match[str]], str]:
    def write(match: re.Match[str]) -> str:
        said = match["count"] or match["count_"]
        count = 14 if match["fortnight"] else _COUNTS.get(said) or int(said)
        return _day(today + timedelta(count)) if count <= _MOST_DAYS else match[0]

    return write


def _end(match: re.Match[str], today: date) -> str:
    """Return the days until the end of a week, month or year, or the last days of a month."""
    is_next, is_at = match["of"] == "next", match["how"] in ("at", "towards")
    if match["unit"] == "month":
        last = _last_of_month(_month_later(today) if is_next else today)
        return _span(last.replace(day=_LATE) if is_at else today, last)
    if is_at:
        return match[0]
    if match["unit"] == "week":
        return _span(today, today + timedelta(6 - today.weekday() + 7 * is_next))
    return match[0] if is_next else _span(today, date(today.year, 12, 31))


def _feast(name: str, today: date, *, is_past: bool) -> date:
    def in_year(year: int) -> date:
        return easter(year) + timedelta(_OF_EASTER[name]) if name in _OF_EASTER else date(year, *_FEASTS[name])

    day = in_year(today.year)
    if is_past:
        return day if day <= today else in_year(today.year - 1)
    return day if day >= today else in_year(today.year + 1)


def _month_later(day: date) -> date:
    return (day.replace(day=1) + timedelta(32)).replace(day=1)


def _last_of_month(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])
