"""Searches the store by keywords for texts about a subject that are dated after a day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

from storage.keywords import quoted
from storage.search import FullText, all_of

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore

_WRITTEN: Final = ("mail", "note", "chat")


def is_mentioned_after(store: KnowledgeStore, words: Sequence[str], day: date) -> bool:
    """Return whether a mail, note or chat dated after the day has a passage with all of the words."""
    passages = FullText(store.database).matches(all_of([quoted(word) for word in words]))
    facts = store.facts(passages.tolist())
    return any(fact.kind in _WRITTEN and (fact.date or "")[:10] > day.isoformat() for fact in facts)
