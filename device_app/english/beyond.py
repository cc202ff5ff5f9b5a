"""Detects whether a question asks for more than the person's files hold, by the question's words that the files lack.

A word that is missing in the best passages may still occur in others, and question words ("Who suggested …?") occur in
no file. A word therefore counts as missing if it carries content, occurs in no relevant passage in any form, and in
hardly any other passage. `scripts/bench beyond` measures how many questions that the files answer are misjudged, and
how many other questions are missed.
"""

from collections.abc import Callable, Sequence
from typing import Final

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


def words(question: str, passages: Sequence[StoredPassage], held: Callable[[str, int], int], total: int) -> list[str]:
    """Return the words of the question that are missing in the files; empty if they are fewer than LEAST.

    `passages` are the relevant ones, best first; `held(word, most)` counts the passages with the word among all `total`
    passages, up to `most`.
    """
    texts = [f"{searched(passage)}\n{passage.path.lower()}" for passage in passages[:NEAR]]
    unspaced = [text.replace(" ", "") for text in texts]  # a name may be written as one word
    most = 1 + total // _OTHERS
    missing_words = [
        word
        for word in terms(question)
        if len(word) > 2
        and not word[0].isdigit()
        and word not in HOW_ASKED
        and not any(word in text for text in unspaced)
        and not stands_in(word, texts)
        and held(word, most + 1) <= most
    ]
    return missing_words if len(missing_words) >= (LEAST if total >= FEW else LEAST + 1) else []
