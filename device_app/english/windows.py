"""Parses the days that a question about an agenda names: "this weekend", "Friday afternoon", "the next two weeks".

`dates` returns all days that a text may mean, which a search prefers; an agenda needs a single meaning. Pure.
"""

import calendar
import re
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from typing import Final

from device_app.english import dates, day_names, day_phrases
from device_app.english.lexicon import NUMBERS

_DAYS: Final = [name.lower() for name in calendar.day_name]
_WEEKDAY: Final = "|".join(f"{day}|{day[:3]}" for day in _DAYS) + "|tues|weds|thur|thurs"
_COUNTED: Final = "two three four five six seven eight nine ten eleven twelve fourteen"
_NUMBERS: Final = {"couple of": 2, "few": 5} | {word: int(NUMBERS[word]) for word in _COUNTED.split()}
_WHICH: Final = {"last": -1, "past": -1, "previous": -1, "next": 1, "following": 1, "coming": 1}
_PARTS: Final = {
    "early morning": (time(0), time(9)),
    "morning": (time(0), time(12)),
    "lunch": (time(12), time(14)),
    "afternoon": (time(12), time(18)),
    "evening": (time(18), time.max),
    "night": (time(18), time.max),
}
_PART: Final = r"early morning|morning|lunch(?:time)?(?! with\b)|afternoon|evening|night"
_CLOCK: Final = (
    r"(?:(?P<{0}h>\d{{1,2}})(?:[:.h](?P<{0}m>\d\d))?(?: ?(?P<{0}p>[ap])\.?m\b\.?| ?o'?clock)?"
    r"|(?P<{0}n>noon|midday|midnight))"
)
_LONGEST: Final = timedelta(days=366)
"""The most days of an agenda."""


_LATELY: Final = timedelta(days=31)
_FAR: Final = timedelta(days=300)
"""If a date without a year has just passed and its next day is at least this far ahead, the past day is meant."""


@dataclass(frozen=True, slots=True)
class Window:
    """The days from `first` to `last` and, for a named part of the day, the times from `begins` to `ends`."""

    first: date
    last: date
    begins: time | None = None
    ends: time | None = None

    @property
    def is_one_day(self) -> bool:
        """Whether the window is a single day, or a part of one."""
        return self.first == self.last


_BESIDE_DAY: Final = r"(?:that|which|please|and|or|for|with|at|in|to|is|are|was|were|did|does|do|am)\b"
"""Matches words that may follow a day's number: "the 30th that I have to prepare for", but not "the 4th floor"."""

_RELATIVE: Final = re.compile(
    rf"""\b(?:
        (?P<day>(?:the\ )?day\ after\ tomorrow|tomorrow|(?:the\ )?day\ before\ yesterday|yesterday|today|tonight
            |last\ night|this\ (?={_PART}))
        | (?P<weekend>(?:this|next|last|coming|following)\ )?weekend
        | rest\ of\ (?:(?:the|this|my)\ (?P<rest>week|month|year|day)|(?P<rest_>today))
        | (?:next|coming|following)\ (?P<count>\d{{1,2}}|{"|".join(_NUMBERS)})\ (?P<units>days|weeks|months)
        | (?:(?P<which_>this|next|last|coming|following)\ )?(?P<weekday>{_WEEKDAY})
            (?:\ (?:of\ )?(?P<of>this|next|last)\ week)?
        | (?P<of_>this|next|last)\ week\ (?:on\ )?(?P<weekday_>{_WEEKDAY})
        | (?P<which>this|next|last|coming|following|current)\ (?P<unit>week|month|year)
        | (?<=\bthe\ )(?P<ordinal>\d{{1,2}})(?:st|nd|rd|th)(?!\ (?:of\ )?(?!{_BESIDE_DAY})[a-z]{{3}})
    )\b""",
    re.VERBOSE,
)
_TO: Final = re.compile(r"(?:to|until|till|through|-|–|up to)(?: and including)?(?: on)?")
_AND: Final = re.compile(r"(?:and|or|&)(?: on)?")
_BETWEEN: Final = re.compile(r"\bbetween (?:the )?$")
_BETWEEN_DATES: Final = re.compile(
    r"\b(?:between|from) (?:the )?(?P<from>(?:\S+ ){0,3}?\S*\d\S*(?: \S+){0,2}?) (?:and|to|until|till) (?:the )?"
    r"(?P<to>(?:\S+ )?\S*\d\S*(?: [a-z]+(?: \d{4})?)?)"
)
_ON: Final = re.compile(r"\bon\b")
_PART_OF_DAY: Final = re.compile(rf"(?:\b(?:in|during|at|over) )?(?:\bthe )?\b(?<!['’] )(?<!['’]s )(?P<part>{_PART})\b")
"""Matches a part of a day, which a name such as "parents' evening" is not."""

