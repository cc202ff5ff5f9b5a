"""Decides whether a request may hold a text of the person's, which must not leave this device. In doubt, it does.

This test is wider than that of `intents`, which needs to be sure of a given text before it does without files.
"""

import re
from typing import Final

from device_app.english.instructions import MAKES_UP, POINTS, ROLE, TREATS, first_verb
from device_app.english.stop_words import LANGUAGES, word_set
from device_app.english.terms import plain

MOST_CHARACTERS: Final = 1_000
"""The characters of the longest request that may hold no text."""

_MARK = re.compile(r"[:\uFE13\uFE55\uFF1A\u2236]\s*\S")
"""A colon of any script with something behind it."""

_QUOTATION = re.compile(
    r"[\"\u201C-\u201F\u00AB\u00BB\u2039\u203A\u300C-\u300F\u301D-\u301F\u275B-\u275E\uFF02`\u00B4<>{}\[\]]"
    r"|(?<!\w)['\u2018-\u201B](?=\S).*?\S['\u2018-\u201B](?!\w)"
)
"""A quotation mark or bracket of any kind, and a pair of single ones that are no apostrophes."""

_CLAUSE = re.compile(r"(?<=[.?!;,)\u2026\u2013\u2014-])\s*|\s+(?:and|then|but|or|so)\s+", re.IGNORECASE)

_CHANGES_TEXT = word_set(
    """anonymise anonymize convert paraphrase proofread rephrase reword rewrite shorten summarise summarize translate
    translated translating translation"""
)
"""Words that speak of a given text wherever they stand."""

_SAYS = re.compile(
    rf"\b(?:say|said|put|mean|means|meaning|spell|spelled)\b.*\b(?:in|into)\s+(?:{'|'.join(sorted(LANGUAGES))})\b",
    re.IGNORECASE,
)
"""A question for a translation: "How do I say … in German?"."""

_INSTRUCTION = LANGUAGES | word_set("for from in into it me please that the to")
"""Words that may stand beside the verb of an instruction which holds no text: "Translate it into German"."""

_THIS = re.compile(r"\b(?:this|these)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")


def may_hold_text(text: str) -> bool:
    """Return whether a request may hold a given text: in a further line, behind a colon, in quotation marks, where its
    instructions name one or treat one, or where it is long.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(text) > MOST_CHARACTERS or len(lines) > 1 or _MARK.search(text) or _QUOTATION.search(text):
        return True
    if POINTS.search(text) or _THIS.search(text) or _SAYS.search(text):
        return True
    clauses = [clause for clause in _CLAUSE.split(text) if clause.strip()]
    return bool(len(clauses) > 1 and ROLE.search(text)) or (_treats(text, clauses) and _has_more(text))


def _treats(text: str, clauses: list[str]) -> bool:
    """Return whether a request asks for something to be done to a text."""
    if any(word in _CHANGES_TEXT for word in _WORD.findall(plain(text))):
        return True
    verbs = [first_verb(clause) for clause in clauses]
    return any(verb in TREATS and not MAKES_UP.match(f"{verb} {rest}") for verb, rest in verbs)


def _has_more(text: str) -> bool:
    """Return whether a request has words besides an instruction to treat something."""
    _, rest = first_verb(text)
    return any(word not in _INSTRUCTION for word in _WORD.findall(plain(rest)))
