"""Splits text into sentences, and sentences into passages of about 100 words.

One regular expression splits sentences. Libraries for this need language data or a compiled core, which a phone lacks,
and differ mostly at abbreviations, where a passage border does little harm.
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
"""The target length of a passage, in words (PerCache, Table 1)."""


@cache
def _sentence_end() -> re.Pattern[str]:
    """Return the pattern of a sentence end.

    A sentence ends after . ! ? … and closing quotes or brackets, before white space and the start of a sentence. A full
    stop after a single capital or a common title is an abbreviation. CJK stops need no white space. Line breaks also
    end sentences: of list items, chat messages and headings.
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
    """Return the pattern of a word; in scripts without spaces, each character counts as a word.

    A long string without breaks (a key, a URL) counts as a word per 40 characters, which bounds a passage's length in
    characters.
    """
    return re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,40}")


def sentences(text: str) -> list[str]:
    """Split the text into stripped, non-empty sentences, in order."""
    cut: list[str] = []
    start = 0
    for match in _sentence_end().finditer(text):
        # A closing quote or bracket at the start of the match belongs to the sentence.
        sentence = text[start : match.start()] + match.group().strip()
        cut.append(sentence.strip())
        start = match.end()
    cut.append(text[start:].strip())
    return [sentence for sentence in cut if sentence]


def count_words(text: str) -> int:
    """Return the number of words, the measure of a passage's length."""
    return sum(1 for _ in _word().finditer(text))


def passages(blocks: Iterable[Block], words: int = PASSAGE_WORDS) -> list[Passage]:
    """Split blocks into passages of about `words` words at sentence borders.

    A passage closes before it would exceed `words` by more than a quarter; a remainder under a quarter of `words` joins
    the previous passage. A sentence longer than that is split at word borders. A passage joins its blocks with line
    breaks; its line and page are those of its first sentence.
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
    """A sentence, or a part of a long sentence, with its block, line and page."""

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
        # Inside a block, line breaks are only wrapping. Replacing them keeps lengths, so that lines can be counted.
        flat = text.replace("\n", " ")
        for sentence in sentences(flat):
            begin = max(flat.find(sentence, position), position)
            if line is not None:
                line += text.count("\n", position, begin)
            for part in _parts(sentence, words):
                yield _Piece(part, number, line, block.page)
            position = begin


def _parts(sentence: str, words: int) -> Iterator[str]:
    """Yield the sentence, split at word borders if it is too long."""
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
    """Return the text to embed for a passage, which begins with the document's title as context."""
    return f"{title}\n{text}"
