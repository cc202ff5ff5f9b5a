"""Parses questions for mails, notes, chats and files by their metadata: person, date, kind, title.

Examples: "mails from Rick Moen in October", "how many notes about the roof", "the last mail from Livia".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from device_app.english import periods
from device_app.english.periods import Period
from device_app.english.phrases import bare, load

_MOST_CHARACTERS: Final = 240

_OTHER: Final = re.compile(
    r"(?:(?:and|or|but|what about|how about) )*(?P<role>from|by|to|with) (?P<name>\w[\w.'’-]*(?: \w[\w.'’-]*){0,3})",
    re.IGNORECASE,
)
_NOBODY: Final = frozenset(
    [
        "i",
        "we",
        "you",
        "me",
        "us",
        "he",
        "she",
        "it",
        "they",
        "him",
        "her",
        "them",
        "there",
        "my",
        "mine",
        "this",
        "that",
        "these",
        "those",
        "all",
        "any",
        "some",
        "many",
        "who",
        "what",
        "someone",
        "somebody",
        "anyone",
        "anybody",
    ]
)
"""Words that are never a person's name; a phrase that would need one of them as a name does not match."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed question for mails, notes, chats or files.

    `form` is count, list, bare (a list that has to be limited), most (who sent the most), whether, latest or title.
    `parts` are the words of the question: `kind`, the sender `who`, the recipient `to`, `topic`, `adjective` before the
    kind, `title`, and `by`, the form of titles.txt; `me` and `mine` are set if the person received or sent the
    document.
    """

    form: str
    parts: Mapping[str, str] = field(default_factory=dict)
    period: Period | None = None


def read(question: str, today: date) -> Reading | None:
    """Parse a question for documents; return None for any other question."""
    text = bare(question)
    if not text or len(text) > _MOST_CHARACTERS:
        return None
    if reading := _by_title(text):
        return reading
    period = periods.read(text, today)
    rest = (period.rest if period else text).lower()
    for said in dict.fromkeys((rest, text.lower(), _FORMS["list"].corrected(rest))):
        for form, phrases in _FORMS.items():
            for parts in phrases.readings(said):
                if not any(_is_nobody(parts.get(name, ""), today) for name in ("who", "whose", "to", "with", "topic")):
                    return Reading(form, parts, None if said == text.lower() else period)
    return None


def following(question: str, before: str, today: date) -> str | None:
    """Return the question `before` with the person replaced by the one whom this question names: "And from Anna Berg?".

    None if the question before names nobody in that role, or if this question says anything else.
    """
    other = _OTHER.fullmatch(bare(question)) if len(question) <= _MOST_CHARACTERS else None
    reading = read(before, today) if other else None
    if other is None or reading is None or _is_nobody(other["name"].lower(), today):
        return None
    roles = {"to": ("to",), "with": ("with",)}.get(other["role"].lower(), ("who", "whose"))
    said = next((reading.parts[role] for role in roles if role in reading.parts), None)
    if said is None:
        return None
    text, count = re.subn(rf"\b{re.escape(said)}\b", lambda _: other["name"], before, flags=re.IGNORECASE)
    return text if count == 1 else None


def _is_nobody(name: str, today: date) -> bool:
    return (
        name in _NOBODY or name.startswith(("my ", "your ")) or (bool(name) and periods.read(name, today) is not None)
    )


def _by_title(text: str) -> Reading | None:
    said = re.sub(r"(?<!\w)'|'(?!\w)", '"', text.lower())
    said = " ".join(re.sub(r"[^\w\s'\"@.-]+|[.-](?!\w)", " ", said).replace('"', ' " ').split())
    for by, phrases in _TITLES.items():
        if parts := phrases.read(said):
            title = " ".join(parts["title"].replace('"', " ").split())
            return Reading("title", {"title": title, "by": by}) if title else None
    return None


_TITLES: Final = load("titles")
_FORMS: Final = load("listing")
