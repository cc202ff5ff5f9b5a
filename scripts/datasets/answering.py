"""Decides by words whether a passage contains the answer to a question."""

import re
from collections.abc import Sequence

from scripts.datasets.folders import Asked
from shared.types import StoredPassage

_TOLD = 0.6
"""The share of an answer's words from which on a passage counts as containing the answer in other words."""


def tells(passage: StoredPassage, question: Asked) -> bool:
    """Return whether the passage contains an answer literally, or most of an answer's words. A passage of a meeting
    always counts.
    """
    held = words(f"{passage.title} {(passage.date or '')[:10]} {passage.text}")
    text = f" {' '.join(held)} "
    for answer in question.answers:
        said = words(answer)
        if f" {' '.join(said)} " in text:
            return True
        if question.file or said[:1] in (["yes"], ["no"]) or (len(said) > 3 and _share(said, held) >= _TOLD):
            return True
    return False


def words(text: str) -> list[str]:
    """Return the set of words by which answers are compared."""
    return [word for word in re.findall(r"\w+", text.lower()) if word not in ("a", "an", "the")]


def _share(said: Sequence[str], held: Sequence[str]) -> float:
    return len({*said} & {*held}) / len({*said})
