"""Answers questions for dates, times and time zones from the clock."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import ClassVar, Final

from device_app.english import moments, periods
from device_app.english.following import is_bare_follow_up
from device_app.english.moments import Question
from device_app.everyday import zones
from device_app.everyday.moments import day_in_words, ruled
from device_app.everyday.rule import Asked, Ruled
from shared.printable import counted

_LEAST_MONTH: Final = 28


@dataclass(frozen=True, slots=True)
class Clock:
    """Answers from the clock: dates, weekdays, durations, and the time at other places."""

    stands_alone: ClassVar[bool] = False

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the date or time that the question asks for; None if it asks for neither, or a word is unclear."""
        if asked.query.is_limited or is_bare_follow_up(asked.text):
            return None
        for question in moments.read(asked.text, asked.now.date()):
            if ruled := _FORMS[question.form](question, asked.now):
                return ruled
        return None


def _time(_: Question, now: datetime) -> Ruled:
    return ruled(
        f"It is {now:%H:%M} on {day_in_words(now.date())}.", "the time here", now.isoformat(timespec="minutes")
    )


def _date(_: Question, now: datetime) -> Ruled:
    return ruled(f"Today is {day_in_words(now.date())}.", "today's date", now.date().isoformat())


def _until(question: Question, now: datetime) -> Ruled | None:
    if end := question.parts.get("end"):
        return _left(end, now)
    text = question.parts.get("date") or question.parts["feast"]
    day = _day_of(text, now.date(), ahead=True)
    if day is None or day < now.date():
        return None
    return _distance(now.date(), day, f"until {day_in_words(day)}", is_day_asked="feast" in question.parts)


def _left(end: str, now: datetime) -> Ruled | None:
    """Return the time left until noon, midnight or the weekend, or until the end of the week, month or year."""
    today = now.date()
    if end in ("midnight", "noon", "day", "today"):
        then = datetime.combine(today, time(12 if end == "noon" else 0), now.tzinfo)
        minutes = int(((then if then > now else then + timedelta(1)) - now).total_seconds()) // 60
        text = f"{counted(minutes // 60, 'hour')} and {counted(minutes % 60, 'minute')} until {end}."
        return ruled(text, f"time · until {end}", str(minutes), "minutes")
    lasts = {
        "year": date(today.year, 12, 31),
        "new year": date(today.year, 12, 31),
        "month": today.replace(day=calendar.monthrange(today.year, today.month)[1]),
        "week": today + timedelta(6 - today.weekday()),
        "weekend": today + timedelta(max(5 - today.weekday(), 0)),
    }
    return _distance(today, lasts[end], f"until {day_in_words(lasts[end])}") if end in lasts else None


def _length(question: Question, now: datetime) -> Ruled | None:
    text = question.parts["date"]
    period = periods.read(text, now.date(), ahead=True) or periods.read(f"in {text}", now.date(), ahead=True)
    if period is None or period.days < _LEAST_MONTH:
        return None
    return ruled(f"{period.words} has {period.days} days.", f"days · {period.words}", str(period.days), "days")


def _age(question: Question, now: datetime) -> Ruled | None:
    period = periods.read(question.parts["date"], now.date()) or periods.read(
        f"in {question.parts['date']}", now.date()
    )
    if period is None or not period.first or period.first > now.date():
        return None
    had = (now.month, now.day) >= (period.first.month, period.first.day)
    years = now.year - period.first.year - (not had)
    text = f"{years} years" if period.days == 1 else f"{years} or {years - 1} years" if had else f"{years} years"
    return ruled(f"{text} (born {period.words}).", f"age · born {period.words}", str(years), "years")


def _later(question: Question, now: datetime) -> Ruled | None:
    match = re.fullmatch(r"(\w+) (minute|hour)s?(?: and (\w+) minutes?)?|(half an hour)", question.parts["span"])
    if match is None:
        return None
    try:
        minutes = 30 if match[4] else periods.count_of(match[1]) * (60 if match[2] == "hour" else 1)
        minutes += periods.count_of(match[3]) if match[3] else 0
    except KeyError:
        return None
    then = now + timedelta(minutes=-minutes if question.is_past else minutes)
    text = f"{then:%H:%M} on {day_in_words(then.date())}."
    return ruled(text, f"time · {counted(minutes, 'minute')} from now", then.isoformat(timespec="minutes"))


