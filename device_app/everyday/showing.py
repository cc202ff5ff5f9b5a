"""Shows documents in an answer: as the lines of a list, or one document with its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final

from device_app.english.naming import shown
from device_app.everyday.rule import Item, Ruled
from device_app.knowledge.people import Person
from shared.printable import safe_line
from shared.types import StoredPassage
from storage.documents import StoredDocument

MOST_LISTED: Final = 25
"""The most documents in a list; the rest is counted."""

_MOST_NAMED: Final = 4
"""The most people with one name who are all listed."""

_MOST_CHARACTERS: Final = 1_200
"""The most characters that are shown of a document's text."""


@dataclass(frozen=True, slots=True)
class DocumentItem(Item):
    """A document. `date` is ISO 8601 or None; the first of a mail's `people` is its sender."""

    TYPE: ClassVar[str] = "document"
    kind: str
    title: str
    date: str | None
    people: tuple[str, ...]
    path: str


def item(document: StoredDocument) -> DocumentItem:
    """Return a document as an entry of `items` of `ask --json`."""
    return DocumentItem(document.kind, document.title, document.date, document.people, document.path)


def lines(documents: Sequence[StoredDocument], *, senders: bool) -> Iterator[str]:
    """Yield a line for each document, with the number of its source; with `senders`, each line names the sender."""
    for number, document in enumerate(documents[:MOST_LISTED], 1):
        yield f"- {heading(document, sender=senders)} [{number}]"
    if (more := len(documents) - MOST_LISTED) > 0:
        yield f"- … and {more:,} more"


def heading(document: StoredDocument, *, sender: bool = True) -> str:
    """Return what a document is, on one line: its date, who wrote it or took part in it, its title."""
    is_talk = document.kind in ("chat", "note")
    people = document.people if is_talk else document.people[:1] if sender and document.kind == "mail" else ()
    sender_name = safe_line(", ".join(map(shown, people)))
    return " · ".join(filter(None, (moment(document.date), sender_name, safe_line(document.title) or "(no title)")))


def moment(date: str | None) -> str:
    """Return a date and time in words: "5 October 2026, 09:26"; only the day if the time is midnight."""
    if date is None:
        return "no date"
    at = datetime.fromisoformat(date)
    day = f"{at.day} {at:%B} {at.year}"
    return day if (at.hour, at.minute) == (0, 0) else f"{day}, {at:%H:%M}"


def quote(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Return a text as a Markdown quotation, cut at a line or word."""
    if len(text) > most:
        cut = max(text.rfind("\n", most // 2, most), text.rfind(" ", most // 2, most))
        text = f"{text[: cut if cut > 0 else most].rstrip()} …"
    return "\n".join(f"> {safe_line(line)}".rstrip() for line in text.splitlines())


def names_of(people: Sequence[Person]) -> str:
    """Return the names of several people, joined: "Tom Gray or Tom Reed"; "" for nobody."""
    names = list(dict.fromkeys(shown(person.name) for person in people))
    if len(names) > _MOST_NAMED:
        names[_MOST_NAMED - 1 :] = [f"{len(names) - _MOST_NAMED + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}" if names else ""


def noted(ruled: Ruled, note: str) -> Ruled:
    """Return an answer with a note about unclear people below its text; unchanged if the note is ""."""
    return replace(ruled, text=f"{ruled.text}\n\n{safe_line(note[:1].upper() + note[1:])}.") if note else ruled


def text_of(passages: Sequence[StoredPassage]) -> str:
    """Return the text of a document, joined from its passages."""
    return "\n".join(passage.text for passage in passages)
