"""Reads the days that a question speaks of: "on 14 March", "in April 2026", "yesterday". Knows no store."""

import calendar
import re
from collections.abc import Iterator
from datetime import date, timedelta

Span = tuple[date, date]
"""First and last day, inclusive."""

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_NAME = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_DATE = re.compile(
    rf"""\b(?:
        (?P<year>(?:19|20)\d\d)-(?P<month>0?[1-9]|1[0-2])(?:-(?P<day>\d{{1,2}}))?(?!-)   # 2026-03-14, 2026-03
        | (?P<year_>(?:19|20)\d\d)(?P<month_>[01]\d)(?P<day_>[0-3]\d)           # 20260314
        | (?P<day_first>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<named>{_NAME})(?:,?\s+(?P<its_year>\d{{4}}))?
        | (?P<named_>{_NAME})\s+(?:(?P<day_last>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(?P<its_year_>\d{{4}}))?
                                   | (?P<its_year__>\d{{4}}))
        # Without day and year a month needs a preposition: "may" and "march" are words as well.
        | (?:in|during|of|since|until|early|mid|late|last|this|next)\s+
          (?:(?P<alone>{_NAME})(?!\s+\d)|(?P<year_alone>(?:19|20)\d\d)(?!-))
        )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_RELATIVE = re.compile(
    r"\b(?:(?P<day>yesterday|today|tonight|tomorrow|this (?:morning|afternoon|evening))"
    r"|(?P<turn>last|this|next) (?P<unit>week|month|year))\b",
    re.IGNORECASE,
)


def named(question: str, today: date) -> list[Span]:
    """The days, months and years that a question names. A day without a year is the last such one and the next."""
    spans: list[Span] = []
    for found in _DATE.finditer(question):
        # Names that differ by their underscores stand for the same part of a date.
        part = {name.rstrip("_"): text for name, text in found.groupdict().items() if text}
        year = int(part.get("year") or part.get("its_year") or part.get("year_alone") or 0)
        name = part.get("named") or part.get("alone") or ""
        month = _MONTHS[name.lower().rstrip(".")] if name else int(part.get("month", 0))
        spans += _on(year, month, int(part.get("day") or part.get("day_first") or part.get("day_last") or 0), today)
    for found in _RELATIVE.finditer(question):
        spans += _relative(found.groupdict(), today)
    return spans


def _relative(part: dict[str, str | None], today: date) -> Iterator[Span]:
    if part["day"]:
        day = today + timedelta({"yesterday": -1, "tomorrow": 1}.get(part["day"].lower(), 0))
        yield day, day
        return
    turn = {"last": -1, "this": 0, "next": 1}[(part["turn"] or "").lower()]
    match (part["unit"] or "").lower():
        case "week":
            monday = today + timedelta(7 * turn - today.weekday())
            yield monday, monday + timedelta(6)
        case "month":
            months = today.year * 12 + today.month - 1 + turn
            yield from _on(months // 12, months % 12 + 1, 0, today)
        case _:
            yield from _on(today.year + turn, 0, 0, today)


def _on(year: int, month: int, day: int, today: date) -> Iterator[Span]:
    """The day, the month where `day` is 0, the year where `month` is; the last and the next such where `year` is 0."""
    if year:
        spans = [_span(year, month, day)]
    else:
        # Eight years hold every day of the calendar, the 29th of February included.
        around = [span for years in range(-8, 9) if (span := _span(today.year + years, month, day))]
        past = [span for span in around if span[0] <= today]
        spans = [*past[-1:], *[span for span in around if span[0] > today][:1]]
    yield from filter(None, spans)


def _span(year: int, month: int, day: int) -> Span | None:
    try:
        last = date(year, month or 12, day or calendar.monthrange(year, month or 12)[1])
        return date(year, month or 1, day or 1), last
    except ValueError:  # 2026-02-30
        return None
