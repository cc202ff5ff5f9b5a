"""Cutting text: into sentences, and sentences into passages of about 100 words. Knows no format and no file.

Sentences are cut by one expression. The libraries for it carry language data or a compiled core that a phone lacks, and
differ from this mostly at abbreviations, where a passage border does little harm.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from shared.printable import printable

if TYPE_CHECKING:
    from shared.types import Block, Passage

PASSAGE_WORDS = 100
"""Target length (PerCache, Table 1)."""


@cache
def _sentence_end() -> re.Pattern[str]:
    """Behind . ! ? … (and closing quotes or brackets) before white space and something that can begin a sentence.

    A single capital or a common title before the full stop is an abbreviation. CJK stops need no white space. A line
    that ends a list item, a chat message or a heading ends a sentence as well, hence the line breaks.
    """
    return re.compile(
        r"""(?<=[.!?…])(?<![\s(][A-Z]\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\bNo\.)
            ["'”’)\]]*\s+(?=["'“‘(\[]?[^\sa-z])
          | (?<=[。！？])
          | \n\s*""",
        re.VERBOSE,
    )


@cache
def _word() -> re.Pattern[str]:
    """Where a script writes no spaces, a character counts as a word.

    40 characters without a break (a key, a long address) count as one, so that the length of a passage is bounded in
    characters too.
    """
    return re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,40}")


def sentences(text: str) -> list[str]:
    """Cut text into sentences, stripped, in order, none empty."""
    cut: list[str] = []
    start = 0
    for match in _sentence_end().finditer(text):
        # What closes the sentence (a quote, a bracket) stands at the start of the match and stays with it.
        sentence = text[start : match.start()] + match.group().strip()
        cut.append(sentence.strip())
        start = match.end()
    cut.append(text[start:].strip())
    return [sentence for sentence in cut if sentence]


def count_words(text: str) -> int:
    """Words, as passages are measured by them."""
    return sum(1 for _ in _word().finditer(text))


def passages(blocks: Iterable[Block], words: int = PASSAGE_WORDS) -> list[Passage]:
    """Cut blocks into passages of about `words` words at sentence borders.

    A passage closes before it would exceed `words` by more than a quarter; a remainder under a quarter of it joins its
    predecessor. A sentence longer than that is cut at word borders. Blocks of one passage are joined by a line break;
    line and page are those of its first block's first sentence.
    """
    from shared.types import Passage

    closed: list[list[_Piece]] = []
    current: list[_Piece] = []
    size = 0
    for piece in _pieces(blocks, words):
        if current and size + piece.words > words * 1.25:
            closed.append(current)
            current, size = [], 0
        current.append(piece)
        size += piece.words
    if current:
        if closed and size < words // 4:
            closed[-1].extend(current)
        else:
            closed.append(current)
    return [Passage(_joined(pieces), ordinal, pieces[0].line, pieces[0].page) for ordinal, pieces in enumerate(closed)]


class _Piece:
    """A sentence, or part of an over-long one, with the place it came from."""

    __slots__ = ("block", "line", "page", "text", "words")

    def __init__(self, text: str, block: int, line: int | None, page: int | None) -> None:
        self.text = text
        self.words = count_words(text)
        self.block = block
        self.line = line
        self.page = page


def _pieces(blocks: Iterable[Block], words: int) -> Iterator[_Piece]:
    for number, block in enumerate(blocks):
        text = unicodedata.normalize("NFC", printable(block.text))
        position, line = 0, block.line
        # Inside a block a line break is one of wrapping. The lengths stay the same, so lines can be counted.
        flat = text.replace("\n", " ")
        for sentence in sentences(flat):
            begin = max(flat.find(sentence, position), position)
            if line is not None:
                line += text.count("\n", position, begin)
            for part in _parts(sentence, words):
                yield _Piece(part, number, line, block.page)
            position = begin


def _parts(sentence: str, words: int) -> Iterator[str]:
    """The sentence, cut at word borders if it is over-long."""
    starts = [match.start() for match in _word().finditer(sentence)]
    if len(starts) <= words * 1.25:
        yield sentence
        return
    for first in range(0, len(starts), words):
        stop = starts[first + words] if first + words < len(starts) else len(sentence)
        yield sentence[starts[first] : stop].strip()


def _joined(pieces: list[_Piece]) -> str:
    text = pieces[0].text
    for before, piece in pairwise(pieces):
        text += (" " if piece.block == before.block else "\n") + piece.text
    return text


def embedded_text(title: str, text: str) -> str:
    """What the embedder sees of a passage: its document's title gives the words their context."""
    return f"{title}\n{text}"
