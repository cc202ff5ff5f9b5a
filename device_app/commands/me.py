"""Returns and stores who the owner of the files is, confirmed or guessed. Never prompts, never prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from device_app.english import naming
from shared.errors import UsageError

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.knowledge.guessing import Guess

LONGEST = 200


@dataclass(frozen=True, slots=True)
class Me:
    """The owner of the files. `stated` are the names that the owner confirmed; the others were found in files.

    `name` is the one to show. `guesses` are the reasons for a guess that is not confirmed yet.
    """

    confirmed: bool
    name: str
    names: Sequence[str]
    addresses: Sequence[str]
    numbers: Sequence[str]
    stated: Sequence[str]
    guesses: Sequence[Guess] = ()


def identity(device: Device) -> Me | None:
    """Return who the owner of the files is, confirmed or guessed; None if nothing gives a guess. Raises StoreError."""
    from device_app.knowledge.known_people import own

    if me := device.people.directory.confirmed:
        return _described(True, me.name, [each.written for each in me.sightings], own(me), ())
    person, reasons = device.people.guessed()
    return _described(False, person.name, [each.written for each in person.sightings], [], reasons) if person else None


def state(device: Device, names: Sequence[str]) -> Me:
    """Store that these are the person's names, addresses and numbers. Raises UsageError, StoreError."""
    stated = list(dict.fromkeys(" ".join(name.split()) for name in names))
    for name in stated:
        named = naming.split(name)
        if len(name) > LONGEST or not (named.name or named.address or named.number):
            raise UsageError(f'"{name[:40]}" is no name. Give a name, an address or a number: jackdaw me set "Li Hua"')
        if naming.is_self(name):
            raise UsageError(f'"{name}" names nobody in particular. Give the name that others use for you.')
    device.people.state_me(stated)
    described = identity(device)
    assert described
    return described


def forget(device: Device) -> bool:
    """Delete the owner's names; return whether there were any. Raises StoreError."""
    was_known = device.people.directory.confirmed is not None
    device.people.state_me([])
    return was_known


def _described(
    confirmed: bool, name: str, written: Sequence[str], stated: Sequence[str], reasons: Sequence[Guess]
) -> Me:
    named = [naming.split(each) for each in written]
    columns = ([each.name for each in named], [each.address for each in named], [each.number for each in named])
    names, addresses, numbers = (tuple(dict.fromkeys(filter(None, column))) for column in columns)
    return Me(confirmed, name, names, addresses, numbers, stated, reasons)
