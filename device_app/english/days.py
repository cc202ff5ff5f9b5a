"""Parses questions about actions, statements or messages of a day: "What did I do on Saturday?"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from device_app.english import periods
from device_app.english.periods import Period
from device_app.english.phrases import bare, load

_MOST_DAYS, _MOST_CHARACTERS = 7, 240


@dataclass(frozen=True, slots=True)
class OfDays:
    """A question about a few days: `form` says whether it asks for actions or statements.

    `speaker` is the person who said something, `to` the person addressed, or "".
    """

    form: Literal["done", "said"]
    period: Period
    speaker: str = ""
    to: str = ""


def read(question: str, today: date) -> OfDays | None:
    """Parse a question about a few days; return None for any other question, or for more than a week."""
    text = bare(question)
    period = periods.read(text, today) if len(text) <= _MOST_CHARACTERS else None
    if not period or not period.first or not 0 < period.days <= _MOST_DAYS:
        return None
    said = period.rest.lower().replace(",", "").replace("?", "").strip()
    for words in dict.fromkeys((said, _FORMS["done"].corrected(said))):
        if _FORMS["done"].read(words) is not None:
            return OfDays("done", period)
        for parts in _FORMS["said"].readings(words):
            if not re.search(r"\b(?:and|i|we|you|me)\b", parts.get("who", "")):
                return OfDays("said", period, parts.get("who", ""), parts.get("to", ""))
    return None


_FORMS: Final = load("days")
