"""Looks up people by name, address or number: everybody in the files and on the phone. Reads no store."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Final, TypeVar

from device_app.english import naming, spelling
from device_app.english.terms import plain
from device_app.knowledge.people import Person
from device_app.knowledge.phone.sources import is_of_phone
from shared.types import Filters, SearchFilters

ME: Final = "Me"
"""The name that stands for the device's owner in what is read on a phone, where sent messages have no name."""

MOST_NAMES: Final = 100
"""The most names that are added to a filter: each of them is compared with everybody in the store."""

_MOST_LISTED: Final = 4
_MOST_MEANT: Final = 12
"""The most people whom one name in a question may mean; a name that fits more people means nobody."""

_FEW: Final = 2
"""The most people who may be meant by a description that shares only some words with their names."""

_NUMBERS: Final = {2: "two", 3: "three", 4: "four"}
_LEAST_SIMILARITY: Final = 0.84
"""The similarity (difflib) from which a word counts as a misspelling of a name."""

_AROUND = re.compile(r"^the\s+|['’]s$", re.IGNORECASE)

F = TypeVar("F", bound=Filters)


@dataclass(frozen=True)
class Directory:
    """All known people, looked up by name, address or number."""

    people: Sequence[Person]
    guess: Callable[[], Person | None] = lambda: None
    """Returns the likely owner of the files; called only if the owner has not confirmed who they are."""

    @property
    def confirmed(self) -> Person | None:
        """The owner of the files; None if the owner has not confirmed who they are."""
        return next((person for person in self.people if person.is_me), None)

    @cached_property
    def me(self) -> Person | None:
        """The owner of the files, confirmed or guessed; None if there is nothing to guess from."""
        return self.confirmed or self.guess()

    def called(self, name: str) -> list[Person]:
        """Return the people whom a typed name may mean: by all its words, by number or by address."""
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
                wanted_words <= _words(each) or naming.name_key(name) == naming.name_key(each)
                for each in self._names(person)
            )
        ]

    def meant(self, name: str) -> list[Person]:
        """Return the people whom a name in a question means; none if more than twelve people fit.

        They are the people with that name; if there are none, people with the name's words in their address; if there
        are none of these either, people with a similarly spelled name.
        """
        said = _AROUND.sub("", name.strip())
        people = self.called(said) or self._addressed(said) or self.called(self._corrected(said))
        return people if len(people) <= _MOST_MEANT else []

    def is_part_of_name(self, word: str) -> bool:
        """Return whether a word in lower case is the name of somebody, or a word of a name."""
        return word in self._name_words

    def partly(self, name: str, kinds: Sequence[str]) -> list[Person]:
        """Return the people who share a word with a description such as "the rowing club"; [] if more than two do."""
        typed = set(naming.words(_AROUND.sub("", name.strip())))
        some = [person for words, person in self._address_words if len(typed) > 1 and typed & words]
        few = [
            each for each in {id(person): person for person in some}.values() if not kinds or each.is_named_in(kinds)
        ]
        return few if len(few) <= _FEW else []

    def _addressed(self, name: str) -> list[Person]:
        typed = set(naming.words(name))
        some = [person for words, person in self._address_words if typed <= words] if typed else []
        return list({id(person): person for person in some}.values())

    def _corrected(self, name: str) -> str:
        return " ".join(spelling.nearest(word, self._name_words, _LEAST_SIMILARITY) for word in naming.words(name))

    @cached_property
    def _address_words(self) -> list[tuple[frozenset[str], Person]]:
        """For each person's name with an e-mail address: the words of the name and of the address, and the person.

        The address counts without its top-level domain.
        """
        named = ((naming.split(each.written), person) for person in self.people for each in person.sightings)
        return [
            (_words(each.name) | _words(each.address.replace("@", ".").rpartition(".")[0]), person)
            for each, person in named
            if each.address
        ]

    @cached_property
    def _name_words(self) -> frozenset[str]:
        """The words of all names."""
        return frozenset(word for person in self.people for name in self._names(person) for word in _words(name))

    @cached_property
    def _by_key(self) -> dict[str, list[Person]]:
        """The people by normalised name, number and address, and by each word of a name followed by a space."""
        by_key: dict[str, list[Person]] = {}
        for person in self.people:
            names = self._names(person)
            by_words = {f"{word} " for name in names for word in _words(name)}
            for key in {*self._keys(person), *map(naming.name_key, names), *by_words} - {""}:
                by_key.setdefault(key, []).append(person)
        return by_key

    def written(self, name: str) -> list[str]:
        """Return all spellings in documents of the people whom a typed name may mean; see `written_as`."""
        return self.written_as(name, self.called(name))

    def written_as(self, name: str, people: Sequence[Person]) -> list[str]:
        """Return all spellings in documents of the given people, whom a typed name stands for.

        A typed number or address excludes spellings with another number or address and, for a person with several,
        spellings without any: so people with the same name are told apart.
        """
        key = naming.number_key(name) or naming.address_key(name)
        written = [ME] if naming.is_self(name) or any(person.is_me for person in people) else []
        for person in people:
            for sighting in person.sightings:
                named = naming.split(sighting.written)
                keys = {naming.number_key(named.number), naming.address_key(named.address)} - {""}
                if not key or key in keys or (not keys and len(self._keys(person)) == 1):
                    written.append(sighting.written)
        return list(dict.fromkeys(written))

    def name(self, written: str) -> str:
        """Return the name to show for this spelling of a person: the same name for all their spellings."""
        person = self._by_written.get(written)
        return naming.shown(person.name if person else written)

    @cached_property
    def _by_written(self) -> dict[str, Person]:
        return {each.written: person for person in self.people for each in person.sightings}

    def widened(self, filters: F) -> F:
        """Return the filters, extended by every spelling of their people in documents.

        The typed names stay, and match parts of names as before; only "me" is replaced by the owner's names.
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
            each += whole(self.written(name))
        return tuple(dict.fromkeys(each))

    def in_one_word(self, words: Sequence[str]) -> dict[str, list[str]]:
        """Return the joined names that each word is part of.

        Documents may write a name as one word: for "jake" followed by "watson", both words give "jakewatson".
        """
        joined: dict[str, list[str]] = {}
        for pair in pairwise(words):
            if (name := "".join(pair)) in self._joined_names:
                for word in pair:
                    joined.setdefault(word, []).append(name)
        return joined

    @cached_property
    def _joined_names(self) -> frozenset[str]:
        """The names that consist of several words but are written as one word, in small letters: "jakewatson"."""
        names = (name for person in self.people for name in self._names(person))
        return frozenset(plain(name) for name in names if name.isalnum() and len(naming.words(name)) > 1)

    def names_from_phone(self) -> set[str]:
        """Return the words, split by `naming.words`, of the names of everybody on the phone."""
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


def whole(written: Iterable[str]) -> list[str]:
    """Return the first MOST_NAMES names as JSON strings: in the store's JSON, they match whole names only."""
    return [json.dumps(each, ensure_ascii=False) for each in islice(written, MOST_NAMES)]


def several(name: str, people: Sequence[Person]) -> str:
    """Return a sentence that lists the people whom a name may mean; "" if there are fewer than two."""
    if len(people) < 2:
        return ""
    counts = Counter(person.name for person in people)
    names = [person.name if counts[person.name] == 1 else _distinct(person) for person in people[:_MOST_LISTED]]
    names += [f"{len(people) - _MOST_LISTED:,} more"] if len(people) > _MOST_LISTED else []
    written = {word.casefold(): word for person in people for word in person.name.split()}
    title = " ".join(written.get(word.casefold(), word) for word in _AROUND.sub("", name.strip()).split())
    count = _NUMBERS.get(len(people), f"{len(people):,}")
    return f"{count} people are called {title}: {', '.join(names[:-1])} and {names[-1]}"


def _distinct(person: Person) -> str:
    """Return a person's spelling with an address or number, which tells people with the same name apart."""
    written = [each.written for each in person.sightings]
    return next((each for each in written if naming.split(each).address or naming.split(each).number), written[0])


def _words(name: str) -> frozenset[str]:
    """Return the words of a name, split at inner capitals and unsplit: "McDonald" gives both parts and the whole."""
    return frozenset((*naming.words(name), *naming.words(name.lower())))
