"""Parses questions about who said something, and when: "When did Berit say 175 degrees?"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from device_app.english.phrases import bare, load

_MOST_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Hearsay:
    """A question about who said the statement `what`, or when.

    `speaker` said it to `to`; "me" is the user, and "" means that nobody is named.
    """

    asks: Literal["who", "when"]
    what: str
    speaker: str = ""
    to: str = ""


def read(question: str) -> Hearsay | None:
    """Parse a question about a statement; return None for any other question."""
    text = bare(question).lower().replace(",", "")
    if not text or len(text) > _MOST_CHARACTERS:
        return None
    if (parts := _FORMS["who"].read(text)) is not None:
        return Hearsay("who", parts["what"], to="me" if parts.get("verb") else "")
    for parts in _FORMS["when"].readings(text):
        speaker = "me" if "to" in parts else parts.get("speaker", "")
        if speaker == "me" or not re.search(r"\b(?:i|we|you|me|it|they|he|she|and)\b", speaker):
            return Hearsay("when", parts["what"], speaker, parts.get("to", ""))
    return None


_FORMS: Final = load("hearsay")