_TIME: Final = re.compile(
    rf"\b(?:(?:between|from) {_CLOCK.format('a')} (?:and|to|until|till) {_CLOCK.format('b')}"
    rf"|(?P<how>at|around|about|after|before|from|by|until) {_CLOCK.format('c')})(?!\w)"
)


def window_in(text: str, today: date, *, is_past: bool = False) -> tuple[Window, str] | None:
    """Return the days that a text names, and the text without them; None if it names no days, or two different windows.

    `text` is in lower case with single spaces. A weekday or a date without a year is the next one from `today` on, or
    with `is_past` the last one.
    """
    text = day_phrases.resolved(text, today, is_past=is_past)
    text = day_names.plainly(text, today, ahead=not is_past).lower()
    matches = list(_RELATIVE.finditer(text))
    if dated := _from_to(text, today, is_past=is_past):
        return dated
    if matches:
        windows = [_relative(match, today, is_past=is_past) for match in matches]
        between = text[matches[0].end() : matches[-1].start()]
        is_between = bool(_BETWEEN.search(text[: matches[0].start()]))
        text = f"{_BETWEEN.sub('', text[: matches[0].start()])} {text[matches[-1].end() :]}"
        window = windows[0] if len(windows) == 1 else _joined(windows, "to" if is_between else between.strip())
        if window is None or dates.named(text, today):
            return None
    else:
        window, text = _named(text, today, is_past=is_past)
    part = _part_of_day(
        text, default=window is not None and matches != [] and matches[0]["day"] in ("tonight", "last night")
    )
    if window is None and part:
        window = Window(today, today)
    if window is None or not timedelta(0) <= window.last - window.first <= _LONGEST:
        return None
    if part:
        if not window.is_one_day:
            return None
        begins, ends, text = part
        window = replace(window, begins=begins, ends=ends)
    return window, " ".join(text.split())


def _from_to(text: str, today: date, *, is_past: bool) -> tuple[Window, str] | None:
    """Return the days from one date to another: "between 1 June and 15 June"; None for anything else."""
    if not (match := _BETWEEN_DATES.search(text)):
        return None
    month = match["to"].partition(" ")[2]
    begin = f"{match['from']} {month}" if match["from"].isdigit() else match["from"]
    (first, before), (last, after) = (_named(named, today, is_past=is_past) for named in (begin, match["to"]))
    if first is None or last is None or before.strip() or after.strip() or not first.first < last.first:
        return None
    if last.last - first.first > _LONGEST:
        return None
    return Window(first.first, last.last), " ".join(f"{text[: match.start()]} {text[match.end() :]}".split())


def _joined(windows: list[Window | None], between: str) -> Window | None:
    """Return two windows as one, as in "from Friday to Sunday", "today and tomorrow"; None if they are separate."""
    first, last, *others = windows
    if others or first is None or last is None:
        return None
    if last.first < first.first and last.is_one_day:  # of two weekdays, the second follows the first
        last = _days(last.first + timedelta(7))
    if last.first <= first.first:
        return None
    if _TO.fullmatch(between):
        return Window(first.first, last.last)
    follows = last.first - first.last == timedelta(1)
    return Window(first.first, last.last) if follows and _AND.fullmatch(between) else None


def _relative(match: re.Match[str], today: date, *, is_past: bool) -> Window | None:
    part = {name.rstrip("_"): group for name, group in match.groupdict().items() if group}
    if part.keys() & {"day", "weekday", "ordinal"}:
        day = _one_day(part, today, is_past=is_past)
        return _days(day) if day else None
    if "weekend" in match[0]:
        which = part.get("weekend", "this ").strip()
        turn = 0 if which == "coming" else _WHICH.get(which, -1 if is_past and "weekend" not in part else 0)
        saturday = _monday(today) + timedelta(5 + 7 * turn)
        return Window(saturday, saturday + timedelta(1))
    if count := part.get("count"):
        days = (_NUMBERS.get(count) or int(count)) * {"days": 1, "weeks": 7, "months": 30}[part["units"]]
        return Window(today, today + timedelta(days))
    if rest := part.get("rest"):
        return Window(today, _whole(rest, today, 0).last)
    return _whole(part["unit"], today, _WHICH.get(part["which"], 0))


