"""Finds names of persons, addresses and numbers in a request that the person's files hold too.

A word is a name where the files write it with a capital letter inside a sentence, or never without one, or where it is
part of the name or address of somebody in a mail or chat. In doubt, it is one.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from device_app.english.stop_words import HOW_ASKED, STOP_WORDS, word_set
from device_app.english.terms import plain
from shared.types import StoredPassage
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore

MOST_WORDS: Final = 100
"""The most different words of a request that are looked up; of a longer one it is not known whether it holds names."""

_PASSAGES: Final = 20
"""The passages that are looked at for a word."""

_DIGITS: Final = 5
"""The digits from which a number may be part of an address, or of a telephone or an account."""

_EVERYBODYS = word_set(
    """arabic chinese czech danish dutch english finnish french german greek hindi hungarian italian japanese korean
    latin norwegian polish portuguese russian spanish swedish turkish ukrainian monday tuesday wednesday thursday friday
    saturday sunday january february march april may june july august september october november december"""
)
"""Words with a capital letter that name nobody."""

_WORD = re.compile(r"[^\W_]+")
_INSIDE = re.compile(r"(?<=[\w,;] )[^\W_]+")


def known_name(text: str, keywords: KeywordIndex, store: KnowledgeStore) -> str:
    """Return a word of the text that the files hold as a name, or as a number of an address; "" if there is none.

    Return the text's beginning if it has too many words to look up, or an e-mail address. Raises StoreError.
    """
    words: list[str] = [word for word in dict.fromkeys(_WORD.findall(text)) if _may_name(word)]
    if "@" in text or len(words) > MOST_WORDS:
        return text[:_PASSAGES]
    inside = {word for word in _INSIDE.findall(text) if word[0].isupper()}
    for word in words:
        passages = list(store.passages(keywords.some(plain(word), _PASSAGES).tolist()).values())
        if passages and (word in inside or word.isdigit() or _is_name(plain(word), passages)):
            return word
    return ""


def _may_name(word: str) -> bool:
    if word.isdigit():
        return len(word) >= _DIGITS
    return len(word) > 1 and plain(word) not in STOP_WORDS | HOW_ASKED | _EVERYBODYS


def _is_name(word: str, passages: Sequence[StoredPassage]) -> bool:
    """Return whether these passages, which hold the word in some form, use it as a name."""
    if word in _plain_words(person for passage in passages for person in passage.people):
        return True
    texts = [passage.text for passage in passages]
    if any(plain(inside) == word for text in texts for inside in _INSIDE.findall(text) if inside[0].isupper()):
        return True
    uses = [use for text in texts for use in _WORD.findall(text) if plain(use) == word]
    return bool(uses) and all(use[0].isupper() for use in uses)


def _plain_words(texts: Iterable[str]) -> set[str]:
    return {plain(word) for text in texts for word in _WORD.findall(text)}
