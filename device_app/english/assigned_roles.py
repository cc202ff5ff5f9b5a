"""Separates the role that a request gives to the assistant, as "Act as a poet", from the task behind it.

The role does not say whether files are needed: "You are an assistant. When is my dentist appointment?" needs them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from device_app.english.following import begins_as_question
from device_app.english.instructions import GENERAL, LOOKS_UP, MAKES, ROLE, TREATS, first_verb, without_polite_words

_JUDGED: Final = MAKES | TREATS | GENERAL | LOOKS_UP
"""Verbs whose objects decide whether files are needed."""

_CLAUSE: Final = re.compile(r",\s+(?:(?:and|then|so)\s+)*|\s+(?:and|then)\s+(?:then\s+)?")
_BESIDE_PERSON: Final = re.compile(r"\b(as|are|be|of) (?:my|our)\b", re.IGNORECASE)
"""Matches a role beside the person: "act as my secretary"."""

_OF_DAYS: Final = re.compile(
    r"\b(?:today|tomorrow|tonight|yesterday|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"(?:this|next|last) (?:week|month|year|morning|afternoon|evening))\b",
    re.IGNORECASE,
)


def gives_role(sentence: str) -> bool:
    """Return whether the sentence gives a role to the assistant."""
    return ROLE.match(without_polite_words(sentence)) is not None


def parted(sentences: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the roles that the sentences give, without their "my", and what is asked behind them."""
    roles, tasks = list[str](), list[str]()
    for sentence in sentences:
        role, task = _parted(without_polite_words(sentence)) if gives_role(sentence) else ("", sentence)
        roles += [_BESIDE_PERSON.sub(r"\1 a", role)] if role else []
        tasks += [task] if task else []
    return roles, tasks


def is_free(task: str) -> bool:
    """Return whether a task behind a role surely asks for no known facts: "Praise the sea"."""
    verb, rest = first_verb(task)
    asks = task.rstrip().endswith("?") or begins_as_question(task) or verb in _JUDGED
    return bool(rest) and not (asks or _OF_DAYS.search(task))


def _parted(sentence: str) -> tuple[str, str]:
    """Return the role in a sentence, and the task in it, "" for none: "Act as a guide and describe a castle"."""
    for clause in _CLAUSE.finditer(sentence):
        task = sentence[clause.end() :]
        if begins_as_question(task) or first_verb(task)[0] in _JUDGED:
            return sentence[: clause.start()], task
    return sentence, ""
