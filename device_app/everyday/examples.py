"""Questions that rules can answer from these files: what is suggested to somebody who does not know what to ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from storage.documents import Documents

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore

_MOST: Final = 4


def examples(store: KnowledgeStore) -> Iterator[str]:
    """Yield a few questions, each of which has an answer."""
    documents = Documents(store.database)
    kinds = documents.kinds()
    if "event" in kinds:
        yield "What is on this week?"
    if "mail" in kinds and (sender := _most_frequent_sender(documents)):
        yield f"Which mails did I get from {sender}?"
    if "note" in kinds:
        yield "What is my latest note?"


def _most_frequent_sender(documents: Documents) -> str:
    counts: dict[str, int] = {}
    for people, count in documents.people("mail").items():
        if people:
            name = people[0].partition(" <")[0]
            counts[name] = counts.get(name, 0) + count
    return max(counts, key=lambda name: counts[name], default="")
