"""Reads whether a sentence allows or forbids something, and whether a question asks that. Pure."""

import re
from collections.abc import Iterable
from typing import Final, Literal

from device_app.english.stemming import forms
from device_app.english.terms import plain
from device_app.english.words import denies

_ASKS: Final = re.compile(
    r"(?:^|,\s+)(?:can|could|may) (?:i|we|you|one|people|tenants?|guests?|children|kids)\b|\b(?:allowed|permitted)\b",
    re.IGNORECASE,
)
_ASKS_OTHERWISE: Final = re.compile(r"\b(?:forbidden|prohibited|banned|or)\b", re.IGNORECASE)
_UNSURE: Final = re.compile(
    r"\bno (?:more|less|fewer|later|earlier) than\b"
    r"|\bno (?:\w+ )?(?:fees?|charges?|costs?|problems?|limits?|objections?)\b"
    r"|(?:\b(?:not|never|no longer)|n['’]t) (?:\w+ )?(?:forbidden|prohibited|banned)\b|\bnot forget\b"
)
"""Matches a limit, what costs nothing, and a denied ban: whether they allow anything is not said in so many words."""

_ALLOWED: Final = r"(?:allowed|permitted|admitted|acceptable)"
_FORBIDS: Final = re.compile(
    rf"(?:\b(?:not|never|nor|no longer)|n['’]t)\b(?: \w+){{0,2}} {_ALLOWED}\b|\b(?:forbidden|prohibited|banned)\b"
    rf"|\b(?:nobody|no one|none|neither)\b.{{0,40}} {_ALLOWED}\b|\bcan['’]t\b"
    r"|\b(?:may|must|can|shall) ?(?:not|never)\b|\b(?:must|shall|may)n['’]t\b|\bdo(?:es)? not (?:allow|permit)\b"
    rf"|\bno \w+(?: \w+){{0,3}} (?:is|are) {_ALLOWED}\b"
)
_ALLOWS: Final = re.compile(
    rf"\b(?:is|are|be|was|were)(?: \w+)? {_ALLOWED}\b|\bmay (?:keep|have|bring|use|own|stay|park|smoke|sublet|paint)\b"
    r"|\b(?:we|they|he|she|it|landlord|lease|contract|owner|house) (?:allows?|permits?)\b"
    r"|\ballows? (?:one|two|a|an|the)\b"
)


def asks_permission(question: str) -> bool:
    """Return whether the question asks if something is allowed, so that "yes" means that it is."""
    return bool(_ASKS.search(question)) and not _ASKS_OTHERWISE.search(question) and not denies(question)


def permission(sentence: str, subject: Iterable[str]) -> Literal["yes", "no", ""]:
    """Return "yes" if the sentence allows something, "no" if it forbids it, and "" if it says neither.

    `subject` are the words of what is asked about: "no dogs" forbids dogs.
    """
    text = plain(sentence).replace("’", "'")
    if _UNSURE.search(text):
        return ""
    if _FORBIDS.search(text) or any(re.search(rf"\bno (?:\w+ )?{forms(word)}\b", text) for word in subject):
        return "no"
    return "yes" if _ALLOWS.search(text) else ""
