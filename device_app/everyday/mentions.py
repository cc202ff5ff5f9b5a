"""Says whether texts are about a subject: by the stems of its words, or by keywords in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from datetime import date
from typing import TYPE_CHECKING, Final

from device_app.english.stemming import stemmed
from device_app.english.terms import plain, terms, with_families
from storage.search import FullText, all_of, any_of

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore

_WRITTEN: Final = ("mail", "note", "chat")
_LEAST_BEGINNING, _LEAST_MORE = 5, 4
"""The fewest letters with which a word may stand for a longer one, and the fewest that this has more.

So "physio" stands for "physiotherapy", but "Martin" not for "Martina".
"""


def has_words(held: Set[str], longer: Set[str], words: Sequence[str]) -> bool:
    """Return whether the stems `held` have all stems `words`, or `longer` has stems that begin with them.

    `longer` must hold no names, and be empty if a name is among the words: Peter is not Petersen.
    """
    return all(word in held or any(_stands_for(word, stem) for stem in longer) for word in words)


def stems_of_things(title: str, is_name: Callable[[str], bool]) -> frozenset[str]:
    """Return the stems of the words of an event's title that name no people: neither names, nor behind "with".

    `is_name` says whether a word in lower case is part of somebody's name.
    """
    return frozenset(stemmed(word) for word in terms(plain(title).partition(" with ")[0]) if not is_name(word))


def _stands_for(word: str, stem: str) -> bool:
    is_long = len(word) >= _LEAST_BEGINNING and len(stem) >= len(word) + _LEAST_MORE
    return is_long and stem.startswith(word)


def is_mentioned_after(store: KnowledgeStore, words: Sequence[str], day: date) -> bool:
    """Return whether a mail, note or chat dated after the day has a passage with all of the words."""
    passages = FullText(store.database).matches(all_of([any_of(with_families([word])) for word in words]))
    facts = store.facts(passages.tolist())
    return any(fact.kind in _WRITTEN and (fact.date or "")[:10] > day.isoformat() for fact in facts)
