"""Finds the telephone numbers that people write below their own mails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from device_app.english.contacts import own_number
from device_app.everyday.rule import Asked
from device_app.knowledge.directory import whole
from device_app.knowledge.people import Person
from shared.types import SearchFilters, StoredPassage

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore

_MOST_MAILS: Final = 20
_LAST_LINES: Final = 10
"""How many lines at the end of a mail may be its signature."""


def numbers_below_mails(
    store: KnowledgeStore, people: Sequence[Person], asked: Asked
) -> Iterator[tuple[StoredPassage, str, str]]:
    """Yield each telephone number that the people wrote below their latest mails, the latest first, each once.

    A number comes with its passage, its line, and itself.
    """
    senders = tuple(whole(each.written for person in people for each in person.sightings))
    if not senders:
        return
    mails = asked.present(store.latest(SearchFilters(kinds=("mail",), senders=senders), _MOST_MAILS))
    seen: set[str] = set()
    for mail in mails:
        lines = [
            (passage, line) for passage in store.passages_of_documents([mail.id]) for line in passage.text.splitlines()
        ]
        for passage, line in lines[-_LAST_LINES:]:
            number = own_number(line)
            digits = "".join(filter(str.isdigit, number))
            if number and digits not in seen:
                seen.add(digits)
                yield passage, line.strip(), number
