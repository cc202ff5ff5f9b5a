"""The keywords of a question for searching passages, and a test whether a text has a word in any form."""

import re
import unicodedata
from collections.abc import Sequence

from device_app.english.stemming import family, forms
from device_app.english.stop_words import OF_ANY_DAY, STOP_WORDS
from shared.types import StoredPassage

_MOST_TERMS = 64
"""The most keywords of a search, as its time grows with their number."""

_WORD = re.compile(r"\w+")
_ACCENTS = re.compile("[\u0300-\u036f]")  # of Latin, Greek and Cyrillic; other marks make letters


def terms(question: str) -> list[str]:
    """Return the keywords of a question, each once: without stop words, unless there are no others."""
    words = list(dict.fromkeys(_WORD.findall(plain(question))))
    return ([word for word in words if word not in STOP_WORDS] or words)[:_MOST_TERMS]


def with_families(words: Sequence[str]) -> list[str]:
    """Return the words, each followed by words of its family that the keyword index keeps apart from it."""
    return list(dict.fromkeys(each for word in words for each in (word, *family(word))))


def says_nothing(question: str) -> bool:
    """Return whether no word of the question distinguishes one passage from another, as in "What is on?"."""
    return all(word in STOP_WORDS or word in OF_ANY_DAY for word in _WORD.findall(plain(question)))


def stands_in(word: str, texts: Sequence[str]) -> bool:
    """Return whether one of these texts, prepared by `searched`, contains the word in any form."""
    form = re.compile(rf"\b{forms(word)}\b")
    return any(form.search(text) for text in texts)


def searched(passage: StoredPassage) -> str:
    """Return the text of a passage in which keywords are searched, prepared for comparison."""
    return plain("\n".join((passage.title, *passage.people, passage.text)))


def plain(text: str) -> str:
    """Return the text in lower case and without accents, as the keyword index compares it."""
    return without_accents(text).lower()


def without_accents(text: str) -> str:
    """Return the text without the accents of its letters."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
