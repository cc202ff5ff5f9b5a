"""Reads questions for what a dish, a trip or a job needs, and the lists that say so under a heading. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from device_app.english.slots import normal
from device_app.english.words import content_words

_MOST_CHARACTERS, _MOST_WORDS = 120, 6
_LISTS: Final = r"(?:ingredients?(?: list)?|(?:shopping|packing) list|list of (?:all )?(?:the )?ingredients)"
_QUESTION: Final = re.compile(
    r"(?:what (?:(?:all|else|exactly|things|ingredients) )?(?:do|would|will|must|should) (?:i|we|you) (?:all )?"
    r"(?:need|have to (?:buy|get|pack|bring)|pack|bring|take)"
    r"(?: to (?:buy|get|pack|bring|take|have))? (?:for|to (?:make|cook|bake|prepare|brew)) "
    r"|what (?:goes|belongs|comes) in(?:to)? "
    rf"|(?:(?:what are|what is|list|which are|name) )?(?:(?:all|the|whole|full|complete|entire|my|our) )*{_LISTS} "
    r"(?:(?:are|is) )?(?:(?:needed|required|there|used) )?(?:of|for|in|to (?:make|cook|bake|prepare)) "
    rf"|which ingredients (?:are in|does|go into|do (?:i|we|you) need (?:for|to make)) )"
    r"(?:(?:the|a|an|my|our|this) )*(?P<subject>.+?)(?: (?:need|have|recipe))?"
)
_HEADING: Final = re.compile(
    r"(?i)(?:the |list of )?(?:ingredients?|you(?:['’]ll| will)? need|what you(?:['’]ll| will)? need|we need|needed|"
    r"shopping list|packing list|to (?:buy|bring|pack|take)|(?:what|things) to (?:buy|bring|pack|take)|equipment|"
    r"materials?|tools)(?P<remark>(?: for| \(|, ).{0,50})?\s*[:.]?(?P<inline>\s+\S.*)?"
)
_SECTION: Final = re.compile(
    r"(?i)(?:method|directions?|preparation|instructions?|steps?|procedure|how to|notes?|tips?|nutrition|serving|"
    r"to serve|cooking|baking|source|variations?|days|route|plan)\b.{0,30}"
)
_LONG_SENTENCE, _SENTENCE, _LEAST = 16, 6, 2
"""The words from which a line is none of a list, those from which it is none if it ends in a full stop, and the lines
that a list has at least.
"""
_MOST_LINES: Final = 60


@dataclass(frozen=True, slots=True)
class Needed:
    """A list under a heading: the heading's line with the line before, and the list's lines."""

    heading: str
    before: str
    lines: tuple[str, ...]


def read(question: str) -> str:
    """Return the dish, trip or job whose needs a question asks for; "" if it asks for anything else."""
    match = _QUESTION.fullmatch(normal(question)) if len(question) <= _MOST_CHARACTERS else None
    subject = match["subject"] if match else ""
    return subject if content_words(subject) and len(subject.split()) <= _MOST_WORDS else ""


def lists(lines: Sequence[str]) -> Iterator[Needed]:
    """Yield the lists of ingredients, or of what to bring, in the lines of a text."""
    for place, line in enumerate(lines):
        heading = _heading(line)
        if heading is None:
            continue
        inline = (heading["inline"] or "").strip()
        items = [inline] if inline else _items(lines[place + 1 :])
        before = next((each for each in reversed(lines[:place]) if _is_name(each)), "")
        if inline or len(items) >= _LEAST:
            yield Needed(line.strip(), before, tuple(items))


def _heading(line: str) -> re.Match[str] | None:
    """Return the heading of a list, with its items if they are on the same line; None for any other line."""
    heading = _HEADING.fullmatch(line.strip().lstrip("#- "))
    return None if heading and heading["inline"] and ":" not in line else heading


def _is_heading(line: str) -> bool:
    """Return whether a line begins another list: "To buy: nothing", not "tools"."""
    return ":" in line and _heading(line) is not None


def _items(lines: Sequence[str]) -> list[str]:
    """Return the lines up to the first that belongs to no list."""
    items: list[str] = []
    for line in lines[:_MOST_LINES]:
        said = line.strip().lstrip("-*• ")
        if not said or said.startswith("#") or _SECTION.fullmatch(said) or _is_heading(said) or _is_sentence(said):
            break
        items.append(said)
    return items


def _is_sentence(line: str) -> bool:
    count = len(line.split())
    return count >= _LONG_SENTENCE or (count >= _SENTENCE and line.endswith((".", "!", "?")))


def _is_name(line: str) -> bool:
    """Return whether a line may be the name of what the list below it is for."""
    return 0 < len(line.split()) <= _MOST_WORDS + 2 and not line.rstrip().endswith((".", ":", "!", "?", ","))
