"""Questions that rules can answer from these files: what is suggested to somebody who does not know what to ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from device_app.everyday.people import People, shown
from storage.documents import Documents

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore


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
    owner = People(documents, ("mail",)).owner
    counts: dict[str, int] = {}
    for people, count in documents.people("mail").items():
        if people and people[0] not in owner:
            counts[shown(people[0])] = counts.get(shown(people[0]), 0) + count
    return max(counts, key=lambda name: counts[name], default="")
