"""Suggests questions that rules can answer from the person's files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Final

from device_app.english import query
from device_app.everyday.rule import Asked, Everyday
from shared.types import SearchFilters

if TYPE_CHECKING:
    from device_app.knowledge.directory import Directory
    from device_app.knowledge.known_people import KnownPeople
    from storage.knowledge import KnowledgeStore

_MAILS: Final = 500
"""The number of latest mails among which the most frequent sender is found, for a suggested question."""


def examples(store: KnowledgeStore, people: KnownPeople, rules: Everyday, now: datetime) -> Iterator[str]:
    """Yield a few questions, each about another kind of document, to which a rule has an answer.

    `now` has the person's time zone. Raises StoreError.
    """
    for alternatives in _candidates(store, people):
        for question in alternatives:
            ruled = rules.answer(Asked(query.parse(question, now.date()), now))
            if ruled and ruled.items:
                yield question
                break


def _candidates(store: KnowledgeStore, people: KnownPeople) -> Iterator[Sequence[str]]:
    """Yield, for each kind of document in the store, possible questions, the best first."""
    kinds = store.kinds()
    if "event" in kinds:
        yield [f"What is on {days}?" for days in ("this week", "next week", "this month")]
    if "mail" in kinds and (sender := _most_frequent_sender(store, people.directory)):
        yield [f"Which mails did I get from {sender}?"]
    if any(note.date for note in store.latest(SearchFilters(kinds=("note",)), 1)):  # those without a date come last
        yield ["What is my latest note?"]
    if "chat" in kinds:
        yield [_of_chat(day, others) for day, others in _latest_chat(store, people.directory)]


def _most_frequent_sender(store: KnowledgeStore, people: Directory) -> str:
    mine = people.written("me")
    latest = store.latest(SearchFilters(kinds=("mail",)), _MAILS)
    senders = Counter(people.name(each.people[0]) for each in latest if each.people and each.people[0] not in mine)
    return next((name for name, _ in senders.most_common(1)), "")


def _latest_chat(store: KnowledgeStore, people: Directory) -> list[tuple[date, list[str]]]:
    """Return the day and the people of the latest chat, without the owner of the files."""
    mine = people.written("me")
    return [
        (date.fromisoformat(chat.date[:10]), [people.name(each) for each in chat.people if each not in mine])
        for chat in store.latest(SearchFilters(kinds=("chat",)), 1)
        if chat.date and chat.people
    ]


def _of_chat(day: date, people: Sequence[str]) -> str:
    return f"What did {people[0] if people else 'we'} say on {day.day} {day:%B} {day.year}?"
