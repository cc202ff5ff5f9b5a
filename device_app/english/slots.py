"""Parses a question into slots: the words that a vocabulary knows, each with its kind, and the other words between
them.

A vocabulary is a file in `vocabularies`: a line lists the words of a kind, `kind: word, two words`; an indented line
continues the one before. Unknown words make slots of the kind "": names, titles and topics, or words that the rule does
not understand. So a rule recognises its questions by their known words, in any order, and leaves a question with other
words to other rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from device_app.english.politeness import bare
from device_app.english.spelling import nearest

VOCABULARIES: Final = Path(__file__).with_name("vocabularies")
"""The folder of the files of words."""

_TOKEN: Final = re.compile(r"[^\W\d_]\.(?=\s|$)|[^\W_]+(?:['.@&/+-][^\W_]+)*")
_IS: Final = re.compile(
    r"\b(?:(what|who|when|where|which|how|that|there|it|time|day|date)'s|(what|who|when|where|how|that|there)s)\b",
    re.IGNORECASE,
)
_SHORT: Final = re.compile(r"\b(i|we|you|they)'(ve|d|m|ll|re)\b")
_FULL: Final = {"ve": "have", "d": "had", "m": "am", "ll": "will", "re": "are"}
_LIKE: Final = 0.83
"""A word counts as a misspelled word of a vocabulary from this similarity (difflib) on."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Words of a question: `kind` is that of the vocabulary, "" if it has none for them."""

    kind: str
    text: str


@dataclass(frozen=True)
class Vocabulary:
    """The words that a rule understands, each with its kind."""

    kinds: dict[str, str]

    @classmethod
    def load(cls, *names: str) -> Self:
        """Read a vocabulary from files; if several files contain a word, the last one determines its kind."""
        kinds: dict[str, str] = {}
        for name in names:
            text = (VOCABULARIES / f"{name}.txt").read_text(encoding="utf-8")
            lines = (line for line in text.replace("\n ", " ").splitlines() if line and not line.startswith("#"))
            for kind, _, words in (line.partition(": ") for line in lines):
                kinds |= {" ".join(word.split()): kind for word in words.split(",") if word.strip()}
        return cls(kinds)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The kinds in the order of the files."""
        return tuple(dict.fromkeys(self.kinds.values()))

    @cached_property
    def longest(self) -> int:
        """The number of words in the longest entry."""
        return max(len(entry.split()) for entry in self.kinds)

    @cached_property
    def words(self) -> frozenset[str]:
        """All single words of the entries."""
        return frozenset(word for entry in self.kinds for word in entry.split())

    def read(self, text: str) -> tuple[Slot, ...]:
        """Return the slots of a text that `normal` returned; consecutive unknown words are one slot."""
        return tuple(self._slots(_TOKEN.findall(text)))

    def corrected(self, text: str) -> str:
        """Return the text with misspelled words of this vocabulary corrected."""
        return " ".join(nearest(word, self.words, _LIKE) for word in text.split())

    def _slots(self, words: list[str]) -> Iterator[Slot]:
        others: list[str] = []
        place = 0
        while place < len(words):
            for length in range(min(self.longest, len(words) - place), 0, -1):
                entry = " ".join(words[place : place + length])
                if kind := self.kinds.get(entry):
                    if others:
                        yield Slot("", " ".join(others))
                        others = []
                    yield Slot(kind, entry)
                    place += length
                    break
            else:
                others.append(words[place])
                place += 1
        if others:
            yield Slot("", " ".join(others))


def normal(question: str) -> str:
    """Return a question in lower case on one line, without polite words, with contractions written in full."""
    return in_full(bare(question))


def in_full(text: str) -> str:
    """Return a text in lower case on one line, with contractions written in full."""
    text = _IS.sub(lambda match: f"{match[1] or match[2]} is", text).lower()
    return " ".join(_SHORT.sub(lambda match: f"{match[1]} {_FULL[match[2]]}", text).split())
