"""Parses questions for dates and times: "How many days until 5 May?", "What time is it in Tokyo?"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from device_app.english.phrases import bare, load

_MOST_CHARACTERS: Final = 160

_PAST = re.compile(r"\b(?:was|were|did|fell|born|ago)\b")


@dataclass(frozen=True, slots=True)
class Question:
    """A question for a date or a time: its form (a section of moments.txt), its parts, in lower case, and its tense."""

    form: str
    parts: Mapping[str, str]
    is_past: bool


def read(question: str) -> list[Question]:
    """Return the possible readings of a question, the likeliest first, as some may not contain a valid date."""
    text = re.sub(r"(?<![,?!])[,?!]+(?=\s|$)", "", bare(question)).lower()
    text = re.sub(r"(?<=\w)'s\b(?= time)|\bo'clock\b", "", text)
    text = re.sub(
        r"(?<=\d) (?:in|at) (?:the )?(morning|afternoon|evening|night)\b",
        lambda m: "am" if m[1] == "morning" else "pm",
        text,
    )
    if not text or len(text) > _MOST_CHARACTERS:
        return []
    is_past = _PAST.search(text) is not None
    said = " ".join(text.split())
    return [Question(form, parts, is_past) for form, phrases in _FORMS.items() for parts in phrases.readings(said)]


_FORMS: Final = load("moments")