def _day_of_year(question: Question, now: datetime) -> Ruled | None:
    day = _day_of(question.parts["date"], now.date()) if "date" in question.parts else now.date()
    if day is None:
        return None
    number = day.timetuple().tm_yday
    return ruled(
        f"{day_in_words(day)} is day {number} of the year.",
        f"day of the year · {day_in_words(day)}",
        str(number),
        "day",
    )


def _next_leap(question: Question, now: datetime) -> Ruled:
    years = (
        range(now.year - 1, now.year - 9, -1)
        if question.parts["turn"] in ("last", "previous")
        else range(now.year + 1, now.year + 9)
    )
    year = next(year for year in years if calendar.isleap(year))
    return ruled(f"{year}.", f"{question.parts['turn']} leap year", str(year))


def _since(question: Question, now: datetime) -> Ruled | None:
    day = _day_of(question.parts["date"], now.date())
    return None if day is None or day > now.date() else _distance(day, now.date(), f"since {day_in_words(day)}")


def _between(question: Question, now: datetime) -> Ruled | None:
    first, last = (_day_of(f"on {question.parts[name]}", now.date(), ahead=True) for name in ("first", "last"))
    if first is None or last is None:
        return None
    first, last = min(first, last), max(first, last)
    return _distance(first, last, f"from {day_in_words(first)} to {day_in_words(last)}")


def _distance(first: date, last: date, words: str, *, is_day_asked: bool = False) -> Ruled:
    days = (last - first).days
    weeks, rest = divmod(days, 7)
    in_weeks = f", {counted(weeks, 'week')}" + (f" and {counted(rest, 'day')}" if rest else "") if weeks else ""
    text = (
        f"{day_in_words(last)}: in {counted(days, 'day')}{in_weeks}."
        if is_day_asked
        else f"{counted(days, 'day')} {words}{in_weeks}."
    )
    return ruled(text, f"days · {words}", str(days), "days")


def _weekday(question: Question, now: datetime) -> Ruled | None:
    day = _day_of(question.parts["date"], now.date(), ahead=not question.is_past)
    if day and (name := question.parts.get("weekday")):
        answer = "Yes" if f"{day:%A}".lower() == name else "No"
        return ruled(f"{answer}: {day_in_words(day)}.", f"weekday · {day_in_words(day)}", day.isoformat())
    return (
        None
        if day is None
        else ruled(f"{day_in_words(day)}.", f"weekday · {day_in_words(day)[len(f'{day:%A} ') :]}", day.isoformat())
    )


def _week(question: Question, now: datetime) -> Ruled | None:
    day = _first_day(question.parts["date"], now.date()) if "date" in question.parts else now.date()
    if day is None:
        return None
    year, week, _ = day.isocalendar()
    return ruled(
        f"{day_in_words(day)} is in week {week} of {year} (ISO 8601).",
        f"calendar week · {day_in_words(day)}",
        str(week),
        "week",
    )


def _leap(question: Question, now: datetime) -> Ruled | None:
    text = question.parts["year"]
    turn = {"this year": 0, "next year": 1, "last year": -1}.get(text)
    if turn is None and not re.fullmatch(r"\d{4}", text):
        return None
    year = now.year + turn if turn is not None else int(text)
    is_leap = calendar.isleap(year)
    text = f"Yes, {year} is a leap year." if is_leap else f"No, {year} is not a leap year."
    return ruled(text, f"leap year · {year}", str(is_leap).lower())


def _then(question: Question, now: datetime) -> Ruled | None:
    text = question.parts["date"]
    if not re.search(r"\b(?:ago|in|from|yesterday|tomorrow|next|last|after|before)\b", text):
        return None
    day = _day_of(text, now.date(), ahead=not question.is_past)
    return None if day is None else ruled(f"{day_in_words(day)}.", f"date · {text}", day.isoformat())


_FORMS: Final[Mapping[str, Callable[[Question, datetime], Ruled | None]]] = {
    "time": _time,
    "time in": zones.time_in,
    "date": _date,
    "until": _until,
    "since": _since,
    "between": _between,
    "weekday": _weekday,
    "week": _week,
    "leap": _leap,
    "then": _then,
    "at there": zones.at_there,
    "difference": zones.difference,
    "length": _length,
    "age": _age,
    "later": _later,
    "day of year": _day_of_year,
    "next leap": _next_leap,
}


def _day_of(text: str, today: date, *, ahead: bool = False) -> date | None:
    """Return the only day that a text names; None if it names none, or several."""
    period = periods.read(text, today, ahead=ahead)
    return period.first if period and period.days == 1 else None


def _first_day(text: str, today: date) -> date | None:
    period = periods.read(text, today)
    return period.first if period else None
