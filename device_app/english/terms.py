"""The words by which passages are searched: those of a question, and whether a text has one in any form."""

import re
import unicodedata
from collections.abc import Sequence

from device_app.english.stemming import forms
from device_app.english.stop_words import OF_ANY_DAY, STOP_WORDS
from shared.types import StoredPassage

_MOST_TERMS = 64
"""A longer question is cut for the search; it costs time by the word."""

_WORD = re.compile(r"\w+")
_ACCENTS = re.compile("[\u0300-\u036f]")  # those of Latin, Greek and Cyrillic; elsewhere marks make other letters


def terms(question: str) -> list[str]:
    """The words to look up, each once: without stop words, unless there is nothing else."""
    words = list(dict.fromkeys(_WORD.findall(plain(question))))
    return ([word for word in words if word not in STOP_WORDS] or words)[:_MOST_TERMS]


def says_nothing(question: str) -> bool:
    """Whether no word of the question tells one passage from another, as in "What is on?"."""
    return all(word in STOP_WORDS or word in OF_ANY_DAY for word in _WORD.findall(plain(question)))


def stands_in(word: str, texts: Sequence[str]) -> bool:
    """Whether one of these, as `searched` gives them, has the word in any form."""
    form = re.compile(rf"\b{forms(word)}\b")
    return any(form.search(text) for text in texts)


def searched(passage: StoredPassage) -> str:
    """What of a passage is searched for words, as they are compared."""
    return plain("\n".join((passage.title, *passage.people, passage.text)))


def plain(text: str) -> str:
    """In small letters without accents, as the keyword index compares."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
    return text.lower()
