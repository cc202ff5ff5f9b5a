"""Recognises puzzles, which state numbers and ask for a result: "A train travels 60 km in 2 hours. How fast is it?"."""

import re
from typing import Final

from device_app.english.instructions import NEXT_SENTENCE

_LEAST_NUMBERS: Final = 3
"""The fewest numbers in a text with a question at its end that counts as a puzzle."""

_OWN = re.compile(r"\b(?:i|we|my|our|mine|ours)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*|\b(?:two|three|four|five|six|seven|eight|nine|ten|twice|half|double)\b")
_HOW_MANY = re.compile(
    r"how (?:many|much|long|far|old|fast)\b|\b(?:probability|percentage|fraction|area|total)\b", re.IGNORECASE
)


def is_puzzle(text: str) -> bool:
    """Return whether a text states numbers that are not the person's, and asks in a later sentence for a result."""
    _, *later = [sentence for sentence in NEXT_SENTENCE.split(text) if sentence.strip()] or [""]
    is_asked = any(_HOW_MANY.search(sentence) for sentence in later)
    return is_asked and not _OWN.search(text) and len(_NUMBER.findall(text)) >= _LEAST_NUMBERS