def _one_day(part: dict[str, str], today: date, *, is_past: bool) -> date | None:
    """Return the day that these parts of a match name; None if there is no such day, as for "the 41st"."""
    if day := part.get("day"):
        ahead = {"yesterday": -1, "last night": -1, "tomorrow": 1}.get(day, 0)
        ahead += 2 if "after" in day else -2 if "before" in day else 0
        return today + timedelta(ahead)
    if weekday := part.get("weekday"):
        index = next(index for index, name in enumerate(_DAYS) if name.startswith(weekday[:3]))
        if week := part.get("of"):
            return _monday(today) + timedelta(index + 7 * _WHICH.get(week, 0))
        return _weekday(index, today, part.get("which", ""), is_past=is_past)
    return _ordinal(int(part["ordinal"]), today, is_past=is_past)


def _weekday(index: int, today: date, which: str, *, is_past: bool) -> date:
    """Return the next such weekday, from today on or with "next" from tomorrow on, or the last before today."""
    if which == "last" or (is_past and not which):
        return today - timedelta((today.weekday() - index - 1) % 7 + 1)
    first = today + timedelta(_WHICH.get(which, 0))
    return first + timedelta((index - first.weekday()) % 7)


def _whole(unit: str, today: date, turn: int) -> Window:
    """Return this week, month or year, the next one (turn 1), or the last one (turn -1)."""
    if unit in ("day", "today"):
        return _days(today)
    if unit == "week":
        monday = _monday(today) + timedelta(7 * turn)
        return Window(monday, monday + timedelta(6))
    if unit == "year":
        return Window(date(today.year + turn, 1, 1), date(today.year + turn, 12, 31))
    year, month = divmod(today.year * 12 + today.month - 1 + turn, 12)
    return Window(date(year, month + 1, 1), date(year, month + 1, calendar.monthrange(year, month + 1)[1]))


def _ordinal(number: int, today: date, *, is_past: bool) -> date | None:
    """Return the next, or the last, day with this number in a month: "on the 3rd"."""
    for turn in range(0, -13, -1) if is_past else range(13):
        month = _whole("month", today, turn)
        if 1 <= number <= month.last.day:
            day = month.first.replace(day=number)
            if day < today if is_past else day >= today:
                return day
    return None


def _named(text: str, today: date, *, is_past: bool) -> tuple[Window | None, str]:
    """Return the day, month or year that a text names, and the text without it."""
    spans = sorted(set(dates.named(text, today)))
    if not spans:
        return None, text
    passed = [span for span in spans if span[0] <= today]
    coming = [span for span in spans if span[1] >= today]
    first, last = (passed or spans)[-1] if is_past else (coming or spans)[0]
    if passed and today - passed[-1][1] <= _LATELY and first - today >= _FAR:
        first, last = passed[-1]
    # `dates` takes a preposition along, which may belong to the question: "What is on 3 December?"
    return Window(first, last), dates.without(_ON.sub("on on", text)).replace("on on", "on")


def _part_of_day(text: str, *, default: bool) -> tuple[time, time, str] | None:
    """Return the times of the part of a day that a text names, from and to, and the text without the part of the day.

    `default`: an earlier word named the day as a night already.
    """
    if match := _TIME.search(text):
        part = _between(match)
    elif match := _PART_OF_DAY.search(text):
        part = _PARTS[match["part"].removesuffix("time")]
    else:
        return (*_PARTS["night"], text) if default else None
    return part and (*part, f"{text[: match.start()]} {text[match.end() :]}")


def _between(match: re.Match[str]) -> tuple[time, time] | None:
    """Return the start and end time of "after 5", "at noon" or "between 2 and 4"; None if a time is invalid."""
    begins, ends = (_clock(match, "a"), _clock(match, "b")) if match["how"] is None else (_clock(match, "c"),) * 2
    if begins is None or ends is None or begins > ends or (begins == ends and match["how"] is None):
        return None
    if match["how"] in ("after", "from"):
        ends = time.max
    elif match["how"] in ("before", "by", "until"):
        begins = time(0)
    return begins, ends


def _clock(match: re.Match[str], which: str) -> time | None:
    """Return the time that a match names; an hour from 1 to 7 without "am" is in the afternoon."""
    if named := match[f"{which}n"]:
        return time(0) if named == "midnight" else time(12)
    hour, minute, half = int(match[f"{which}h"]), int(match[f"{which}m"] or 0), match[f"{which}p"]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    elif hour < 8 and not match[f"{which}m"]:
        hour += 12
    return time(hour, minute) if hour < 24 and minute < 60 else None


def _days(day: date) -> Window:
    return Window(day, day)


def _monday(today: date) -> date:
    return today - timedelta(today.weekday())
