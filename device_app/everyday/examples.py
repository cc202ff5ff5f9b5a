"""Questions that rules can answer from these files: what is suggested to somebody who does not know what to ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from device_app.english import query
from device_app.everyday.people import People, shown
from device_app.everyday.rule import Asked, Everyday
from shared.types import SearchFilters
from storage.documents import Documents

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore


def examples(store: KnowledgeStore, rules: Everyday, now: datetime) -> Iterator[str]:
    """Yield a few questions, each of another kind of documents; the rules answer each with something found.

    `now` has the person's time zone. Raises StoreError.
    """
    for alternatives in _candidates(Documents(store.database)):
        for question in alternatives:
            ruled = rules.answer(Asked(query.parse(question, now.date()), now))
            if ruled and ruled.items:
                yield question
                break


def _candidates(documents: Documents) -> Iterator[Sequence[str]]:
    """Yield alternatives, the best first, for each kind of documents that there is."""
    kinds = documents.kinds()
    if "event" in kinds:
        yield [f"What is on {days}?" for days in ("this week", "next week", "this month")]
    if "mail" in kinds and (sender := _most_frequent_sender(documents)):
        yield [f"Which mails did I get from {sender}?"]
    if "note" in kinds:
        yield ["What is my latest note?"]
    if "chat" in kinds:
        yield [_of_chat(day, people) for day, people in _latest_chat(documents)]


def _most_frequent_sender(documents: Documents) -> str:
    owner = People(documents, ("mail",)).owner
    counts: dict[str, int] = {}
    for people, count in documents.people("mail").items():
        if people and people[0] not in owner:
            counts[shown(people[0])] = counts.get(shown(people[0]), 0) + count
    return max(counts, key=lambda name: counts[name], default="")


def _latest_chat(documents: Documents) -> list[tuple[date, list[str]]]:
    """Return the day and the people, without the owner, of the latest day of a chat."""
    latest = documents.latest(SearchFilters(kinds=("chat",)), 1)
    owner = People(documents, ("chat", "mail")).owner
    return [
        (date.fromisoformat(chat.date[:10]), [shown(person) for person in chat.people if person not in owner])
        for chat in latest
        if chat.date and chat.people
    ]


def _of_chat(day: date, people: Sequence[str]) -> str:
    return f"What did {people[0] if people else 'we'} say on {day.day} {day:%B} {day.year}?"
