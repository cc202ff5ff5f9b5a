"""Normalises the words of cells, columns and questions for comparison: lower case, no accents, no endings."""

import re
from functools import lru_cache

from device_app.english.stemming import stemmed
from device_app.english.terms import plain

WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][a-z]{2,})?")
_PLURAL = re.compile(r"(?<=[^aeiou])ies$|(?<=[ox])es$|(?<=[cs]h)es$|(?<=ss)es$|(?<=[^sui])s$")


def key(text: str) -> list[str]:
    """Return the normalised words of a text in order; numbers stay unchanged."""
    return [word_key(word) for word in WORD.findall(plain(text))]


@lru_cache(maxsize=8192)
def word_key(word: str) -> str:
    """Return a word without its plural or verb ending: "grocery" for "groceries", "climb" for "climbing"."""
    return stemmed(singular(word))


def singular(word: str) -> str:
    """Return a word without its plural ending: "grocery" for "groceries"."""
    return _PLURAL.sub(lambda match: "y" if match[0] == "ies" else "", word)
