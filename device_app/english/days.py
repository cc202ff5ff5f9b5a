"""Parses questions for what was done, said or written on a day: "What did I do on Saturday?".

Except for the days and at most one name, all words must be in the vocabulary; they may stand in any order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from device_app.english import periods
from device_app.english.periods import Period
from device_app.english.politeness import bare
from device_app.english.slots import Vocabulary, normal

_TO_COME: Final = re.compile(r"(?i)\b(?:is|are|have|what's|anything|something|i'm|we're) (?:\w+ )?plann(?:ed|ing)\b")
"""Matches questions about plans, which are not about the past even if they name a feast without a year."""

_MOST_DAYS, _MOST_CHARACTERS, _MOST_NAME = 7, 240, 3

_FROM_TO: Final = re.compile(r"\b(?:between|from) (?P<first>.+?) (?:and|to|until|till) (?P<last>.+)$", re.IGNORECASE)

_OF_SUBJECT: Final = re.compile(r"\b(?:say|said|text|texted|write|wrote|mention|mentioned)(?: (?:me|us))? about$")
"""Matches the words before a day that is a subject: "What did Anna text about Friday?"."""


@dataclass(frozen=True, slots=True)
class OfDays:
    """A question about what happened on a few days: `form` is whether something was done or said.

    `speaker` is who said it; "" for anybody. If `to` is given, `speaker` is "": either the person or `to` may have said
    it.
    """

    form: Literal["done", "said"]
    period: Period
    speaker: str = ""
    to: str = ""


def read(question: str, today: date) -> OfDays | None:
    """Parse a question about a few days; return None for any other question, or for more than a week."""
    text = bare(question)
    period = periods.read(text, today) if len(text) <= _MOST_CHARACTERS else None
    if _TO_COME.search(text) or not period or not period.first or not 0 < period.days <= _MOST_DAYS:
        return None
    if (ends := _FROM_TO.search(text)) and _names_days(ends["first"], today) and not _names_days(ends["last"], today):
        return None  # "between Easter and my birthday" is not Easter alone
    said = normal(period.rest)
    for words in dict.fromkeys((said, _WORDS.corrected(said))):
        if asked := _asked(words, period):
            return asked
    return None


def _names_days(text: str, today: date) -> bool:
    return periods.read(text, today) is not None


def _asked(text: str, period: Period) -> OfDays | None:
    """Return what is asked by a text whose days were removed; None if it asks for anything else."""
    slots = _WORDS.read(text)
    kinds = {slot.kind for slot in slots}
    names = [place for place, slot in enumerate(slots) if not slot.kind]
    is_about = {"about", "anything"} & {slot.text for slot in slots}
    if _OF_SUBJECT.search(text):
        return None  # the day is the subject, not when it was said
    if len(names) > 1 or not (kinds & {"done", "diary", "said"} or is_about):
        return None
    if not names:
        return OfDays("said" if "said" in kinds and "diary" not in kinds else "done", period)
    place, name = names[0], slots[names[0]].text
    if len(name.split()) > _MOST_NAME or not (kinds & {"said", "diary"} or is_about):
        return None
    before = next((slot for slot in reversed(slots[:place]) if slot.kind != "filler"), None)
    spoken = [slot.kind for slot in slots[place + 1 :] if slot.kind != "filler"]
    by_me = any(slot.text in ("i", "we") for slot in slots)
    is_speaker = bool(spoken) and spoken[0] in ("said", "diary") and not by_me
    if is_speaker or (before and before.text in ("from", "by")):
        return OfDays("said", period, speaker=name)
    return OfDays("said", period, to=name) if before and (before.kind in ("with", "said") or by_me) else None


_WORDS: Final = Vocabulary.load("days")
