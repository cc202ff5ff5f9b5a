"""Chooses what states the outcomes of a meeting: what was decided, what is to be done, what is open.

In a chat, these are sentences; in written minutes, the lines under headings such as "Decisions".
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

from device_app.english.headings import listed
from device_app.english.outcomes import OUTCOMES, Outcome, outcome, words_of
from device_app.english.speech import spoken
from device_app.knowledge.quotes import Quote
from shared.text import sentences
from shared.types import StoredPassage

MOST: Final = 3
"""The most sentences quoted of each outcome."""

_ALIKE: Final = 0.75
"""The share of the shorter sentence's words from which two sentences say the same: only one is quoted."""

_NEVER: Final = frozenset(("event", "task", "call", "contact"))
"""Kinds of documents that are records, not minutes."""

_WORD: Final = re.compile(r"\w+")


def minutes(passages: Sequence[StoredPassage], kinds: Collection[Outcome]) -> dict[Outcome, list[Quote]]:
    """Return the clearest sentences of each outcome in `kinds`, in the order in which they were said.

    `passages` are those of one meeting, in order; a `Quote` counts them from 1. Outcomes without a sentence are left
    out.
    """
    stated: dict[Outcome, list[tuple[float, int, Quote]]] = {}
    known: list[frozenset[str]] = []
    for number, passage in enumerate(passages, 1):
        for speaker, words in spoken(passage):
            for sentence in sentences(words) if speaker else ():
                states = outcome(sentence)
                if states is None or states[0] not in kinds:
                    continue
                text = words_of(sentence)
                own = frozenset(_WORD.findall(text.lower()))
                if not any(len(own & other) > _ALIKE * min(len(own), len(other)) for other in known):
                    known.append(own)
                    stated.setdefault(states[0], []).append((-states[1], len(known), Quote(number, speaker, text)))
    plainest = {kind: sorted(stated[kind], key=lambda each: each[:2])[:MOST] for kind in OUTCOMES if kind in stated}
    return {kind: [quote for _, quote in sorted(each[1:] for each in plainest[kind])] for kind in plainest}


def written_minutes(passages: Sequence[StoredPassage], kinds: Collection[Outcome]) -> dict[Outcome, list[Quote]]:
    """Return the lines that written minutes list as the outcomes in `kinds`, in order; empty if they are no minutes.

    `passages` are those of one document, in order; a `Quote` counts them from 1.
    """
    lines = [(number, line) for number, passage in enumerate(passages, 1) for line in passage.text.splitlines()]
    stated: dict[Outcome, list[Quote]] = {}
    for kind, place, text in listed([line for _, line in lines]):
        if kind in kinds:
            stated.setdefault(kind, []).append(Quote(lines[place][0], "", text))
    return {kind: stated[kind] for kind in OUTCOMES if kind in stated}


def outcomes(passages: Sequence[StoredPassage], kinds: Collection[Outcome]) -> dict[Outcome, list[Quote]]:
    """Return the outcomes of a meeting from its passages: those of a chat by their words, others by their headings."""
    if not passages or passages[0].kind in _NEVER:
        return {}
    return minutes(passages, kinds) if _is_talk(passages[0]) else written_minutes(passages, kinds)


def _is_talk(passage: StoredPassage) -> bool:
    """Return whether the passage is of a document in which at least two people speak."""
    return passage.kind == "chat" and len(passage.people) > 1
