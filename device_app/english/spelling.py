"""Corrects misspelled words: by a vocabulary, or by proposing spellings one letter away. Reads no store."""

import string
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

LEAST_LETTERS, MOST_LETTERS = 4, 24
"""The fewest and the most letters of words that are corrected; shorter words are similar to too many others."""

_LEAST_PART = 2
"""The fewest letters on either side of a missing space: "wifi" for "Wi-Fi"."""

_BLOCK = 0x80
_SYLLABIC = 0x2E80
"""The first character of the scripts that have too many characters to try all of them."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A typed word, and the word from the files that was searched for in its place."""

    typed: str
    used: str


_LEAST_KNOWN: Final = 5
"""The fewest letters of a word that may be corrected by more than an exchange of two letters."""


def nearest(word: str, vocabulary: Set[str], least_similarity: float) -> str:
    """Return the word of a vocabulary that is most similar to a misspelled word; the word itself if none is similar.

    Both words begin with the same letter, and their lengths differ by at most one; the similarity is difflib's. A word
    with fewer than five letters is corrected only if two of its letters are exchanged.
    """
    if len(word) < LEAST_LETTERS or word in vocabulary:
        return word
    places = range(1, len(word) - 1)
    exchanged = (word[:place] + word[place + 1] + word[place] + word[place + 2 :] for place in places)
    if (known := next((each for each in exchanged if each in vocabulary), "")) or len(word) < _LEAST_KNOWN:
        return known or word
    likely = sorted(each for each in vocabulary if each[:1] == word[0] and abs(len(each) - len(word)) <= 1)
    return next(iter(get_close_matches(word, likely, 1, least_similarity)), word)


def is_correctable(word: str) -> bool:
    """Return whether a spelling of the word may be proposed: not for numbers and very short or long words."""
    return (
        LEAST_LETTERS <= len(word) <= MOST_LETTERS
        and not any(character.isdigit() or character == "_" for character in word)
        and max(map(ord, word)) < _SYLLABIC
    )


def spellings(word: str) -> dict[str, float]:
    """Return the words one letter away, each with the weight of the assumed mistake.

    The mistakes are two letters exchanged, a letter left out, doubled, added or replaced, and a space or hyphen left
    out. Mistakes in the first letter are the rarest.
    """
    letters = _alphabet(word)
    weights: dict[str, float] = {}
    for place in range(len(word) + 1):
        before, behind = word[:place], word[place:]
        factor = 0.3 if place == 0 else 1.0
        candidates: list[tuple[str, float]] = [(before + letter + behind, 1.0) for letter in letters]
        if min(len(before), len(behind)) >= _LEAST_PART:
            candidates.append((f"{before} {behind}", 4.0))
        if behind:
            doubled = place > 0 and behind[0] == word[place - 1]
            candidates.append((before + behind[1:], 2.0 if doubled else 1.0))
            candidates += [(before + letter + behind[1:], 1.0) for letter in letters]
        if len(behind) > 1:
            candidates.append((before + behind[1] + behind[0] + behind[2:], 2.0))
        for candidate, weight in candidates:
            weights[candidate] = max(weights.get(candidate, 0.0), weight * factor)
    weights.pop(word, None)
    return weights


def best(weights: Mapping[str, float], passages: Mapping[str, int], together: Mapping[str, int]) -> str | None:
    """Return the likeliest of some spellings; None if no passage holds any of them.

    `passages` counts the passages with a spelling; `together`, which weighs far more, those that also hold another word
    of the search.
    """
    held = [word for word in weights if passages.get(word)]
    return max(
        held,
        key=lambda word: (weights[word] * (1 + 50 * together.get(word, 0)) * (1 + passages[word]) ** 0.5, word),
        default=None,
    )


def _alphabet(word: str) -> list[str]:
    """Return the letters to try for corrections: Latin letters, or the Unicode blocks of the word's letters."""
    blocks = {ord(character) // _BLOCK for character in word}
    return list(dict.fromkeys(letter for block in sorted(blocks) for letter in _letters(block)))


def _letters(block: int) -> Iterator[str]:
    if block == 0:
        return iter(string.ascii_lowercase)
    is_small: Callable[[str], bool] = lambda character: character.isalpha() and character == character.lower()  # noqa: E731
    return filter(is_small, map(chr, range(block * _BLOCK, (block + 1) * _BLOCK)))
