"""What passages say of something, in their own words: the sentences nearest to the question by meaning (extractive,
query-focused summarisation). No model writes them, so that nothing is made up.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from models.engine import Embedder
from shared.text import count_words, sentences

WORDS: Final = 50
"""Once the quotes have so many words, nothing is added."""

NEAR: Final = 0.3
"""Cosine from which a sentence says something of what is asked."""

LEAST_WORDS: Final = 4
"""A shorter sentence ("I think so.") says nothing by itself, however near it is."""

_SPEAKER = re.compile(r"([^\W\d_][^:\n]{0,60}): +(?=\S)")


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage, which counts from 1; and who says it, "" where its line does not tell."""

    source: int
    speaker: str
    sentence: str

    @property
    def text(self) -> str:
        """What is said, behind who says it."""
        return f"{self.speaker}: {self.sentence}" if self.speaker else self.sentence


def find(question: str, passages: Sequence[str], embedder: Embedder) -> list[Quote]:
    """What the passages say nearest to the question, in their order; nothing where none of it comes near."""
    said = [
        quote
        for number, passage in enumerate(passages, 1)
        for quote in _said(number, passage)
        if count_words(quote.sentence) >= LEAST_WORDS
    ]
    if not said:
        return []
    vectors = embedder.embed([question, *(quote.text for quote in said)])
    nearness = (vectors[1:] @ vectors[0]).tolist()
    chosen: list[int] = []
    words = 0
    for place in sorted(range(len(said)), key=lambda place: -nearness[place]):
        if words >= WORDS or nearness[place] < NEAR:
            break
        chosen.append(place)
        words += count_words(said[place].sentence)
    return [said[place] for place in sorted(chosen)]


def _said(source: int, passage: str) -> Iterator[Quote]:
    """The sentences of a passage. A line of a chat or a transcript begins with who says it."""
    for line in passage.splitlines():
        named = _SPEAKER.match(line)
        for sentence in sentences(line[named.end() :] if named else line):
            yield Quote(source, named[1] if named else "", sentence)
