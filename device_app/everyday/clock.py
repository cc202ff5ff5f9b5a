"""Answers questions for dates, times and time zones from the clock."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import ClassVar, Final

from device_app.english import moments, periods
from device_app.english.moments import Question
from device_app.english.places import zone
from device_app.everyday.rule import Asked, Item, Ruled
from shared.printable import counted

_DAY_SECONDS: Final = 86_400
_AT = re.compile(r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?\s*(?P<half>[ap]\.?m\.?)?")
_NAMED_TIMES: Final = {"noon": time(12), "midday": time(12), "midnight": time(0)}


@dataclass(frozen=True, slots=True)
class MomentItem(Item):
    """A date or a time of day, ISO 8601; or a number of days, weeks or hours, with its `unit`."""

    TYPE: ClassVar[str] = "moment"
    value: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Clock:
    """Answers from the clock: dates, weekdays, how long until, the time elsewhere."""

    stands_alone: ClassVar[bool] = False

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the date or time that is asked for; None if a part of the question is no date and no known place."""
        if asked.query.is_limited:
            return None
        for question in moments.read(asked.text):
            if ruled := _FORMS[question.form](question, asked.now):
                return ruled
        return None


def _time(_: Question, now: datetime) -> Ruled:
    return _ruled(f"It is {now:%H:%M} on {_day(now.date())}.", "the time here", now.isoformat(timespec="minutes"))


def _time_in(question: Question, now: datetime) -> Ruled | None:
    there = zone(question.parts["place"])
    if there is None:
        return None
    at, name = now.astimezone(there), _place(question.parts["place"])
    return _ruled(
        f"It is {at:%H:%M} in {name}, {_day(at.date())}.", f"the time in {name}", at.isoformat(timespec="minutes")
    )


def _date(_: Question, now: datetime) -> Ruled:
    return _ruled(f"Today is {_day(now.date())}.", "today's date", now.date().isoformat())


def _until(question: Question, now: datetime) -> Ruled | None:
    text = question.parts.get("date") or " ".join(
        filter(None, (question.parts.get("feast"), question.parts.get("year")))
    )
    day = _day_of(text, now.date(), ahead=True)
    if day is None or day < now.date():
        return None
    return _distance(now.date(), day, f"until {_day(day)}", is_day_asked="feast" in question.parts)


def _since(question: Question, now: datetime) -> Ruled | None:
    day = _day_of(question.parts["date"], now.date())
    return None if day is None or day > now.date() else _distance(day, now.date(), f"since {_day(day)}")


def _between(question: Question, now: datetime) -> Ruled | None:
    first, last = (_day_of(question.parts[name], now.date(), ahead=True) for name in ("first", "last"))
    if first is None or last is None:
        return None
    first, last = min(first, last), max(first, last)
    return _distance(first, last, f"from {_day(first)} to {_day(last)}")


def _distance(first: date, last: date, words: str, *, is_day_asked: bool = False) -> Ruled:
    days = (last - first).days
    weeks, rest = divmod(days, 7)
    in_weeks = f", {counted(weeks, 'week')}" + (f" and {counted(rest, 'day')}" if rest else "") if weeks else ""
    text = (
        f"{_day(last)}: in {counted(days, 'day')}{in_weeks}."
        if is_day_asked
        else f"{counted(days, 'day')} {words}{in_weeks}."
    )
    return _ruled(text, f"days · {words}", str(days), "days")


def _weekday(question: Question, now: datetime) -> Ruled | None:
    day = _day_of(question.parts["date"], now.date(), ahead=not question.is_past)
    if day and (name := question.parts.get("weekday")):
        answer = "Yes" if f"{day:%A}".lower() == name else "No"
        return _ruled(f"{answer}: {_day(day)}.", f"weekday · {_day(day)}", day.isoformat())
    return (
        None if day is None else _ruled(f"{_day(day)}.", f"weekday · {_day(day)[len(f'{day:%A} ') :]}", day.isoformat())
    )


def _week(question: Question, now: datetime) -> Ruled | None:
    day = (
        _first_day(question.parts["date"], now.date()) if question.parts.get("date", "this") not in _NOW else now.date()
    )
    if day is None:
        return None
    year, week, _ = day.isocalendar()
    return _ruled(
        f"{_day(day)} is in week {week} of {year} (ISO 8601).", f"calendar week · {_day(day)}", str(week), "week"
    )


_NOW: Final = ("this", "it", "now", "today", "this week", "it now", "it today", "currently", "current")


