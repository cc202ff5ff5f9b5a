"""Parses the one period that a question names: "in October", "last week", "between 3 and 9 May", "two days ago".

Unlike `dates`, which returns all days that may be meant, this module decides on one period: the last such period, or
with `ahead` the next. Misspelled months and weekdays are corrected.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from dateutil.easter import easter
from dateutil.relativedelta import relativedelta

from device_app.english import dates, day_names
from device_app.english.dates import Mention, Span
from device_app.english.lexicon import NUMBERS
from device_app.english.spelling import nearest

_NAMES: Final = frozenset(
    [
        *(name.lower() for name in (*calendar.month_name[1:], *calendar.day_name)),
        *("yesterday", "tomorrow", "today", "weekend", "christmas", "easter"),
    ]
)
_KNOWN_WORDS: Final = frozenset(
    ["marched", "marches", "matched", "matches", "monthly", "mondays", "fridays", "sundays", "sunder"]
)
_LIKE: Final = 0.83

_COUNT = rf"(?P<count>\d{{1,4}}|an?|(?:a )?(?:couple of|few)|several|{'|'.join(map(re.escape, NUMBERS))})"
_VAGUE: Final = {"couple of": 2, "few": 3, "several": 5}
_UNIT = r"(?P<unit>days?|weeks?|fortnights?|months?|years?)"
_BEGIN = re.compile(r"\b(?:between|from)\s", re.I)
_RANGE = re.compile(
    r"(?:between|from)\s+(?P<first>.{1,30}?)\s+(?:and|to|until|till|through|-)\s+(?P<last>.{1,30})", re.I
)
_LAST = re.compile(
    rf"\b(?:(?:in|over|during|within|for)\s+)?(?:the\s+)?(?P<turn>last|past|next|coming)\s+{_COUNT}\s+{_UNIT}\b", re.I
)
_AGO = re.compile(rf"\b{_COUNT}\s+{_UNIT}\s+(?P<turn>ago|from (?:now|today)|before (?:now|today)|after today)\b", re.I)
_IN = re.compile(rf"\bin\s+{_COUNT}\s+{_UNIT}(?:['’]s? time)?(?!\s+of)\b", re.I)
_AROUND_DAYS = re.compile(
    r"\b(?:the\s+)?(?:(?P<before>day before yesterday)|(?P<after>day after tomorrow)|"
    r"(?P<turn>last|this|next|coming|past)?\s*"
    r"(?P<weekend>weekend))\b",
    re.I,
)
_FEAST = re.compile(
    r"\b(?P<feast>christmas(?: (?:eve|day))?|new year['’]?s?(?: (?:eve|day))?|easter(?: (?:sunday|monday))?|"
    r"good friday|halloween|"
    r"valentine['’]?s day)\b(?:,?\s+(?:in\s+)?(?P<year>(?:19|20)\d\d|(?:this|next|last) year))?",
    re.I,
)
_OF_MONTH = re.compile(
    rf"(?<!\d )(?<!\d[snrt][tdh] )\b(?:from|of|dated)\s+"
    rf"(?=(?:{'|'.join(calendar.month_name[1:])})\b(?!\s+\d{{1,2}}\b)|(?:19|20)\d\d\b)",
    re.I,
)
_BEFORE = re.compile(r"\b(?:(?P<open>since|after)|(?P<until>before|until|till))\s+(?:the\s+)?$", re.I)
_DANGLING = re.compile(r"[\s,]*\b(?:(?:on|in|during|from|of|for|at|around)\s+)?(?:the\s+)?$", re.I)


@dataclass(frozen=True, slots=True)
class Period:
    """A period: its first and last day, each None if open, and the text without the words for the period."""

    first: date | None
    last: date | None
    rest: str

    @property
    def days(self) -> int:
        """The number of the period's days; 0 if the period is open."""
        return (self.last - self.first).days + 1 if self.first and self.last else 0

    @property
    def words(self) -> str:
        """The period as a phrase: "October 2026", "from 3 to 9 May 2026", "since 1 March 2026"."""
        return words(self.first, self.last)


