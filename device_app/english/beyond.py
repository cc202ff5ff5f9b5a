"""Detects whether a question asks for more than the person's files hold, by the question's words that the files lack.

A word that is missing in the best passages may still occur in others, and question words ("Who suggested …?") occur in
no file. A word therefore counts as missing if it carries content, occurs in no relevant passage in any form, and in
hardly any other passage. `scripts/bench beyond` measures how many questions that the files answer are misjudged, and
how many other questions are missed.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from device_app.english.query import Query
from device_app.english.stop_words import HOW_ASKED
from device_app.english.terms import searched, stands_in, terms
from shared.types import StoredPassage

LEAST: Final = 2
"""The fewest missing words that count: a single missing word may be a typing error, or an error of memory."""

FEW: Final = 100
"""If the files have fewer passages than this, one more missing word is required, as many are missing by chance."""

NEAR: Final = 10
"""The number of most relevant passages that are searched for the words, best first."""

_OTHERS = 1000
"""The divisor in the limit for a missing word, which at most 1 + total / 1000 passages may contain."""


class Files(Protocol):
    """The passages of all files, as counts."""

    def held(self, term: str, most: int) -> int:
        """Return how many passages have the word in any form, counting only up to `most`."""
        ...

    def total(self) -> int:
        """Return the number of all passages."""
        ...


def words(asked: Query, passages: Sequence[StoredPassage], files: Files) -> list[str]:
    """Return the words of the question that are missing in the files; empty if they are fewer than LEAST.

    `passages` are the relevant ones, best first. None are missing for a question with filters, or without search words.
    """
    if asked.is_limited or asked.is_open:
        return []
    texts = [f"{searched(passage)}\n{passage.path.lower()}" for passage in passages[:NEAR]]
    unspaced = [text.replace(" ", "") for text in texts]  # a name may be written as one word
    total = files.total()
    most = 1 + total // _OTHERS
    missing_words = [
        word
        for word in terms(asked.text)
        if len(word) > 2
        and not word[0].isdigit()
        and word not in HOW_ASKED
        and not any(word in text for text in unspaced)
        and not stands_in(word, texts)
        and files.held(word, most + 1) <= most
    ]
    return missing_words if len(missing_words) >= (LEAST if total >= FEW else LEAST + 1) else []
