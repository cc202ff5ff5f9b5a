"""Keeps the table of people up to date, and widens filters by it. The rules of who is who are in `people`."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Final, TypeVar

from device_app.english import naming
from device_app.english.terms import plain
from device_app.knowledge.guessing import Guess, Said, guesses
from device_app.knowledge.people import STATED, Person, Sighting, resolve
from device_app.knowledge.phone.sources import PREFIX, is_of_phone
from shared.types import Filters, SearchFilters
from storage.database import Database
from storage.people import PeopleStore, PersonRow

ME: Final = "Me"
"""How the person is named in what is read on a phone, where sent messages have no name."""

MOST_NAMES: Final = 100
"""The most names that a filter is widened by: each is compared with everybody in the store."""

_NAMED: Final = 4
"""The most people that a note names."""

F = TypeVar("F", bound=Filters)


@dataclass(frozen=True)
class Directory:
    """Everybody, looked up by name, address or number."""

    people: Sequence[Person]

    @property
    def me(self) -> Person | None:
        """The person whose files these are; None if they have not confirmed who they are."""
        return next((person for person in self.people if person.is_me), None)

    def called(self, name: str) -> list[Person]:
        """Return the people that a typed name may stand for: with all its words, or with this number or address."""
        if naming.is_self(name):
            return [self.me] if self.me else []
        if key := naming.number_key(name) or naming.address_key(name):
            return [person for person in self._by_key.get(key, ()) if key in self._keys(person)]
        wanted_words = set(naming.words(name))
        likely = min((self._by_key.get(f"{word} ", ()) for word in wanted_words), key=len, default=())
        whole = (*likely, *self._by_key.get(naming.name_key(name), ()))
        return [
            person
            for person in {id(person): person for person in whole}.values()
            if any(
                wanted_words <= set(naming.words(each)) or naming.name_key(name) == naming.name_key(each)
                for each in self._names(person)
            )
        ]

    @cached_property
    def _by_key(self) -> dict[str, list[Person]]:
        """Everybody by name, number and address as they are compared, and by each word of a name, with a space."""
        by_key: dict[str, list[Person]] = {}
        for person in self.people:
            names = self._names(person)
            by_words = {f"{word} " for name in names for word in naming.words(name)}
            for key in {*self._keys(person), *map(naming.name_key, names), *by_words} - {""}:
                by_key.setdefault(key, []).append(person)
        return by_key

    def written(self, name: str) -> list[str]:
        """Return how the people that a typed name stands for are written in documents.

        A number or an address stands for what has it, and for what has neither where the person has no other: of two
        people with the same name, the one that is meant.
        """
        key = naming.number_key(name) or naming.address_key(name)
        written = [ME] if naming.is_self(name) else []
        for person in self.called(name):
            for sighting in person.sightings:
                named = naming.split(sighting.written)
                keys = {naming.number_key(named.number), naming.address_key(named.address)} - {""}
                if not key or key in keys or (not keys and len(self._keys(person)) == 1):
                    written.append(sighting.written)
        return list(dict.fromkeys(written))

    def widened(self, filters: F) -> F:
        """Return the filters with every name that the people in them have in documents.

        What was typed stays, and matches a part of a name as before, but for "me", which is only ever the person.
        """
        if isinstance(filters, SearchFilters):
            return replace(
                filters,
                people=self._all(filters.people),
                senders=self._all(filters.senders),
                recipients=self._all(filters.recipients),
            )
        return replace(filters, people=self._all(filters.people))

    def _all(self, names: Iterable[str]) -> tuple[str, ...]:
        each: list[str] = []
        for name in names:
            each += [] if naming.is_self(name) else [name]
            # In quotation marks, as JSON has it, a name matches as a whole.
            each += [json.dumps(written, ensure_ascii=False) for written in self.written(name)[:MOST_NAMES]]
        return tuple(dict.fromkeys(each))

    def in_one_word(self, words: Sequence[str]) -> dict[str, list[str]]:
        """Return the words that are part of a name which documents write in one word, each with those names.

        "jake" and "watson", one after the other, both stand for "jakewatson".
        """
        joined: dict[str, list[str]] = {}
        for pair in pairwise(words):
            if (name := "".join(pair)) in self._joined_names:
                for word in pair:
                    joined.setdefault(word, []).append(name)
        return joined

    @cached_property
    def _joined_names(self) -> frozenset[str]:
        """The names of several words that documents write in one, in small letters: "jakewatson"."""
        names = (name for person in self.people for name in self._names(person))
        return frozenset(plain(name) for name in names if name.isalnum() and len(naming.words(name)) > 1)

    def names_from_phone(self) -> set[str]:
        """Return the words of the names of everybody on the phone, as `naming.words` gives them."""
        return {
            word
            for person in self.people
            if any(is_of_phone(each.source) for each in person.sightings)
            for name in self._names(person)
            for word in naming.words(name)
        }

    @staticmethod
    def _names(person: Person) -> list[str]:
        return [name for each in person.sightings if (name := naming.split(each.written).name)]

    @staticmethod
    def _keys(person: Person) -> set[str]:
        named = [naming.split(each.written) for each in person.sightings]
        keys = {naming.number_key(each.number) for each in named} | {naming.address_key(each.address) for each in named}
        return keys - {""}


@dataclass
class KnownPeople:
    """The people of one store. Raises StoreError."""

    store: PeopleStore
    _computed: tuple[tuple[int, int], Directory] | None = field(default=None, repr=False)

    @property
    def directory(self) -> Directory:
        """Everybody, as the documents are now. Writes nothing."""
        version = self.store.database.version()
        if self._computed is None or self._computed[0] != version:
            people = self._stored() if self.store.is_current() else self._resolved()
            self._computed = (version, Directory(people))
        return self._computed[1]

    @property
    def mine(self) -> frozenset[str]:
        """The names of the person whose files these are, as documents write them; empty if they are not known."""
        me = self.directory.me
        return frozenset(Directory._names(me)) if me else frozenset()

    def widened(self, filters: F) -> F:
        """Return the filters with every name that the people in them have; see `Directory.widened`."""
        return self.directory.widened(filters) if _names_in(filters) else filters

    def notes(self, filters: Filters) -> tuple[str, ...]:
        """Return what is unclear about the people in filters: who "me" is, or which of several people is meant."""
        notes = []
        for name in _names_in(filters):
            called = self.directory.called(name)
            if naming.is_self(name) and not called:
                notes.append("who you are is not known yet (jackdaw me)")
            elif len(called) > 1:
                several = [person.name for person in called[:_NAMED]]
                others = f" and {len(called) - _NAMED:,} more" if len(called) > _NAMED else ""
                notes.append(f"{name} may be {', '.join(several)}{others}")
        return tuple(notes)

    def keep(self) -> None:
        """Bring the table of people up to date, if documents have changed since it was written."""
        if not self.store.is_current():
            rows = [
                PersonRow(
                    person.name, person.is_me, [(each.written, each.source, each.count) for each in person.sightings]
                )
                for person in self._resolved()
            ]
            self.store.replace(rows)

    def state_me(self, names: Sequence[str]) -> None:
        """Store what the person is called; no names forget who they are."""
        self.store.set_own_names(names)
        self.keep()

    def guessed(self) -> tuple[list[str], list[Guess]]:
        """Return everything that the person may be called, and the guesses which that is from; empty if unknown."""
        # A conversation that was kept as a text is a note; who is in it together makes it the same chat as another.
        notes = (replace(each, title=", ".join(sorted(each.people))) for each in self._said("note"))
        chats = chain(self._said("chat"), (note for note in notes if len(note.people) > 1))
        proofs = guesses(self._said("mail"), chats)
        if not proofs:
            return [], []
        mine = [proof.written for proof in proofs]
        person = resolve([each for other in self.directory.people for each in other.sightings], mine)[0]
        return list(dict.fromkeys([*mine, *(each.written for each in person.sightings)])), proofs

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
    """Return the people that filters name."""
    if isinstance(filters, SearchFilters):
        return (*filters.people, *filters.senders, *filters.recipients)
    return filters.people


def known_people(database: Database) -> KnownPeople:
    """Return the people of a database."""
    return KnownPeople(PeopleStore(database))


def own(person: Person) -> list[str]:
    """Return what a person has said that they are called."""
    return [each.written for each in person.sightings if each.source == STATED]
