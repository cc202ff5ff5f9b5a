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
    "please|pls|plz|thanks|cheers|tbh|thank you|jackdaw|exactly|again|by the way|btw|in my files|do you know|"
    "if any|if you can|at all"
)
_BEFORE = re.compile(rf"(?:(?:{_POLITE})\b[\s,:.!]*)+(?=\S)", re.IGNORECASE)
# It begins where a run of spaces and commas does, as trying each place of a long run takes seconds.
_BEHIND = re.compile(rf"(?<![\s,])(?:[\s,]+(?:{_ADDED}))+$", re.IGNORECASE)
_BEHIND_REQUEST = re.compile(rf"(?<![\s,])(?:[\s,]+(?:{_ADDED}|for me))+$", re.IGNORECASE)
_REQUEST = re.compile(
    r"(?:show|list|find|tell|count|look|search|check|get|give|fetch|bring|pull|dig|open|read|name|print|work|figure|add|"
    r"sum|total|calculate|compute|divide|multiply|convert|translate|summari[sz]e|recap|repeat)\b",
    re.IGNORECASE,
)
_OFFER = re.compile(r"\b(?:can|could|would|will) (?:you|u)\b[^?!.]*$", re.IGNORECASE)
_CLAUSE = re.compile(
    r"\b(?:who|whom|whose|what|when|where|which|why|how|that|if|whether|(?-i:[a-z]{2,}ed)|bought|brought|came|chose|did|done|"
    r"found|gave|got|had|has|have|is|are|was|were|kept|left|made|paid|sent|took|went|wrote)\b",
    re.IGNORECASE,
)
"""Matches words of a clause, in which "for me" is a part of what is asked: "show me what Tom bought for me"."""


def bare(text: str) -> str:
    """Return a question without greeting, polite words and the signs at its end, on one line with plain quotes.

    "For me" is polite behind a request, as in "count the mails for me"; in "what did Tom buy for me" it is asked about.
    """
    said = " ".join(text.translate(_QUOTES).split()).rstrip(" .?!…")
    before = ""
    if (match := _BEFORE.match(said)) and match.end() < len(said):
        before, said = match[0], said[match.end() :]
    is_request = bool(_REQUEST.match(said) or _OFFER.search(before)) and not _CLAUSE.search(said)
    return (_BEHIND_REQUEST if is_request else _BEHIND).sub("", said).rstrip(" .?!,…")
