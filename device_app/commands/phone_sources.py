"""Consent to read a phone's messages, contacts and calls, and its withdrawal. Never prompts, never prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from device_app.knowledge.phone.sources import SOURCES, Source
from shared.errors import UsageError
from storage.phone_sources import PhoneSources

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.knowledge.phone.reading import PhoneReport


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source: whether it may be read, and what was read of it. Times are ISO 8601, UTC; None for never."""

    name: str
    what: str
    allowed: bool
    documents: int
    read_at: str | None
    failure: str


def states(device: Device) -> list[SourceState]:
    """Return the state of every source. Raises StoreError."""
    allowed = {each.name: each for each in PhoneSources(device.database).allowed()}
    return [
        SourceState(
            name,
            source.what,
            name in allowed,
            device.knowledge.count_documents(source.path),
            allowed[name].read_at if name in allowed else None,
            allowed[name].failure if name in allowed else "",
        )
        for name, source in SOURCES.items()
    ]


def named(name: str) -> Source:
    """Return the source with this name. Raises UsageError."""
    if name not in SOURCES:
        raise UsageError(f"There is no source {name}. There are: {', '.join(SOURCES)}.")
    return SOURCES[name]


def allow(device: Device, name: str) -> None:
    """Store the person's consent to read a source. Raises StoreError."""
    PhoneSources(device.database).allow(name)


def read(device: Device, name: str, on_day: Callable[[date], object]) -> PhoneReport:
    """Read what is new in a source that may be read. The caller holds the lock, see `reading.alone`.

    Raises PhoneSilent, StoreError; what was read until then stays, and the next reading goes on there.
    """
    from device_app.ahead import phone

    reading = phone.phone_reading(device)
    reading.on_day = lambda _, day: on_day(day)
    return phone.read(device, reading, name)


def withdraw(device: Device, name: str) -> bool:
    """Delete the consent; whoever reads the source stops soon. Return whether there was one. Raises StoreError."""
    return PhoneSources(device.database).stop(name)


def forget(device: Device, source: Source) -> int:
    """Delete what was read of a source; return how many documents. The caller holds the lock, see `reading.alone`.

    Raises StoreError, NotWritable.
    """
    from device_app.commands.knowledge import remove

    count = device.knowledge.count_documents(source.path)
    remove(device, source.path)
    return count
