"""Reads chats written as text: `Ana: Hi`, `[14.03.2026 10:30] Ana: Hi`, `**Ana** (10:30): Hi`, `[10:30] <ana> Hi`, and
text copied from Telegram, with `Ana, [14.03.2026 10:30]` above each message. whatsapp.py reads WhatsApp's own form.
"""

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from itertools import islice
from pathlib import Path

from device_app.knowledge.readers.chats import Chats, Message
from device_app.knowledge.readers.dates import date_in, parse_date
from device_app.knowledge.readers.decoding import without_directions
from shared.types import Document

_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_NAME = r"[^\W\d_][\w.'’ -]{0,39}?"
_LINE = re.compile(
    rf"\s*(?:[-+>] +|\* +)?(?:[\[(](?P<before>[^\])]{{4,40}})[\])] *|(?P<clock>{_CLOCK}) +(?:[-–] +)?)?"
    rf"(?:<(?P<nick>[^<>\s]{{1,40}})> +|(?:\*\*|__)?(?P<name>{_NAME})(?:\*\*|__)?"
    rf"(?: ?[\[(](?P<behind>[^\])]{{4,40}})[\])])?:(?:\*\*|__)? +)(?P<text>\S.*)"
)
_COPIED = re.compile(rf"(?P<name>{_NAME}), \[(?P<before>[^\]]{{4,40}})\]:?\s*")
_TIME = re.compile(rf"(?<!\d){_CLOCK}(?!\d)")
_WORD, _WEEKDAY = re.compile(r"[^\W\d_]+"), re.compile(r"[^\W\d_]+\.?, ?\d")
"""Patterns for a word, and for the start of a date with a weekday, in any language."""
_CALENDAR = frozenset(
    name.lower()
    for names in (calendar.month_name, calendar.month_abbr, calendar.day_name, calendar.day_abbr)
    for name in names
)
_DECORATION = "#*_-=—– \t"
_LONGEST_DAY = 40
"""The most characters of a line that consists of a date, which applies to the messages below it."""
_LOOKED_AT = 200
_MOST_SPEAKERS = 30
_MOST_WORDS = 4
# The words before the colons of lists, forms and flash cards, which are no names.
_FIELD = re.compile(
    "a|actions?(?: items?)?|address|age|agenda|agreed|amount|answer|antwort|attendees|author|body|cc|city|colou?r|"
    "company|content|cost|country|date|datum|deadline|decided|decisions?|description|due|duration|e-?mail|example|"
    "fax|frage|from|fwd|genre|id|ingredients|isbn|item|itinerary|key|language|link|location|mail|menu|method|"
    "mobile|name|notes?|number|occupation|open(?: questions?)?|order|origin|owner|pages|participants|password|"
    "phone|place|present|price|priority|product|project|q|quantity|question|rating|re|reason|result|role|sender|"
    "size|source|start|status|subject|summary|tags?|tasks?|tel|telephone|time|tip|title|to|todo|total|topic|type|"
    "update|url|username|value|version|warning|web|website|weight|what|when|where|who|why|year",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Line:
    """A message: its line number, from 1, its speaker, its time as written, and its words."""

    number: int
    speaker: str
    when: str
    text: str


def is_dialogue(lines: Sequence[str]) -> bool:
    """Return whether the lines are a chat: few people speak repeatedly, or each line has its time."""
    start, said = _sample(lines)
    speakers = list(dict.fromkeys(message.speaker for message in said))
    if any(_FIELD.fullmatch(speaker) or len(speaker.split()) > _MOST_WORDS for speaker in speakers):
        return False
    if _are_timed(said):
        return len(said) >= 2 and len(said) * 4 >= start
    order = [message.speaker for message in said]
    is_form = len(speakers) > 2 and order == (speakers * len(said))[: len(said)]
    return (
        len(said) >= 4
        and len(said) * 3 >= 2 * start
        and 2 <= len(speakers) <= _MOST_SPEAKERS
        and 2 * len(speakers) <= len(said)
        and not any(speaker[:1].islower() for speaker in speakers)
        and not is_form
    )


def _sample(lines: Sequence[str]) -> tuple[int, list[_Line]]:
    """Return the number of lines examined, and the messages in them; if half of the messages have a time, only those
    with a time.
    """
    read = ((line, _said(0, line)) for line in lines)
    start = list(islice(((line, said) for line, said in read if said or not _is_heading(line)), _LOOKED_AT))
    said = [message for _, message in start if message]
    timed = [message for message in said if _TIME.search(message.when)]
    return len(start), timed if 2 * len(timed) >= len(said) else said


def _are_timed(messages: Sequence[_Line]) -> bool:
    return all(_TIME.search(message.when) for message in messages)


def dialogue_days(lines: Sequence[str], path: Path, title: str = "") -> Iterator[Document]:
    """Yield one document per day. A line without a speaker continues the message before it; a date begins a new day."""
    chats = Chats()
    timed = _are_timed(_sample(lines)[1])
    day = date_in(path.stem)
    waiting: _Line | None = None
    rest: list[str] = []
    name = title or path.stem
    for number, line in enumerate(lines, start=1):
        said = _said(number, line)
        if timed and said and not _TIME.search(said.when):
            said = None  # a line of the message before it
        heading = _day(line) if said is None else None
        if said or heading:
            if waiting:
                yield from chats.add(name, _message(waiting, rest, day))
            waiting, rest = said, []
            day = heading or day
        elif waiting and not _is_heading(line):
            rest.append(line)
    if waiting:
        yield from chats.add(name, _message(waiting, rest, day))
    yield from chats.close()


def _said(number: int, line: str) -> _Line | None:
    line = without_directions(line)
    if copied := _COPIED.fullmatch(line):
        return _Line(number, copied["name"], copied["before"], "")
    match = _LINE.fullmatch(line.rstrip())
    if match is None:
        return None
    when = match["before"] or match["clock"] or match["behind"] or ""
    if when and not any(map(str.isdecimal, when)):
        return None  # [x] Ana: …, a task
    return _Line(number, (match["nick"] or match["name"]).strip(), when, match["text"])


def _message(line: _Line, rest: Sequence[str], day: datetime | None) -> Message:
    date = parse_date(line.when) or date_in(line.when)
    clock = _TIME.search(line.when)
    if date is None and day is not None:
        date = datetime.combine(day.date(), _clock(clock[0])) if clock else day
    elif date is not None and clock and date.time() == time():
        date = datetime.combine(date.date(), _clock(clock[0]))
    return Message(line.speaker, " ".join([line.text, *rest]), date, line.number)


def _clock(text: str) -> time:
    """Return the time of day in a text; midnight if it is none, such as 31:70."""
    hours, minutes = text.split(":")[:2]
    hour, minute = int(hours), int(minutes[:2])
    if (half := text.lower().replace(".", "").rstrip())[-2:] in ("am", "pm"):
        hour = hour % 12 + (12 if half.endswith("pm") else 0)
    return time(hour, minute) if hour < 24 and minute < 60 else time()


def _day(line: str) -> datetime | None:
    """Return the date that makes up a whole line, perhaps with a weekday; None for a sentence that has a date in it."""
    text = line.strip(_DECORATION)
    if not 0 < len(text) <= _LONGEST_DAY or not any(map(str.isdecimal, text)):
        return None
    other = [word for word in _WORD.findall(text) if word.lower() not in _CALENDAR]
    return date_in(text) if not other or (_WEEKDAY.match(text) and len(other) == 1) else None


def _is_heading(line: str) -> bool:
    return line.startswith("#") or not line.strip(_DECORATION) or _day(line) is not None
