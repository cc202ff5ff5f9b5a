"""Reads questions for what is still to do, and the items of lists: "- [ ] tiles" is open, "- [x] tiles" done. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from device_app.english.slots import Vocabulary, normal
from device_app.english.words import content_words

_MOST_CHARACTERS, _MOST_WORDS = 120, 4
_BOX: Final = re.compile(r"(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?:\[(?P<mark>[ xX✓✔]?)\]|(?P<sign>[☐☑☒✅✔]))\s*(?P<text>\S.*)")
_TODO: Final = re.compile(
    r"(?:[-*+•#]+\s+|\d{1,3}[.)]\s+)?(?:(?P<open>TODO|TO DO|FIXME)\b:?|(?P<done>DONE)\b:?|(?P<said>(?i:to[- ]?do)):)\s+"
    r"(?P<text>\S.*)"
)
_INSIDE: Final = re.compile(r"\bTODO:\s*(?P<text>\S.*)")


@dataclass(frozen=True, slots=True)
class TodoQuestion:
    """A question for the items of lists: the open ones, or those that are `done`; `topic` is "" if none is named."""

    topic: str = ""
    done: bool = False


@dataclass(frozen=True, slots=True)
class Todo:
    """An item of a list."""

    text: str
    is_done: bool


def read(question: str) -> TodoQuestion | None:
    """Return which items a question asks for; None if it asks for anything else."""
    text = normal(question)
    if not text or len(text) > _MOST_CHARACTERS:
        return None
    slots = [slot for slot in _WORDS.read(text) if slot.kind != "filler"]
    kinds = [slot.kind for slot in slots]
    topics = [place for place, kind in enumerate(kinds) if not kind]
    if "todo" not in kinds or len(topics) > 1 or ({"open", "done"} <= {*kinds}):
        return None
    if any(slot.text == "items" for slot in slots) and not {"open", "done"} & {*kinds}:
        return None
    if not topics:
        return TodoQuestion(done="done" in kinds)
    place, topic = topics[0], slots[topics[0]].text
    is_before = kinds[place + 1 : place + 2] == ["todo"]
    is_behind = place == len(kinds) - 1 and kinds[place - 1] == "about"
    is_short = len(topic.split()) <= _MOST_WORDS and bool(content_words(topic))
    return TodoQuestion(topic, "done" in kinds) if (is_before or is_behind) and is_short else None


def items(text: str) -> Iterator[Todo]:
    """Yield the items of lists in a text, in order."""
    for line in text.splitlines():
        said = line.strip()
        if box := _BOX.fullmatch(said):
            mark = box["mark"] or box["sign"] or ""
            yield Todo(box["text"].strip(), mark in ("x", "X", "✓", "✔", "☑", "☒", "✅"))
        elif match := _TODO.fullmatch(said):
            yield Todo(match["text"].strip(), bool(match["done"]))
        elif match := _INSIDE.search(said):
            yield Todo(match["text"].strip(), is_done=False)


_WORDS: Final = Vocabulary.load("todos")
