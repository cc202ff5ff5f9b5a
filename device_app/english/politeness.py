"""Leaves out what a question has besides its words: greetings, polite words, signs at its end."""

from __future__ import annotations

import re
from typing import Final

_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_POLITE: Final = (
    "hey|hi|hello|jackdaw|ok|okay|so|well|and|please|pls|plz|sorry|btw|just|"
    "(?:can|could|would|will) (?:you|u)(?: please)?|"
    "(?:please )?tell me|do you know|i(?:'d| would) like to (?:know|see|have)|i (?:want|need) to (?:know|see)|"
    "let me (?:know|see)|remind me|quickly|quick question|i wonder|i was wondering|any idea"
)
_ADDED: Final = (
    "please|pls|plz|thanks|cheers|tbh|thank you|jackdaw|exactly|again|by the way|btw|in my files|do you know|for me|"
    "if any|if you can|at all"
)
_BEFORE = re.compile(rf"(?:(?:{_POLITE})\b[\s,:.!]*)+(?=\S)", re.IGNORECASE)
# It begins where a run of spaces and commas does, as trying each place of a long run takes seconds.
_BEHIND = re.compile(rf"(?<![\s,])(?:[\s,]+(?:{_ADDED}))+$", re.IGNORECASE)


def bare(text: str) -> str:
    """Return a question without greeting, polite words and the signs at its end, on one line with plain quotes."""
    said = " ".join(text.translate(_QUOTES).split()).rstrip(" .?!…")
    if (match := _BEFORE.match(said)) and match.end() < len(said):
        said = said[match.end() :]
    return _BEHIND.sub("", said).rstrip(" .?!,…")
