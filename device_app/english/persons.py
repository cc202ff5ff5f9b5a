"""Parses questions for a person: "Who is Greta Zoratti?", "the vet's phone number", "How can I reach Mark by mail?"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from device_app.english.slots import Slot, Vocabulary, normal

_MOST_CHARACTERS, _MOST_WORDS = 100, 3
_POSSESSIVE: Final = re.compile(r"'s?$")
_OTHER: Final = re.compile(r"\b(?:he|she|it|they|you|this|that|one|who|what|mail|i)\b")
_WHEN_BORN: Final = re.compile(r"^(?:when|what day|which day) (?=.*\b(?:birthday|birth|born)\b)")
_TITLE: Final = re.compile(r"^(?:dr|mr|mrs|ms|prof)\.? ")

PersonAsk = Literal["who", "phone", "mail", "reach", "name", "birthday"]


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """A question for a person by name or by trade: who it is, the telephone number, the e-mail address, or either.

    "name" asks for the whole name, "birthday" for the day of birth.
    """

    ask: PersonAsk
    name: str


def read(question: str) -> PersonQuestion | None:
    """Return what a question asks of a person; None if it asks for anything else."""
    text = normal(question.replace(",", " "))
    if not text or len(text) > _MOST_CHARACTERS:
        return None
    slots = _WORDS.read(_WHEN_BORN.sub("", text))
    names = [slot.text for slot in slots if not slot.kind]
    kinds = {slot.kind for slot in slots}
    if len(names) != 1 or not kinds & {"who", "about", "phone", "mail", "reach", "named", "name", "birthday"}:
        return None
    name = _POSSESSIVE.sub("", names[0])
    if len(_TITLE.sub("", name).split()) > _MOST_WORDS or _OTHER.search(name) or any(sign.isdigit() for sign in name):
        return None
    if (ask := next((ask for ask in _OF_THEIR_OWN if ask in kinds), None)) is not None:
        return PersonQuestion(ask, name) if kinds <= {"", "filler", ask} and "where" not in text.split() else None
    return _of_name(name, slots, kinds)


def _of_name(name: str, slots: Sequence[Slot], kinds: set[str]) -> PersonQuestion | None:
    """Return whether the number or the address of somebody is asked for, or who it is; None if neither."""
    has_both = slots[0].kind == "who" and any(
        slot.text == "and" for slot in slots
    )  # "who is she and what's her number"
    if "phone" in kinds or "mail" in kinds:
        is_asked = has_both or "who" not in kinds
        return PersonQuestion("phone" if "phone" in kinds else "mail", name) if is_asked else None
    if "reach" in kinds and "who" not in kinds:
        return PersonQuestion("reach", name)
    is_last = (
        not slots[-1].kind
        or slots[-1].kind != "filler"
        or slots[-1].text in ("again", "exactly", "from", "called", "is", "to me", *_SOMEBODY)
    )
    return PersonQuestion("who", name) if is_last else None


_OF_THEIR_OWN: Final[tuple[PersonAsk, ...]] = ("name", "birthday")
"""What is asked only if no other word of the question asks for something."""

_SOMEBODY: Final = ("guy", "bloke", "chap", "fellow", "lady")
_WORDS: Final = Vocabulary.load("persons")
