"""Detects names of persons, addresses and numbers in a request that also occur in the person's files.

A word is a name if it is part of the name or address of somebody in a mail, chat or appointment, if the files write it
with a capital letter inside a sentence, or if they never write it without one. Numbers are compared by their digits,
however these are grouped. In doubt, a word counts as a name.
"""

import re
from collections.abc import Sequence
from typing import Final

from device_app.english.stop_words import HOW_ASKED, LANGUAGES, STOP_WORDS, word_set
from device_app.english.terms import plain
from shared.types import StoredPassage
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore

MOST_WORDS: Final = 100
"""The most different words of a request that are looked up; a longer request counts as holding a name."""

_PASSAGES: Final = 20
"""The number of passages in which it is checked whether a word is written as a name."""

_NUMBER_PASSAGES: Final = 100
"""The number of passages in which a number is searched for, the likeliest first."""

_DIGITS, _SAME_RUN, _MOST_DIGITS = 5, 7, 40
"""Numbers of digits: the fewest in a number that is looked up; how many in a row two numbers must share to be the
same, whatever the other digits; and the most in a number that is looked up.
"""

_GROUP: Final = range(2, 13)
"""The possible lengths of a group of digits, as files may write a number."""

_NAMES_TOO = word_set("can will")
"""Stop words that are also names, so that they are looked up in small letters as well."""

_NO_NAMES = (STOP_WORDS | HOW_ASKED | LANGUAGES) | word_set(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december"""
)
"""Words that count as names only if a known person is called so."""

_WORD = re.compile(r"[^\W_]+")
_INSIDE = re.compile(r"(?<=[\w,;] )[^\W_]+")
_NUMBER = re.compile(r"[^\W\d_]*\d(?:[^\w\n]{0,3}\d)*")
"""Matches a number grouped in any way, such as "(555) 123-4567"; letters may precede it, as in an IBAN."""


def holds_known_name(text: str, keywords: KeywordIndex, store: KnowledgeStore) -> bool:
    """Return whether the text has a word that the files use as a name, or a number that they contain.

    Return True as well for an e-mail address, or if the text has too many words to look up. Raises StoreError.
    """
    words: list[str] = [word for word in dict.fromkeys(_WORD.findall(text)) if not word.isdigit()]
    if "@" in text or len(words) > MOST_WORDS:
        return True
    if any(_is_known_number(number, keywords, store) for number in _NUMBER.findall(text)):
        return True
    if any(keywords.names(plain(word)) for word in words if _may_be_somebody(word)):
        return True
    inside = {word for word in _INSIDE.findall(text) if word[0].isupper()}
    for word in words:
        if len(word) > 1 and (plain(word) not in _NO_NAMES or (word in inside and plain(word) in _NAMES_TOO)):
            passages = list(store.passages(keywords.some(plain(word), _PASSAGES).tolist()).values())
            if passages and (word in inside or _is_name(plain(word), passages)):
                return True
    return False


def _may_be_somebody(word: str) -> bool:
    """Return whether the word may be a person's name, which a stop word in small letters is not."""
    return len(word) > 1 and (word[0].isupper() or plain(word) not in STOP_WORDS - _NAMES_TOO)


def _is_name(word: str, passages: Sequence[StoredPassage]) -> bool:
    """Return whether the passages, which all have the word in some form, use it as a name."""
    texts = [passage.text for passage in passages]
    if any(plain(inside) == word for text in texts for inside in _INSIDE.findall(text) if inside[0].isupper()):
        return True
    uses = [use for text in texts for use in _WORD.findall(text) if plain(use) == word]
    return bool(uses) and all(use[0].isupper() for use in uses)


def _is_known_number(number: str, keywords: KeywordIndex, store: KnowledgeStore) -> bool:
    """Return whether the files contain the number, however its digits are grouped."""
    digits = _digits(number)
    if not _DIGITS <= len(digits) <= _MOST_DIGITS:
        return len(digits) > _MOST_DIGITS
    size = min(len(digits), _SAME_RUN)
    groups = {digits[first : first + length] for length in _GROUP for first in range(len(digits) - length + 1)}
    whole = "".join(_WORD.findall(plain(number)))
    terms = sorted({*groups, digits, whole, *_WORD.findall(plain(number))})
    passages = store.passages(keywords.search(terms, _NUMBER_PASSAGES).tolist()).values()
    texts = (part for passage in passages for part in (passage.title, *passage.people, passage.text))
    held = [_digits(match) for text in texts for match in _NUMBER.findall(text)]
    return any(digits[first : first + size] in other for other in held for first in range(len(digits) - size + 1))


def _digits(number: str) -> str:
    return "".join(character for character in number if character.isdigit())
