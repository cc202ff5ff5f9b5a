"""Quotes what passages say about a subject: the sentences nearest to it by meaning.

This is query-focused extractive summarisation: no model writes, so nothing is invented.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from device_app.english.speech import spoken
from models.engine import Embedder
from shared.text import count_words, sentences
from shared.types import StoredPassage

WORDS: Final = 50
"""The number of quoted words from which no further quote is added."""

NEAR: Final = 0.3
"""The cosine from which a sentence is relevant to the question."""

LEAST_WORDS: Final = 4
"""The fewest words of a quote: a shorter sentence ("I think so.") says nothing by itself, however similar."""

_MARKS = re.compile(r"^[\s>#*+–-]+(?=\s)")
"""Matches the marks before the words of a list item, a heading or a quotation."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of the passage with number `source`, from 1; `speaker` is "" if unknown."""

    source: int
    speaker: str
    sentence: str

    @property
    def text(self) -> str:
        """The sentence, after its speaker."""
        return f"{self.speaker}: {self.sentence}" if self.speaker else self.sentence


def find(
    question: str,
    passages: Sequence[StoredPassage],
    embedder: Embedder,
    speakers: Collection[str] | None = None,
) -> list[Quote]:
    """Return the sentences nearest to the question, in the passages' order; none if none is near enough.

    For the question "", the sentences most similar to all others are nearest (the centroid: Radev et al.,
    Centroid-based summarization of multiple documents, 2004). With `speakers`, only their sentences in chats and mails
    are quoted.
    """
    said = [quote for number, passage in enumerate(passages, 1) for quote in _said(number, passage)]
    if speakers is not None:
        said = [quote for quote in said if (quote.speaker or _sender(passages[quote.source - 1])) in speakers]
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


def _sender(passage: StoredPassage) -> str:
    return passage.people[0].partition(" <")[0] if passage.kind == "mail" and passage.people else ""


def _said(source: int, passage: StoredPassage) -> Iterator[Quote]:
    for speaker, words in spoken(passage):
        for sentence in sentences(_MARKS.sub("", words)):
            is_heading = sentence == passage.title or "|" in sentence  # "|": a row of a table
            if count_words(sentence) >= LEAST_WORDS and not is_heading:
                yield Quote(source, speaker, sentence)
