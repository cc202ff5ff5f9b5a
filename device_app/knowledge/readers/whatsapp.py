"""Reads WhatsApp's text export, with lines such as `[14.03.26, 09:30:00] Ana: …` or `3/14/26, 9:30 AM - Ana: …`."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from device_app.knowledge.readers.chats import Chats, Message
from device_app.knowledge.readers.decoding import without_directions
from shared.types import Document

_LINE = re.compile(
    r"\[?(\d{1,4})[./-](\d{1,2})[./-](\d{1,4}),? (\d{1,2})[:.](\d\d)(?:[:.]\d\d)?"
    r"[ \u202f]?([AaPp]\.?[Mm]\.?)?\]?(?: [-–])? (?:([^:]{1,60}): )?(.*)"
)


def is_export(lines: Sequence[str]) -> bool:
    """Return whether several of the first lines are WhatsApp messages."""
    return sum(1 for line in lines[:40] if (match := _matched(line)) and match[7]) >= 2


def whatsapp_days(lines: Sequence[str], path: Path) -> Iterator[Document]:
    """Yield one document per day. WhatsApp's own notices, which have no sender, are left out."""
    messages = [(index, match) for index, line in enumerate(lines) if (match := _matched(line))]
    day_first = _day_first([match for _, match in messages])
    name = path.parent.name if path.stem == "_chat" else path.stem
    title = name.removeprefix("WhatsApp Chat with ").removeprefix("WhatsApp Chat - ").strip() or path.stem
    chats = Chats()
    for (index, match), (following, _) in pairwise([*messages, (len(lines), None)]):
        if match and match[7]:
            text = " ".join([match[8], *lines[index + 1 : following]])
            yield from chats.add(title, Message(match[7].strip(), text, _date(match, day_first), index + 1))
    yield from chats.close()


def _matched(line: str) -> re.Match[str] | None:
    """Match a line without the invisible marks that phones put around names and times."""
    return _LINE.match(without_directions(line))


def _day_first(matches: Sequence[re.Match[str]]) -> bool:
    """Return whether dates have the day before the month, which depends on the phone's country.

    In the right order, all dates are valid and ascending. If they are so in both orders, the month is first only if
    times have AM and PM.
    """
    disorder = {}
    for day_first in (True, False):
        dates = [_date(match, day_first) for match in matches]
        known = [date for date in dates if date]
        disorder[day_first] = dates.count(None) + sum(after < before for before, after in pairwise(known))
    if disorder[True] == disorder[False]:
        return not any(match[6] for match in matches)
    return disorder[True] < disorder[False]


def _date(match: re.Match[str], day_first: bool) -> datetime | None:
    first, second, third, hour, minute = (int(match[group]) for group in range(1, 6))
    if match[6]:
        hour = hour % 12 + (12 if match[6].lower().startswith("p") else 0)
    year, month, day = (first, second, third) if len(match[1]) == 4 else (third, first, second)
    if day_first and len(match[1]) != 4:
        month, day = day, month
    try:
        return datetime(year + 2000 if year < 100 else year, month, day, hour, minute)
    except ValueError:
        return None
