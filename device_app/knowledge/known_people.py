"""Keeps the table of people up to date, and extends filters by it. `people` holds the rules of who is who."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeVar

from device_app.english import naming
from device_app.knowledge.directory import ME, Directory, several
from device_app.knowledge.guessing import Guess, Said, guesses
from device_app.knowledge.people import STATED, Person, Sighting, resolve
from device_app.knowledge.phone.sources import PREFIX, is_of_phone
from shared.types import Filters, SearchFilters
from storage.database import Database
from storage.people import PeopleStore, PersonRow, State

F = TypeVar("F", bound=Filters)

_ATTEMPTS: Final = 3
"""How often the table is computed again when another process has changed the documents meanwhile."""


@dataclass
class KnownPeople:
    """The people that one store knows. Raises StoreError."""

    store: PeopleStore
    _computed: tuple[State, Directory] | None = field(default=None, repr=False)

    @property
    def directory(self) -> Directory:
        """All people named in the documents as they are now. Writes nothing."""
        state = self.store.state()
        if self._computed is None or self._computed[0] != state:
            people = self._stored() if self.store.is_current() else self._resolved()
            self._computed = (state, Directory(people, lambda: self.guessed()[0]))
        return self._computed[1]

    @property
    def mine(self) -> frozenset[str]:
        """The names under which the owner of the files appears in documents; empty if the owner is not known."""
        me = self.directory.me
        return frozenset(Directory._names(me)) if me else frozenset()

    def widened(self, filters: F) -> F:
        """Return the filters, extended by every spelling of their people in documents; see `Directory.widened`."""
        return self.directory.widened(filters) if _names_in(filters) else filters

    def notes(self, filters: Filters) -> tuple[str, ...]:
        """Return notes on unclear names in filters: "me" if the owner is unknown or only guessed, and a name of several
        people.
        """
        notes = []
        directory = self.directory
        for name in _names_in(filters):
            if not naming.is_self(name):
                notes.append(several(name, directory.called(name)))
            elif directory.me is None:
                notes.append("who you are is not known yet (jackdaw me)")
            elif directory.confirmed is None:
                notes.append(f"you seem to be {naming.shown(directory.me.name)} (jackdaw me confirms it)")
        return tuple(filter(None, notes))

    def keep(self) -> None:
        """Bring the stored table of people up to date, if documents have changed since it was written.

        If documents keep changing meanwhile, the next call updates the table; until then, people are looked up from the
        documents.
        """
        for _ in range(_ATTEMPTS):
            state = self.store.state()
            if self.store.is_current():
                return
            rows = [
                PersonRow(
                    person.name, person.is_me, [(each.written, each.source, each.count) for each in person.sightings]
                )
                for person in self._resolved()
            ]
            if self.store.replace(rows, state):
                return

    def state_me(self, names: Sequence[str]) -> None:
        """Store the owner's names; an empty list deletes the stored names."""
        self.store.set_own_names(names)
        self.keep()

    def guessed(self) -> tuple[Person | None, list[Guess]]:
        """Return the likely owner with all names, and the guesses behind that choice; None as the owner if unknown."""
        # A conversation that was kept as a text is a note; who is in it together makes it the same chat as another.
        notes = (replace(each, title=", ".join(sorted(each.people))) for each in self._said("note"))
        chats = chain(self._said("chat"), (note for note in notes if len(note.people) > 1))
        proofs = guesses(self._said("mail"), chats)
        mine = {proof.written for proof in proofs}
        same = [each for each in self.directory.people if any(name.written in mine for name in each.sightings)]
        sightings = [sighting for person in same for sighting in person.sightings]
        return (Person(sightings, is_me=True) if sightings else None), proofs

    def _said(self, kind: str) -> Iterator[Said]:
        for path, title, people in self.store.documents_of(kind):
            if not is_of_phone(path):
                yield Said(os.fsdecode(path), title, json.loads(people))

    def _resolved(self) -> list[Person]:
        counts: dict[tuple[str, str], int] = {}
        for source, people, count in self.store.named(PREFIX.encode()):
            for written in json.loads(people):
                if written != ME:
                    counts[written, source] = counts.get((written, source), 0) + count
        mine = self.store.own_names()
        return resolve((Sighting(written, source, count) for (written, source), count in counts.items()), mine)

    def _stored(self) -> list[Person]:
        return [Person([Sighting(*name) for name in row.names], row.is_me) for row in self.store.all()]


def _names_in(filters: Filters) -> tuple[str, ...]:
    """Return the names of people that the filters contain."""
    if isinstance(filters, SearchFilters):
        return (*filters.people, *filters.senders, *filters.recipients)
    return filters.people


def known_people(database: Database) -> KnownPeople:
    """Return the object that looks up the people of a database."""
    return KnownPeople(PeopleStore(database))


def own(person: Person) -> list[str]:
    """Return the names that a person has stated as their own."""
    return [each.written for each in person.sightings if each.source == STATED]
