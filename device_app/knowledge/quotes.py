"""What passages say of something, in their own words: the sentences nearest to it by meaning (extractive summarisation,
query-focused). No model writes them, so that nothing is made up.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from device_app.english.speech import spoken
from models.engine import Embedder
from shared.text import count_words, sentences
from shared.types import StoredPassage

WORDS: Final = 50
"""Once the quotes have so many words, nothing is added."""

NEAR: Final = 0.3
"""Cosine from which a sentence says something of what is asked."""

LEAST_WORDS: Final = 4
"""A shorter sentence ("I think so.") says nothing by itself, however near it is."""

_MARKS = re.compile(r"^[\s>#*+–-]+(?=\s)")
"""Before the words of a list's item, a heading or a quotation."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage, which counts from 1; and who says it, "" where that is not known."""

    source: int
    speaker: str
    sentence: str

    @property
    def text(self) -> str:
        """What is said, behind who says it."""
        return f"{self.speaker}: {self.sentence}" if self.speaker else self.sentence


def find(question: str, passages: Sequence[StoredPassage], embedder: Embedder) -> list[Quote]:
    """What the passages say nearest to the question, in their order; nothing where none of it comes near.

    A question of "" asks for all of it: nearest then is what is most like the rest (the centroid: Radev et al.,
    Centroid-based summarization of multiple documents, 2004).
    """
    said = [quote for number, passage in enumerate(passages, 1) for quote in _said(number, passage)]
    if not said:
        return []
    vectors = embedder.embed([question, *(quote.text for quote in said)])
    nearness = (vectors[1:] @ (vectors[0] if question else vectors[1:].mean(axis=0))).tolist()
    chosen: list[int] = []
    known: list[frozenset[str]] = []
    words = 0
    for place in sorted(range(len(said)), key=lambda place: -nearness[place]):
        if words >= WORDS or (question and nearness[place] < NEAR):
            break
        own = frozenset(_WORD.findall(said[place].sentence.lower()))
        if any(own <= other or other <= own for other in known):  # quoted in a reply, or sent twice
            continue
        chosen.append(place)
        known.append(own)
        words += count_words(said[place].sentence)
    return [said[place] for place in sorted(chosen)]


def _said(source: int, passage: StoredPassage) -> Iterator[Quote]:
    for speaker, words in spoken(passage):
        for sentence in sentences(_MARKS.sub("", words)):
            if count_words(sentence) >= LEAST_WORDS and "|" not in sentence:  # as in the row of a table
                yield Quote(source, speaker, sentence)
