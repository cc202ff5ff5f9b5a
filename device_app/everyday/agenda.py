"""Answers questions about an agenda from the events of the calendars that were read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from device_app.english import agenda, todos

if TYPE_CHECKING:
    from device_app.everyday.rule import Asked, Ruled
    from device_app.knowledge.known_people import KnownPeople
    from storage.knowledge import KnowledgeStore


@dataclass(frozen=True, slots=True)
class Agenda:
    """Answers what is on, whether the person is free, and when the next event is."""

    store: KnowledgeStore
    people: KnownPeople
    stands_alone: ClassVar[bool] = False

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the calendars' answer; None without calendars, or if they lack the event that the question names."""
        today = asked.now.date()
        read = agenda.following(asked.text, asked.before, today) or agenda.read(asked.text, today)
        is_of_lists = read is not None and bool(read.words) and todos.read(asked.text) is not None
        question = None if asked.query.is_limited or is_of_lists else read
        if question is None or not (files := self.store.files_with(("event", "task"))):
            return None
        from device_app.everyday.agenda_answer import answer  # its imports take long, and few questions are for it

        return answer(self.store, self.people.directory, asked, question, files)
