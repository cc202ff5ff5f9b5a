"""Normalises the words of a text for comparison: lower case, no accents, no English endings, numbers in digits.

Words of other languages stay unchanged.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from device_app.english.lexicon import NUMBERS, TENS
from device_app.english.stemming import stemmed
from device_app.english.stop_words import STOP_WORDS, word_set
from device_app.english.terms import plain

_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Matches the place at which a name written as one word, such as "AdamSmith", is split."""

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_MEASURES = frozenset(map(stemmed, word_set("day date time number name year kind many much old long far often")))

_DENIES = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|without|neither|nor|cannot|hardly|\w+n['’]t|instead of|rather than)\b",
    re.IGNORECASE,
)


def said(text: str) -> list[str]:
    """Return all normalised words in order; "twenty-five" becomes 25."""
    return list(_joined(_WORD.findall(plain(_INNER_CAPITAL.sub(" ", text)))))


def content_words(text: str) -> list[str]:
    """Return the content words, each once, without stop words."""
    return [word for word in dict.fromkeys(said(text)) if word not in _silent()]


def names(question: str) -> frozenset[str]:
    """Return a question's names and numbers: capitalised words, except the first, and words that begin with a digit."""
    _, *others = re.findall(r"[\w’'-]+", question) or [""]
    named = content_words(" ".join(word for word in others if word[0].isupper()))
    return frozenset((*named, *(word for word in content_words(question) if word[0].isdigit())))


def is_measure(word: str) -> bool:
    """Return whether the word only names the kind of value that is asked for: a day, a number, how many."""
    return word in _MEASURES


def denies(text: str) -> bool:
    """Return whether the text has a negation."""
    return _DENIES.search(text) is not None


def _joined(words: list[str]) -> Iterator[str]:
    place = 0
    while place < len(words):
        word, behind = words[place], words[place + 1 : place + 2]
        place += 1
        if word in TENS and behind and len(NUMBERS.get(behind[0], "")) == 1:
            place += 1
            yield str(int(TENS[word]) + int(NUMBERS[behind[0]]))
        elif word[0].isdigit():
            yield _THOUSANDS.sub("", word).lstrip("0") or "0"
        else:
            yield NUMBERS.get(word) or stemmed(word)


@lru_cache(maxsize=1)
def _silent() -> frozenset[str]:
    return frozenset(map(stemmed, STOP_WORDS))