def read(text: str, today: date, *, ahead: bool = False) -> Period | None:
    """Return the period that the text names, the last one or with `ahead` the next; None for none or several."""
    text = day_names.plainly(_OF_MONTH.sub("in ", corrected(text)), today, ahead=ahead)
    for begin in _BEGIN.finditer(text):
        if (match := _RANGE.match(text, begin.start())) and (between := _between(match, today, ahead=ahead)):
            return between
    mentions = _joined(
        sorted((*_own(text, today), *dates.mentions(text, today)), key=lambda each: (each.start, -each.end))
    )
    if len(mentions) != 1 or not (span := _chosen(mentions[0].spans, today, ahead=ahead)):
        return None
    start, end = mentions[0].start, mentions[0].end
    first, last = span
    opened = _BEFORE.search(text, 0, start)
    if opened and opened["open"]:
        after = first if opened["open"].lower() == "since" else last + timedelta(1)
        return Period(after, None, _without(text, opened.start(), end))
    if opened:
        return Period(None, first - timedelta(1), _without(text, opened.start(), end))
    is_since = text[start:end].lower().startswith("since")
    return Period(first, None if is_since else last, _without(text, start, end))


def corrected(text: str) -> str:
    """Return the text with misspelled months and weekdays corrected."""

    def right(match: re.Match[str]) -> str:
        word = match[0].lower()
        near = word if word in _KNOWN_WORDS else nearest(word, _NAMES, _LIKE)
        return match[0] if near == word else near

    return re.sub(r"[A-Za-z]+", right, text)


def words(first: date | None, last: date | None) -> str:
    """Return the period from `first` to `last` as a phrase."""
    if first is None or last is None:
        return f"since {_day(first)}" if first else f"up to {_day(last)}" if last else "any time"
    if first == last:
        return f"{calendar.day_name[first.weekday()]} {_day(first)}"
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31) and first.year == last.year:
        return str(first.year)
    whole = first.day == 1 and last.day == calendar.monthrange(last.year, last.month)[1]
    if whole and (first.year, first.month) == (last.year, last.month):
        return f"{calendar.month_name[first.month]} {first.year}"
    return f"{_day(first)} to {_day(last)}"


def _day(day: date | None) -> str:
    return f"{day.day} {calendar.month_name[day.month]} {day.year}" if day else ""


def count_of(text: str) -> int:
    """Return a number that is written in digits or in words."""
    said = text.lower()
    if vague := _VAGUE.get(said.removeprefix("a ")):
        return vague
    return 1 if said in ("a", "an") else int(said) if said.isdigit() else int(NUMBERS[said])


def moved(today: date, count: int, unit: str) -> date | None:
    """Return the day that is `count` days, weeks, months or years away; None if it is outside the calendar."""
    name = {"fortnight": "week"}.get(unit := unit.lower().rstrip("s"), unit)
    count *= 2 if unit == "fortnight" else 1
    try:
        return today + relativedelta(**{f"{name}s": count})  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return None


def _own(text: str, today: date) -> Iterator[Mention]:
    """Yield the mentions of days that `dates` does not parse."""
    for match in _LAST.finditer(text):
        is_past = match["turn"].lower() in ("last", "past")
        end = moved(today, count_of(match["count"]) * (-1 if is_past else 1), match["unit"])
        yield Mention(*match.span(), ((end, today) if is_past else (today, end),) if end else ())
    for pattern, sign in ((_AGO, -1), (_IN, 1)):
        for match in pattern.finditer(text):
            turn = match.groupdict().get("turn") or ""
            day = moved(
                today,
                count_of(match["count"]) * (1 if turn.lower().startswith(("from", "after")) else sign),
                match["unit"],
            )
            yield Mention(*match.span(), ((day, day),) if day else ())
    for match in _AROUND_DAYS.finditer(text):
        if match["weekend"]:
            saturday = today + timedelta((5 - today.weekday()) if today.weekday() < 6 else -1)
            weeks = {"last": [-7], "past": [-7], "next": [7], "this": [0], "coming": [0]}
            shifts = weeks.get((match["turn"] or "").lower(), [-7, 0])
            yield Mention(*match.span(), tuple((saturday + timedelta(s), saturday + timedelta(s + 1)) for s in shifts))
        else:
            day = today + timedelta(-2 if match["before"] else 2)
            yield Mention(*match.span(), ((day, day),))
    for match in _FEAST.finditer(text):
        turn = {"this": 0, "next": 1, "last": -1}.get((match["year"] or "").partition(" ")[0].lower())
        said = int(match["year"]) if match["year"] and turn is None else today.year + (turn or 0)
        years = [said] if match["year"] else [today.year - 1, today.year, today.year + 1]
        yield Mention(
            *match.span(), tuple((day, day) for year in years for day in [_feast(match["feast"].lower(), year)])
        )


