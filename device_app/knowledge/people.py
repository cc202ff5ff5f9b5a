"""Decides which names, addresses and numbers in mails, chats and on the phone belong to the same person. Pure.

- The same address or number means the same person, unless the names have no word in common: families share addresses.
- The same full name means the same person, however it is written: "JakeWatson" is "Jake Watson".
- A first name alone belongs to the only full name that begins with it; if two full names do, the first name stays by
  itself.
- An address without a name belongs to the only full name that it spells: rick.moen@… is Rick Moen.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from device_app.english import naming

STATED = "you"
"""The source of names that the person stated as their own."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A spelling of a person in documents: the text `written`, its source, and the number of documents with it."""

    written: str
    source: str
    count: int = 1


@dataclass(slots=True)
class Person:
    """A person with all their names, addresses and numbers, as documents write them, the most frequent first."""

    sightings: list[Sighting] = field(default_factory=list)
    is_me: bool = False

    @property
    def name(self) -> str:
        """The name to show: the most frequent full name, else the most frequent name, address or number."""
        said = Counter[str]()
        for sighting in self.sightings:
            if name := naming.split(sighting.written).name:
                said[name] += sighting.count + (10**9 if sighting.source == STATED else 0)
        if not said:
            return naming.split(self.sightings[0].written).address or self.sightings[0].written
        return max(said, key=lambda name: (naming.is_full(name) and " " in name, said[name], name))

    def is_named_in(self, kinds: Iterable[str]) -> bool:
        """Return whether documents of the given kinds name the person."""
        return any(sighting.source in kinds for sighting in self.sightings)


def resolve(sightings: Iterable[Sighting], mine: Sequence[str] = ()) -> list[Person]:
    """Group spellings by person. `mine` are the names of the owner of the files, who comes first."""
    everybody = [*(Sighting(written, STATED) for written in mine), *sightings]
    groups = _Groups([naming.split(each.written) for each in everybody])
    groups.join(range(len(mine)))
    groups.join_by_address_and_number()
    groups.join_by_full_name()
    groups.join_by_spelled_address()
    groups.join_first_names()
    people: dict[int, Person] = {}
    for place, sighting in enumerate(everybody):
        person = people.setdefault(groups.root(place), Person())
        person.sightings.append(sighting)
        person.is_me |= place < len(mine)
    for person in people.values():
        person.sightings.sort(key=lambda each: (-each.count, each.written))
    return sorted(people.values(), key=lambda person: not person.is_me)


class _Groups:
    """Groups of the positions in a list of spellings, one group a person: disjoint sets, each known by its smallest
    position.
    """

    def __init__(self, named: Sequence[naming.Named]) -> None:
        self._named = named
        self._parents = list(range(len(named)))
        # Worked out once: with more names than `naming` keeps in memory, each time would be as slow as the first.
        parts = [(naming.words(each.name), naming.is_full(each.name)) for each in named]
        self._words = [words for words, _ in parts]
        self._keys = ["".join(words) for words in self._words]
        self._is_full = [is_full for _, is_full in parts]

    def root(self, place: int) -> int:
        """Return the first position of the group that contains this position."""
        while self._parents[place] != place:
            self._parents[place] = self._parents[self._parents[place]]
            place = self._parents[place]
        return place

    def join(self, places: Iterable[int]) -> None:
        """Merge the groups to which the given positions belong."""
        roots = sorted({self.root(place) for place in places})
        for other in roots[1:]:
            self._parents[other] = roots[0]

    def join_by_address_and_number(self) -> None:
        """Merge the groups with the same address or number, if their names fit together."""
        by_key: dict[str, list[int]] = defaultdict(list)
        for place, each in enumerate(self._named):
            for key in (naming.address_key(each.address), naming.number_key(each.number)):
                if key:
                    by_key[key].append(place)
        for places in by_key.values():
            if len(places) == 1:
                continue
            longest = max((self._named[place].name for place in places), key=len)
            self.join(
                place
                for place in places
                if not self._named[place].name or naming.fits(self._named[place].name, longest)
            )

    def join_by_full_name(self) -> None:
        """Merge the groups with the same full name."""
        by_key: dict[str, list[int]] = defaultdict(list)
        for place, is_full in enumerate(self._is_full):
            if is_full:
                by_key[self._keys[place]].append(place)
        for places in by_key.values():
            self.join(places)
        for place, key in enumerate(self._keys):  # "jakewatson", whose words nothing separates
            if key in by_key:
                self.join((place, by_key[key][0]))

    def join_by_spelled_address(self) -> None:
        """Add an address without a name to the only person whose full name it spells."""
        full = self._full_names()
        for place, each in enumerate(self._named):
            local = each.address.partition("@")[0]
            if not each.name and naming.is_full(local) and len(roots := full.get(naming.name_key(local), set())) == 1:
                self.join((place, *roots))

    def join_first_names(self) -> None:
        """Add a first name without address and number to the only person whose full name begins with it."""
        first: dict[str, set[int]] = defaultdict(set)
        for place, parts in enumerate(self._words):
            if len(parts) > 1:
                first[parts[0]].add(self.root(place))
        for place, each in enumerate(self._named):
            is_alone = not (each.address or each.number or self._is_full[place])
            if is_alone and self._keys[place] and len(roots := first.get(self._keys[place], set())) == 1:
                self.join((place, *roots))

    def _full_names(self) -> dict[str, set[int]]:
        full: dict[str, set[int]] = defaultdict(set)
        for place, is_full in enumerate(self._is_full):
            if is_full:
                full[self._keys[place]].add(self.root(place))
        return full
