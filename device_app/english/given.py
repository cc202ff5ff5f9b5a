"""Decides whether a request may contain a text of the person's, which must not leave this device. In doubt, it may.

This test is wider than the one in `intents`, which has to be sure that a text is given before it leaves out the files.
"""

import re
from typing import Final

from device_app.english.instructions import MAKES_UP, POINTS, ROLE, TREATS, first_verb, without_polite_words
from device_app.english.stop_words import LANGUAGES, word_set
from device_app.english.terms import plain

MOST_CHARACTERS: Final = 1_000
"""The most characters of a request that counts as holding no text; a longer request may hold one."""

_MARK = re.compile(r"[:\uFE13\uFE55\uFF1A\u2236]\s*\S")
"""Matches a colon of any script that is followed by a character."""

_QUOTATION = re.compile(
    r"[\"\u201C-\u201F\u00AB\u00BB\u2039\u203A\u300C-\u300F\u301D-\u301F\u275B-\u275E\uFF02`\u00B4<>{}\[\]]"
    r"|(?<!\w)['\u2018-\u201B](?=\S).*?\S['\u2018-\u201B](?!\w)"
)
"""Matches a quotation mark or bracket of any kind, or a pair of single quotation marks that are not apostrophes."""

_CLAUSE = re.compile(r"(?<=[.?!;,)\u2026\u2013\u2014-])\s*|\s+(?:and|then|but|or|so)\s+", re.IGNORECASE)

_CHANGES_TEXT = word_set(
    """anonymise anonymize convert paraphrase proofread rephrase reword rewrite shorten summarise summarize translate
    translated translating translation"""
)
"""Verbs and nouns that imply a given text wherever they stand."""

_SAYS = re.compile(
    rf"\b(?:say|said|put|mean|means|meaning|spell|spelled)\b.*\b(?:in|into)\s+(?:{'|'.join(sorted(LANGUAGES))})\b",
    re.IGNORECASE,
)
"""Matches a question for a translation: "How do I say … in German?"."""

_INSTRUCTION = LANGUAGES | word_set("for from in into it me please that the to")
"""Words that may stand beside the verb of an instruction without a text: "Translate it into German"."""

_OF_ONESELF = re.compile(
    r"\b(?:i|we)(?:['’](?:m|re|ve|d|ll))? (?!(?:can|could|may|might|need|should|want|wonder|would like)\b)\w"
    r"|\bi['’]m\b|\bwe['’]re\b|\b(?:my|our) (?:\w+ ){1,2}(?:is|are|was|were|has|have|had)\b",
    re.IGNORECASE,
)
"""Matches a statement of the person about themselves: "I was fired. Write a cover letter", "… that I am ill"."""

_SECRET = re.compile(
    r"\b(?:pass ?(?:words?|codes?|phrases?)|pins?|puk|cvv|iban|credentials)\b(?:\W+\w+){0,2}?\W+"
    r"(?:(?=\w*\d)(?=\w*[a-z])\w{4,}|\d{4,}|is\b|are\b)|\d(?:[ .-]?\d){8,}",
    re.IGNORECASE,
)
"""Matches a password or a similar secret with its value, or a number of nine digits or more, as of a card."""

_THIS = re.compile(r"\b(?:this|these)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")


def may_hold_text(text: str) -> bool:
    """Return whether a request may hold a given text.

    Signs of a given text are a further line, a colon, quotation marks, an instruction that mentions or changes a text,
    a statement about oneself, a secret with its value, and length.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(text) > MOST_CHARACTERS or len(lines) > 1 or _MARK.search(text) or _QUOTATION.search(text):
        return True
    if POINTS.search(text) or _THIS.search(text) or _SAYS.search(text) or _SECRET.search(text):
        return True
    clauses = [clause for clause in _CLAUSE.split(text) if clause.strip()]
    if any(_OF_ONESELF.search(without_polite_words(clause)) for clause in clauses):
        return True
    return bool(len(clauses) > 1 and ROLE.search(text)) or (_treats(text, clauses) and _has_more(text))


def _treats(text: str, clauses: list[str]) -> bool:
    """Return whether a request asks to change or analyse a text."""
    if any(word in _CHANGES_TEXT for word in _WORD.findall(plain(text))):
        return True
    verbs = [first_verb(clause) for clause in clauses]
    return any(verb in TREATS and not MAKES_UP.match(f"{verb} {rest}") for verb, rest in verbs)


def _has_more(text: str) -> bool:
    """Return whether a request has words besides an instruction to change or analyse a text."""
    _, rest = first_verb(text)
    return any(word not in _INSTRUCTION for word in _WORD.findall(plain(rest)))