def _feast(name: str, year: int) -> date:
    plain = re.sub(r"['’]", "", name)
    sunday = easter(year)
    days = {
        "christmas eve": date(year, 12, 24),
        "new years eve": date(year, 12, 31),
        "easter monday": sunday + timedelta(1),
        "good friday": sunday - timedelta(2),
        "halloween": date(year, 10, 31),
        "valentines day": date(year, 2, 14),
    }
    other = (
        date(year, 1, 1) if plain.startswith("new") else sunday if plain.startswith("easter") else date(year, 12, 25)
    )
    return days.get(plain, other)


def _joined(mentions: list[Mention]) -> list[Mention]:
    """Return the mentions without nested ones, and with a month joined to the year after it: "July last year"."""
    joined: list[Mention] = []
    for mention in mentions:
        before = joined[-1] if joined else None
        if before and mention.start < before.end:
            continue
        if before and mention.start - before.end <= 1 and (inside := _within(before, mention)):
            joined[-1] = Mention(before.start, mention.end, inside)
        else:
            joined.append(mention)
    return joined


def _within(month: Mention, year: Mention) -> tuple[Span, ...]:
    """Return the span of a month or day in the year that the text names after it."""
    if len(year.spans) != 1 or year.spans[0][0].timetuple().tm_yday != 1 or year.spans[0][1].month != 12:
        return ()
    try:
        firsts = [
            (first.replace(year=year.spans[0][0].year), last.replace(year=year.spans[0][0].year))
            for first, last in month.spans
        ]
    except ValueError:
        return ()
    return tuple(dict.fromkeys(firsts))


def _between(match: re.Match[str], today: date, *, ahead: bool) -> Period | None:
    """Return the period between two days: "between 3 and 9 May", "from Monday to Thursday"."""
    text, last_words = match.string, match["last"]
    ends = dates.mentions(last_words, today)
    if not ends or ends[0].start > 4 or not (last := _chosen(ends[0].spans, today, ahead=ahead)):
        return None
    first_words = match["first"]
    if re.fullmatch(r"(?:the )?\d{1,2}(?:st|nd|rd|th)?", first_words):
        first_words += f" {calendar.month_name[last[0].month]} {last[0].year}"
    begins = dates.mentions(first_words, today)
    if not begins or not (first := _chosen(begins[0].spans, last[0], ahead=False)) or first[0] > last[1]:
        return None
    return Period(first[0], last[1], _without(text, match.start(), match.start("last") + ends[0].end))


def _chosen(spans: tuple[Span, ...], today: date, *, ahead: bool) -> Span | None:
    """Return the last span that starts by now; with `ahead`, the first that has not ended; else any span."""
    past = [span for span in spans if span[0] <= today]
    coming = [span for span in spans if span[1] >= today]
    first, other = (coming[:1], past[-1:]) if ahead else (past[-1:], coming[:1])
    return next(iter((*first, *other)), None)


def _without(text: str, start: int, end: int) -> str:
    before = _DANGLING.sub("", text[:start])
    return " ".join(f"{before} {text[end:].lstrip(' ,')}".split())