def _leap(question: Question, now: datetime) -> Ruled | None:
    text = question.parts.get("year") or question.parts["date"]
    turn = {"this year": 0, "it": 0, "next year": 1, "last year": -1}.get(text)
    if turn is None and not re.fullmatch(r"\d{4}", text):
        return None
    year = now.year + turn if turn is not None else int(text)
    is_leap = calendar.isleap(year)
    text = f"Yes, {year} is a leap year." if is_leap else f"No, {year} is not a leap year."
    return _ruled(text, f"leap year · {year}", str(is_leap).lower())


def _then(question: Question, now: datetime) -> Ruled | None:
    text = re.sub(r"^(?:on|it|be)\s+", "", question.parts["date"])
    if not re.search(r"\b(?:ago|in|from|yesterday|tomorrow|next|last|after|before)\b", text):
        return None
    period = periods.read(text, now.date(), ahead=True)
    if period and period.rest:
        return None  # "the date of the party tomorrow"
    day = _day_of(text, now.date(), ahead=True)
    return None if day is None else _ruled(f"{_day(day)}.", f"date · {text}", day.isoformat())


def _at_there(question: Question, now: datetime) -> Ruled | None:
    said, origin = question.parts.get("time", ""), question.parts.get("from", "")
    if zoned := question.parts.get("zoned"):
        match = re.match(r"(noon|midday|midnight|\d{1,2}(?:[:.]\d\d)?\s*(?:[ap]\.?m\.?)?)\s+(?:in |at )?(.+)", zoned)
        if match is None:
            return None
        said, origin = match[1], match[2]
    at, there = _clock(said), zone(question.parts["place"])
    here: tzinfo | None = zone(origin) if origin and origin != "here" else now.tzinfo
    if at is None or there is None or here is None:
        return None
    then = datetime.combine(now.astimezone(here).date(), at, here)
    moved = then.astimezone(there)
    names = (_place(origin) if origin and origin != "here" else "here"), _place(question.parts["place"])
    other = {1: ", the next day", -1: ", the day before"}.get((moved.date() - then.date()).days, "")
    place_here = names[0] if names[0] == "here" else f"in {names[0]}"
    text = f"{then:%H:%M} {place_here} is {moved:%H:%M} in {names[1]}{other} (on {_day(then.date())})."
    return _ruled(text, f"time zones · {then:%H:%M} {place_here} → {names[1]}", moved.isoformat(timespec="minutes"))


def _difference(question: Question, now: datetime) -> Ruled | None:
    there, origin = zone(question.parts["place"]), question.parts.get("from", "here")
    origin = "here" if origin in ("us", "me", "here") else origin
    here: tzinfo | None = now.tzinfo if origin == "here" else zone(origin)
    if there is None or here is None:
        return None
    offsets = [(now.astimezone(each).utcoffset() or timedelta()).total_seconds() / 3600 for each in (here, there)]
    hours = offsets[1] - offsets[0]
    base = "your time" if origin == "here" else _place(origin)
    relation = "as" if not hours else "ahead of" if hours > 0 else "behind"
    name = _place(question.parts["place"])
    text = (
        f"{name} has the same time {relation} {base} now."
        if not hours
        else f"{name} is {abs(hours):g} hours {relation} {base} now."
    )
    return _ruled(text, f"time zones · {base} → {name}", f"{hours:g}", "hours")


_FORMS: Final[Mapping[str, Callable[[Question, datetime], Ruled | None]]] = {
    "time": _time,
    "time in": _time_in,
    "date": _date,
    "until": _until,
    "since": _since,
    "between": _between,
    "weekday": _weekday,
    "week": _week,
    "leap": _leap,
    "then": _then,
    "at there": _at_there,
    "difference": _difference,
}


def _ruled(text: str, understood: str, value: str, unit: str = "") -> Ruled:
    return Ruled(text, understood, (MomentItem(value, unit),))


def _day(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B} {day.year}"


def _place(name: str) -> str:
    name = name.removeprefix("the ").removesuffix(" time").removesuffix("'s")
    return (
        name.upper()
        if len(name) <= 4 and zone(name) and name in ("utc", "gmt", "cet", "est", "pst", "uk", "nyc", "la")
        else name.title()
    )


def _clock(said: str) -> time | None:
    """Return a time of day: "8 am", "15:00", "noon", "9 in the morning"."""
    if said in _NAMED_TIMES:
        return _NAMED_TIMES[said]
    match = _AT.fullmatch(said.strip())
    if match is None:
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    half = (match["half"] or "")[:1]
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    return time(hour, minute) if hour < 24 and minute < 60 else None


def _day_of(text: str, today: date, *, ahead: bool = False) -> date | None:
    """Return the one day that a text names, whatever else it says; None for none, or for more than a day."""
    period = periods.read(text, today, ahead=ahead)
    return period.first if period and period.days == 1 else None


def _first_day(text: str, today: date) -> date | None:
    period = periods.read(text, today)
    return period.first if period else None
