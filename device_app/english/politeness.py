"""Removes greetings, polite words and the punctuation at the end from a question."""

from __future__ import annotations

import re
from typing import Final

_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_POLITE: Final = (
    "hey|hi|hiya|hello|good (?:morning|afternoon|evening)|jackdaw|ok|okay|alright|right|so|well|and|please|pls|plz|"
    "sorry|btw|by the way|just|um|uh|hmm|oh|ah|actually|quickly|quick question|"
    "(?:can|could|would|will) (?:you|u)(?: please| just| quickly)?|"
    "(?:please )?(?:tell|remind) me(?: again)?|do you (?:know|remember|recall|happen to know)|any idea|"
    "any chance you know|i(?:'d| would) (?:like|love) to (?:know|see|have)|i (?:want|need) to (?:know|see)|"
    "let me (?:know|see)|i (?:wonder|was wondering)|"
    "i(?:'m| am) (?:wondering|not sure|trying to (?:remember|recall|find out))|"
    "i (?:forgot|forget|(?:can't|cannot|don't) (?:remember|recall))|"
    "(?:check|find out|look up|work out|figure out)(?: for me)?(?= (?:if|whether|who|what|when|where|which|how)\\b)"
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
