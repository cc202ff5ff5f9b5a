"""Rewrites ways of naming days into plain ones, which `periods` and `windows` read: "tmrw", "23/11", "late in August".

"the last week of November" becomes "from 2026-11-24 to 2026-11-30". Reads no store.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from typing import Final

from device_app.english.dates import Span

_SPELLED: Final = {
    "tomorrow": "tmrw tmr tmw tmrrw 2moro 2morrow tomoz morrow",
    "today": "2day tday",
    "tonight": "2nite tonite 2night",
    "yesterday": "yday yest",
}
_SPELLINGS: Final = {word: name for name, words in _SPELLED.items() for word in words.split()}
_SPELLING: Final = re.compile(rf"\b(?:{'|'.join(_SPELLINGS)})\b", re.I)

_MONTHS: Final = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_SHORT: Final = {name[:3]: number for name, number in _MONTHS.items() if name != "may"} | {"sept": 9}
_NUMBERS: Final = _MONTHS | _SHORT
_MONTH: Final = rf"(?P<month>{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\b\.?"
_YEAR: Final = r"(?:,? (?P<year>(?:19|20)\d\d))?"
_OF: Final = r"(?: (?:of|in|from))?(?: the)? "
_ORDINAL: Final = "(?:st|nd|rd|th)?"
_DAY: Final = (
    rf"(?:(?P<day>\d{{1,2}}){_ORDINAL}(?: of)?(?: {_MONTH}{_YEAR})?"
    rf"|{_MONTH.replace('month', 'month_')} (?P<day_>\d{{1,2}}){_ORDINAL}{_YEAR.replace('year', 'year_')})(?!\w)"
)

_IN_DIGITS: Final = re.compile(r"(?<![\w./-])(?P<day>\d{1,2})/(?P<month>\d{1,2})(?![\w/.-]|\.\d| of\b)")
_WEEK_OF_MONTH: Final = re.compile(
    rf"\b(?:in )?(?:the )?(?P<which>first|1st|second|2nd|third|3rd|fourth|4th|last) (?P<part>week|half|weekend)"
    rf"{_OF}{_MONTH}{_YEAR}",
    re.I,
)
_AROUND_DAY: Final = re.compile(
    rf"\b(?:in |on |over |during )?(?:the )?(?P<part>week|weekend)(?: commencing| starting| beginning)?"
    rf"(?: of| from| around| with)?(?: the)?(?: (?:mon|satur|sun)day)?(?: the)? {_DAY}",
    re.I,
)
_PART_OF_MONTH: Final = re.compile(
    rf"\b(?:in |at |around |towards )?(?:the )?(?P<part>early|beginning|start|mid|middle|late|end)(?: |-)(?:of |in )?"
    rf"{_MONTH}{_YEAR}",
    re.I,
)
_LAST_MONTH: Final = _MONTH.replace("<month>", "<last>") + _YEAR.replace("<year>", "<last_year>")
_MONTHS_BETWEEN: Final = re.compile(
    rf"\b(?:(?:between|from) {_MONTH}{_YEAR} (?:and|to|until|till|through|up to) |{_MONTH.replace('month', 'month_')}"
    rf"{_YEAR.replace('year', 'year_')} ?(?:to|until|till|through|-|–) ?){_LAST_MONTH}(?! ?\d)",
    re.I,
)
_REST_OF_MONTH: Final = re.compile(
    rf"\b(?:in |over |during |for )?(?:the )?(?:rest|remainder) (?:of|in) {_MONTH}{_YEAR}", re.I
)
_SEASON: Final = re.compile(
    r"\b(?:(?:in|during|over) )?(?:(?P<turn>last|this|the|next|past) )?(?P<season>spring|summer|autumn|winter)\b"
    r"(?: (?:of )?(?P<year>(?:19|20)\d\d))?",
    re.I,
)
_WORDS_TOO: Final = frozenset(["may", "march", "mar", "jan", "jun"])
_LONE_MONTH: Final = re.compile(
    rf"(?<![\w-])(?<!\d )(?<!\dst )(?<!\dnd )(?<!\drd )(?<!\dth )(?<!in )(?<!of )(?<!from )(?<!to )(?<!and )(?<!this )"
    rf"(?<!last )(?<!next )(?<!since )(?<!until )(?<!before )(?<!after )(?<!during )(?<!early )(?<!late )(?<!mid )"
    rf"(?:{'|'.join(sorted({*_NUMBERS} - _WORDS_TOO, key=len, reverse=True))}|(?:may|march)(?=\W*$))"
    r"(?![\w'’]|\.?,? (?:\d|the \d))",
    re.I,
)
_MAY: Final = re.compile(r"\bmay (?P<day>\d{1,2})(?:st|nd|rd|th)?\b(?! ?(?:mails|notes|times|people|days))", re.I)
_OF_MAY: Final = re.compile(rf"\b(?P<day>\d{{1,2}}{_ORDINAL}(?: of)?) may\b(?! (?:i|we|be|have|not)\b)")
_WEEKDAY_OF: Final = re.compile(
    rf"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,? (?:the )?"
    rf"(?=\d{{1,2}}{_ORDINAL}(?: of)? {_MONTH}|{_MONTH.replace('month', 'month_')} \d)",
    re.I,
)
_WEEKDAY_NUMBERED: Final = re.compile(
    rf"\b(?P<weekday>{'|'.join(calendar.day_name)}),? (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)\b"
    rf"(?! (?:of )?(?:{'|'.join(_NUMBERS)})\b)",
    re.I,
)
_WHOLE_MONTH: Final = re.compile(
    rf"\b(?:(?:in|for|over|during|throughout|across) )?(?:(?:the )?(?:whole|entire|entirety)(?: month)?(?: of)?|all of|"
    rf"all through|throughout|the month of) (?:the month of )?(?=(?:{'|'.join(sorted(_MONTHS))})\b)",
    re.I,
)
_FIRST: Final = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
_TEENS: Final = [f"{each}teenth" for each in ("thir", "four", "fif", "six", "seven", "eigh", "nine")]
_ORDINALS: Final = [
    *(*_FIRST, "tenth", "eleventh", "twelfth", *_TEENS, "twentieth"),
    *(f"twenty-{each}" for each in _FIRST),
    *("thirtieth", "thirty-first"),
]
_ORDINAL_WORD: Final = re.compile(
    rf"\b({'|'.join(sorted(_ORDINALS, key=len, reverse=True))}) (?:of |in )?({'|'.join(_MONTHS)})\b", re.I
)
_VAGUE: Final = re.compile(r"(?<=\w) (?:or so|or thereabouts|or around then|sometime|some time)\b", re.I)
_FROM_TOMORROW: Final = re.compile(
    r"\b(?P<count>an?|one|two|three|four|\d{1,3}) (?P<unit>day|week)s? (?:from|after) tomorrow\b", re.I
)
_COUNTS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4}
_FIRSTS: Final = {"early": (1, 10), "beginning": (1, 10), "start": (1, 10), "mid": (11, 20), "middle": (11, 20)}
_WEEKS: Final = {"first": 1, "1st": 1, "second": 8, "2nd": 8, "third": 15, "3rd": 15, "fourth": 22, "4th": 22}
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


def plainly(text: str, today: date, *, ahead: bool) -> str:
    """Return the text with its days named plainly. A date without a year is the next such date with `ahead`, else the
    last.
    """

    def rewritten(days: Callable[[re.Match[str]], tuple[date, date] | None]) -> Callable[[re.Match[str]], str]:
        def write(match: re.Match[str]) -> str:
            try:
                span = days(match)
            except ValueError:  # 31 June
                span = None
            return f"from {span[0].isoformat()} to {span[1].isoformat()}" if span else match[0]

        return write

    def month_of(match: re.Match[str]) -> date:
        month = _NUMBERS[match["month"].lower().rstrip(".")]
        return date(_year(match["year"], month, today, ahead=ahead), month, 1)

    def of_month(match: re.Match[str]) -> tuple[date, date]:
        first = month_of(match)
        length = calendar.monthrange(first.year, first.month)[1]
        which, part = match["which"].lower(), match["part"].lower()
        if part == "half":
            days = (1, 15) if which in ("first", "1st") else (16, length)
        elif part == "week":
            begin = _WEEKS.get(which, length - 6)
            days = (begin, min(begin + 6, length))
        else:
            saturdays = [day for day in range(1, length) if first.replace(day=day).weekday() == 5]
            begin = saturdays[-1] if which == "last" else saturdays[(_WEEKS[which] - 1) // 7]
            days = (begin, begin + 1)
        return first.replace(day=days[0]), first.replace(day=days[1])

    def around_day(match: re.Match[str]) -> tuple[date, date] | None:
        part = {name.rstrip("_"): group for name, group in match.groupdict().items() if group}
        month = _NUMBERS[part["month"].lower().rstrip(".")] if "month" in part else 0
        if month:
            day = date(_year(part.get("year"), month, today, ahead=ahead), month, int(part["day"]))
        else:
            day = today.replace(day=int(part["day"]))
            day = _next_month(day) if ahead and day < today else day
        begin = day - timedelta(day.weekday() - (5 if part["part"].lower() == "weekend" else 0))
        return begin, begin + timedelta(1 if part["part"].lower() == "weekend" else 6)

    def part_of_month(match: re.Match[str]) -> tuple[date, date]:
        first = month_of(match)
        length = calendar.monthrange(first.year, first.month)[1]
        days = _FIRSTS.get(match["part"].lower(), (21, length))
        return first.replace(day=days[0]), first.replace(day=days[1])

    def season(match: re.Match[str]) -> tuple[date, date] | None:
        month = _SEASONS[match["season"].lower()]
        turn = {"last": -1, "past": -1, "next": 1}.get((match["turn"] or "").lower(), 0)
        if not (match["year"] or match["turn"]) and not match[0].lower().startswith(("in ", "during ", "over ")):
            return None
        year = int(match["year"]) if match["year"] else today.year + turn
        first = date(year, month, 1)
        last = date(year + (month == 12), (month + 1) % 12 + 1, 1)
        return first, last.replace(day=calendar.monthrange(last.year, last.month)[1])

    text = _SPELLING.sub(lambda match: _SPELLINGS[match[0].lower()], _VAGUE.sub("", text))
    text = _ORDINAL_WORD.sub(lambda match: f"{_ORDINALS.index(match[1].lower()) + 1} {match[2]}", text)
    text = _WHOLE_MONTH.sub("in ", _WEEKDAY_OF.sub("", text))
    text = _WEEKDAY_NUMBERED.sub(partial(_numbered, today=today, ahead=ahead), text)
    text = _FROM_TOMORROW.sub(_from_today, text)
    text = _OF_MAY.sub(r"\g<day> May", text)
    text = _MAY.sub(r"\g<day> May", _IN_DIGITS.sub(_of_digits, text))
    for pattern, days in (
        (_MONTHS_BETWEEN, partial(_months_between, today=today, ahead=ahead)),
        (_REST_OF_MONTH, partial(_rest_of_month, today=today)),
        (_WEEK_OF_MONTH, of_month),
        (_AROUND_DAY, around_day),
        (_PART_OF_MONTH, part_of_month),
        (_SEASON, season),
    ):
        text = pattern.sub(rewritten(days), text)
    return _LONE_MONTH.sub(lambda match: f"in {match[0]}", text)


def _numbered(match: re.Match[str], today: date, *, ahead: bool) -> str:
    """Return "Wednesday the 25th" as the next such day with `ahead`, else the last; unchanged if a year has none."""
    index = [name.lower() for name in calendar.day_name].index(match["weekday"].lower())
    for days in range(366):
        day = today + timedelta(days if ahead else -days)
        if (day.weekday(), day.day) == (index, int(match["day"])):
            return f"{day.day} {calendar.month_name[day.month]} {day.year}"
    return match[0]


def _months_between(match: re.Match[str], today: date, *, ahead: bool) -> Span | None:
    """Return the days from one month to another: "between March and May"."""
    part = {name.rstrip("_"): group for name, group in match.groupdict().items() if group}
    month, last = (_NUMBERS[part[name].lower().rstrip(".")] for name in ("month", "last"))
    to_year = _year(part.get("last_year"), last, today, ahead=ahead)
    begin = date(int(part.get("year", to_year - (month > last))), month, 1)
    end = date(to_year, last, calendar.monthrange(to_year, last)[1])
    return (begin, end) if begin < end else None


def _rest_of_month(match: re.Match[str], today: date) -> Span | None:
    """Return the days from today to the end of this month; None for another month."""
    is_this = _NUMBERS[match["month"].lower().rstrip(".")] == today.month and match["year"] in (None, str(today.year))
    return (today, today.replace(day=calendar.monthrange(today.year, today.month)[1])) if is_this else None


def _of_digits(match: re.Match[str]) -> str:
    """Return "23/11" as "23 November", and "9/23" as "23 September"."""
    day, month = int(match["day"]), int(match["month"])
    if month > 12:
        day, month = month, day
    return f"{day} {calendar.month_name[month]}" if 1 <= month <= 12 and 1 <= day <= 31 else match[0]


def _from_today(match: re.Match[str]) -> str:
    """Return "a week from tomorrow" as "8 days from today"."""
    said = match["count"].lower()
    count = _COUNTS[said] if said in _COUNTS else int(said)
    return f"{1 + count * (7 if match['unit'].lower() == 'week' else 1)} days from today"


def _year(said: str | None, month: int, today: date, *, ahead: bool) -> int:
    if said:
        return int(said)
    is_behind, is_to_come = month < today.month, month > today.month
    return today.year + (1 if ahead and is_behind else -1 if not ahead and is_to_come else 0)


def _next_month(day: date) -> date:
    first = (day.replace(day=1) + timedelta(32)).replace(day=1)
    return first.replace(day=day.day)
