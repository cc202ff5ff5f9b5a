"""The people of the store: whom a name in a question means, and who the person is whose files these are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import Final

from device_app.english.terms import plain
from storage.documents import Documents

_TITLES: Final = frozenset(["dr", "mr", "mrs", "ms", "miss", "prof", "professor", "sir", "the"])
_LEAST_LETTERS, _LIKE = 5, 0.84
_WORD, _INNER_CAPITAL = re.compile(r"[^\W\d_]+"), re.compile(r"(?<=[a-z])(?=[A-Z])")
_MOST_MEANT: Final = 12
"""The most people whom a name may mean: more than that say nothing."""


class People:
    """Everybody in documents of some kinds, each as the store writes them: a name, an address, or `name <address>`."""

    def __init__(self, documents: Documents, kinds: Iterable[str]) -> None:
        self._counts: dict[str, int] = {}
        self._lists: list[tuple[str, tuple[str, ...], int]] = []
        for kind in kinds:
            for people, count in documents.people(kind).items():
                self._lists.append((kind, people, count))
                for person in people:
                    self._counts[person] = self._counts.get(person, 0) + count

    def named(self, name: str) -> list[str]:
        """Return the people whose name or address has all words of this name; a wrong letter is forgiven.

        Return none if the name may mean too many.
        """
        name_words = [word for word in _words(name) if word not in _TITLES]
        if not name_words:
            return []
        people = self._with(name_words) or self._with(self._corrected(name_words))
        return people if len({shown(person).lower() for person in people}) <= _MOST_MEANT else []

    @cached_property
    def owner(self) -> frozenset[str]:
        """Whose files these are, by name and addresses, as far as that shows: who is in most lists of people."""
        total = sum(count for _, people, count in self._lists if people)
        by_name: dict[str, int] = {}
        for _, people, count in self._lists:
            for name in {shown(person) for person in people}:
                by_name[name] = by_name.get(name, 0) + count
        name = max(by_name, key=lambda each: by_name[each], default="")
        if not name or 2 * by_name[name] <= total:
            return frozenset()
        return frozenset(person for person in self._counts if shown(person) == name)

    def _with(self, words: list[str]) -> list[str]:
        return [person for person in self._counts if _names(person).issuperset(words)]

    def _corrected(self, words: list[str]) -> list[str]:
        known = {word for person in self._counts for word in _names(person) if len(word) >= _LEAST_LETTERS - 1}
        near: Mapping[str, list[str]] = {
            word: get_close_matches(word, known, 1, _LIKE) for word in words if len(word) >= _LEAST_LETTERS
        }
        return [next(iter(near.get(word, [])), word) for word in words]


@lru_cache(maxsize=20_000)
def shown(person: str) -> str:
    """Return a person's name as it is shown: without the address, if there is a name; AdamSmith as Adam Smith."""
    name = person.partition(" <")[0].strip() or person
    return name if "@" in name else _INNER_CAPITAL.sub(" ", name)


@lru_cache(maxsize=20_000)
def _names(person: str) -> frozenset[str]:
    name, _, address = person.partition(" <")
    local, _, domain = address.rstrip(">").partition("@")
    return frozenset(_words(f"{name} {local} {domain.rpartition('.')[0]}"))


def _words(name: str) -> list[str]:
    return _WORD.findall(plain(_INNER_CAPITAL.sub(" ", name)).replace("'s", ""))
