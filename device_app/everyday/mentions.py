"""Says whether texts are about a subject: by the stems of its words, or by keywords in the store."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import date
from typing import TYPE_CHECKING, Final

from device_app.english.terms import with_families
from storage.search import FullText, all_of, any_of

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore

_WRITTEN: Final = ("mail", "note", "chat")
_LEAST_BEGINNING: Final = 5
"""The fewest letters with which a word may stand for a longer one: "physio" for "physiotherapy"."""


def has_words(held: Set[str], words: Sequence[str]) -> bool:
    """Return whether the stems `held` have all stems `words`, or longer ones that begin with them."""
    return all(
        word in held or (len(word) >= _LEAST_BEGINNING and any(stem.startswith(word) for stem in held))
        for word in words
    )


def is_mentioned_after(store: KnowledgeStore, words: Sequence[str], day: date) -> bool:
    """Return whether a mail, note or chat dated after the day has a passage with all of the words."""
    passages = FullText(store.database).matches(all_of([any_of(with_families([word])) for word in words]))
    facts = store.facts(passages.tolist())
    return any(fact.kind in _WRITTEN and (fact.date or "")[:10] > day.isoformat() for fact in facts)
