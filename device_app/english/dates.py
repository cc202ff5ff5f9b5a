"""Parses the days that a question names: "on 14 March", "in April 2026", "last Tuesday". Reads no store.

Passages of these days are preferred, not required, so a wrong day does little harm. Names and verbs that are also
months ("May", "march", "Jan") count only next to other parts of a date.
"""

import calendar
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

Span = tuple[date, date]
"""The first and last day of a period, inclusive."""

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_MONTH = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_WEEKDAYS = [name.lower() for name in calendar.day_name]
_YEAR = r"(?:19|20)\d\d"
_ORDINAL = r"(?:st|nd|rd|th)?"

_DIGITS = re.compile(
    rf"""\b(?:
        (?P<year>{_YEAR})-(?P<month>0?[1-9]|1[0-2])(?:-(?P<day>\d{{1,2}})(?=\b|T\d))?(?![-\d])  # 2026-03-14, 2026-03
        | (?P<year_>{_YEAR})(?P<month_>[01]\d)(?P<day_>[0-3]\d)\b                               # 20260314
        | (?P<day__>\d{{1,2}})(?P<between>[./])\ ?(?P<month__>\d{{1,2}})(?P=between)\ ?(?P<year__>{_YEAR})\b
        )""",
    re.VERBOSE,
)
_NAMED = re.compile(
    rf"""\b(?:(?P<open>since)\s+|(?P<turn>last|this|next)\s+|(?P<within>in|during|until|early|mid|late|on|by|from|for)\s+)?
        (?:the\s+)?
        (?: (?P<day>\d{{1,2}}){_ORDINAL}(?:\s+of)?\s+(?P<month>{_MONTH})(?:,?\s+(?P<year>{_YEAR}))?
          | (?P<month_>{_MONTH})\s+(?P<day_>\d{{1,2}}){_ORDINAL}\b(?!:)(?:,?\s+(?P<year_>{_YEAR}))?
          | (?P<month__>{_MONTH}),?\s+(?P<year__>{_YEAR})
          | (?P<month___>{_MONTH})(?!\s+\d)
          | (?P<year___>{_YEAR})(?!-)
        )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_RELATIVE = re.compile(
    rf"""\b(?:
        (?P<day>yesterday|today|tonight|tomorrow|last\ night|this\ (?:morning|afternoon|evening))
        | (?P<turn>last|this|next)\ (?P<unit>week|month|year)
        | (?:(?P<which>last|this|next)\ )?(?P<weekday>{"|".join(_WEEKDAYS)})
        )\b""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A day, month or year that a text names, from index `start` to `end`; `spans` are its possible periods."""

    start: int
    end: int
    spans: tuple[Span, ...]


def named(question: str, today: date) -> list[Span]:
    """Return the days, months and years that a question names; without a year, the last and the next such date."""
    return [span for mention in _mentions(question, today) for span in mention.spans]


def mentions(question: str, today: date) -> list[Mention]:
    """Return a question's mentions of days, months and years, in order; those of impossible dates have no spans."""
    return sorted(_mentions(question, today), key=lambda mention: mention.start)


def _mentions(question: str, today: date) -> Iterator[Mention]:
    for pattern, read in ((_DIGITS, _in_digits), (_NAMED, _by_name), (_RELATIVE, _relative)):
        for match in pattern.finditer(question):
            if (spans := read(match, today)) is not None:
                yield Mention(match.start(), match.end(), tuple(spans))


def places(question: str) -> list[tuple[int, int]]:
    """Return the start and end indexes of the days, months and years that the question names."""
    return [match.span() for pattern in (_DIGITS, _NAMED, _RELATIVE) for match in pattern.finditer(question)]


def without(question: str) -> str:
    """Return the question without the days, months and years that it names."""
    for pattern in (_DIGITS, _NAMED, _RELATIVE):
        question = pattern.sub(" ", question)
    return question


def _in_digits(match: re.Match[str], today: date) -> Iterable[Span]:
    part = _parts(match)
    year, month, day = int(part["year"]), int(part["month"]), int(part.get("day", 0))
    yield from _on(year, month, day, today)
    if part.get("between") == "/" and day != month:  # also read with the month first
        yield from _on(year, day, month, today)


def _by_name(match: re.Match[str], today: date) -> Iterable[Span] | None:
    """Return the spans of a match; None if its words do not form a date."""
    part = _parts(match)
    name, day, year = part.get("month", ""), int(part.get("day", 0)), int(part.get("year", 0))
    surrounded = any(part.get(context) for context in ("open", "turn", "within"))
    if not surrounded and (not (day or name) or not (day or year) or (name == "may" and not year)):
        return None
    if part.get("within") in ("on", "by", "from") and not day:
        return None
    spans = list(_on(year, _MONTHS.get(name.lower().rstrip("."), 0), day, today))
    if part.get("turn", "").lower() in ("last", "next") and len(spans) == 2:
        spans = spans[:1] if part["turn"].lower() == "last" else spans[1:]
    if part.get("open"):
        spans = [(first, today) for first, _ in spans[:1] if first <= today]
    return spans


def _relative(match: re.Match[str], today: date) -> Iterable[Span]:
    part = {name: text.lower() for name, text in match.groupdict().items() if text}
    turn = {"last": -1, "next": 1}.get(part.get("turn", ""), 0)
    if "day" in part:
        day = today + timedelta({"yesterday": -1, "last night": -1, "tomorrow": 1}.get(part["day"], 0))
        yield day, day
    elif "weekday" in part:
        ahead = timedelta((_WEEKDAYS.index(part["weekday"]) - today.weekday() - 1) % 7 + 1)
        coming, past = today + ahead, today + ahead - timedelta(7)
        which = part.get("which", "")
        if which == "last" and past == today:
            past -= timedelta(7)
        yield from ((day, day) for day in {"last": [past], "next": [coming]}.get(which, [past, coming]))
    elif part["unit"] == "week":
        monday = today + timedelta(7 * turn - today.weekday())
        yield monday, monday + timedelta(6)
    elif part["unit"] == "month":
        months = today.year * 12 + today.month - 1 + turn
        yield from _on(months // 12, months % 12 + 1, 0, today)
    else:
        yield from _on(today.year + turn, 0, 0, today)


def _parts(match: re.Match[str]) -> dict[str, str]:
    """Return the matched groups by part of the date, without the underscores that make the groups' names unique."""
    return {name.rstrip("_"): text for name, text in match.groupdict().items() if text}


def _on(year: int, month: int, day: int, today: date) -> Iterator[Span]:
    """Yield the span of a day, of a month if `day` is 0, or of a year if `month` is 0.

    If `year` is 0, yield the last and the next such span.
    """
    if year:
        spans = [_span(year, month, day)]
    else:
        # Any 8 years contain every calendar day, also 29 February.
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
