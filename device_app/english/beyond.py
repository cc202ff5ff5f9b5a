"""Whether a question asks for more than the person's files hold: of its words, which these know nothing of.

What their best passages lack may still stand elsewhere in them, and how something is asked ("Who suggested …?") stands
nowhere. So a word counts that says what is asked about, that no relevant passage holds in any form, and that hardly any
other does. `scripts/bench beyond` shows how many questions that the files answer are mistaken, and how many others are
missed.
"""

from collections.abc import Callable, Sequence
from typing import Final

from device_app.english.stop_words import HOW_ASKED
from device_app.english.terms import searched, stands_in, terms
from shared.types import StoredPassage

LEAST: Final = 2
"""One such word may be a slip of the pen, or of the person's memory."""

FEW: Final = 100
"""In fewer passages many a word is missing by chance: one more of them is asked for."""

NEAR: Final = 10
"""Relevant passages that are looked through, the best first."""

_OTHERS = 1000
"""A word that stands in more than one passage, and one more in so many, the files know something of."""


def words(question: str, passages: Sequence[StoredPassage], held: Callable[[str, int], int], total: int) -> list[str]:
    """What the question asks about beyond the files, as far as that is known by its words; nothing of fewer than LEAST.

    `passages` are the relevant ones, the best first; `held(word, most)` counts passages with the word in all `total` of
    them, up to `most`.
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
