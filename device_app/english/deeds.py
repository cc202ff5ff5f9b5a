"""Decides whether a message says that its speaker did something: "I passed the exam", not "I will pass it". Pure."""

import re
from collections.abc import Sequence
from typing import Final

from device_app.english.stemming import stemmed
from device_app.english.stop_words import word_set
from device_app.english.terms import plain
from device_app.english.words import content_words
from shared.text import sentences

_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_SPEAKER: Final = word_set("i i've we we've")
_BETWEEN: Final = word_set(
    """have just finally already also really actually even only then now today yesterday tonight both all
    together again accidentally quickly soon"""
)
"""Words that may stand between the speaker and the verb of a deed."""

_NOT_TOLD: Final = word_set(
    """if when whether unless until before wish hope dream dreamt dreamed imagine pretend pretended say says said claim
    claims claimed tell tells told thinks thought believe believes swear not never nobody who would could should"""
)
"""Words before the speaker after which the deed was not done, or somebody else says that it was."""

_SAME_IN_THE_PAST: Final = word_set("put set cut read let hit shut quit bet hurt split spread cost burst cast")


def tells_of(message: str, deed: str, words: Sequence[str], *, is_base: bool) -> bool:
    """Return whether a sentence of the message tells in the past that its speaker did the deed.

    `deed` is the past of a verb, or with `is_base` its base form, "lend". `words` are the content words of what was
    done, of which the sentence has to hold one besides the verb.
    """
    others = set(words) - {stemmed(deed)}
    return any(
        not sentence.rstrip().endswith("?")
        and others & {*content_words(sentence)}
        and _tells(_WORD.findall(plain(sentence).replace("’", "'")), deed, is_base=is_base)
        for sentence in sentences(message)
    )


def _tells(said: Sequence[str], deed: str, *, is_base: bool) -> bool:
    for place, word in enumerate(said):
        if stemmed(word) != stemmed(deed) or not _is_past(word, deed, is_base=is_base):
            continue
        before = said[:place]
        begin = next((at for at in reversed(range(place)) if before[at] in _SPEAKER), -1)
        is_short = begin < 0 and before[:1] == ["just"]  # "Just passed the exam"
        if (begin >= 0 or is_short) and {*before[begin + 1 :]} <= _BETWEEN and not _NOT_TOLD & {*before[: begin + 1]}:
            return True
    return False


def _is_past(word: str, deed: str, *, is_base: bool) -> bool:
    """Return whether a form of the deed's verb is in the past: "brought", not "bring", "brings" or "bringing"."""
    is_other = word != deed if is_base else word == deed
    return word in _SAME_IN_THE_PAST or (is_other and not word.endswith(("ing", "s")))
