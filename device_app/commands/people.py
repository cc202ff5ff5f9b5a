"""Lists everybody in the files and on the phone, for the person to look through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.printable import counted

if TYPE_CHECKING:
    from device_app.device import Device


@dataclass(frozen=True, slots=True)
class NameOf:
    """A name of a person, and the number of documents with it.

    `source` is the kind of these documents or the phone's source; "you" if the person stated the name as theirs.
    """

    written: str
    source: str
    count: int

    @property
    def said(self) -> str:
        """The name with its source, in words."""
        documents = "you said so" if self.source == "you" else f"{counted(self.count, 'document')}, {self.source}"
        return f"{self.written} · {documents}"


@dataclass(frozen=True, slots=True)
class Described:
    """A person with all their names; `is_me` is true for the owner of the files."""

    name: str
    is_me: bool
    names: Sequence[NameOf]


def described(device: Device, name: str | None = None) -> list[Described]:
    """Return all people, or those whom the name may mean; the most frequently named comes first. Raises StoreError."""
    directory = device.people.directory
    people = directory.people if name is None else directory.called(name)
    each = [
        Described(person.name, person.is_me, [NameOf(s.written, s.source, s.count) for s in person.sightings])
        for person in people
    ]
    return sorted(each, key=lambda person: (-sum(named.count for named in person.names), person.name))
