"""Stores and withdraws the consent to read a phone's messages, contacts and calls. Never prompts, never prints."""

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
    """Whether a phone source may be read, and what was read from it. Times are ISO 8601 in UTC; None for never.

    `what` describes its data; `failure` is why the last reading failed, or "".
    """

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
    """Read the new entries of a source that may be read; `on_day` is called with each day that is read.

    The caller holds the lock, see `reading.alone`. Raises PhoneSilent, StoreError; entries read before an error stay
    stored, and the next reading continues there.
    """
    from device_app.ahead import phone

    reading = phone.phone_reading(device)
    reading.on_day = lambda _, day: on_day(day)
    return phone.read(device, reading, name)


def withdraw(device: Device, name: str) -> bool:
    """Delete the consent to read a source, which soon stops a running reading; return whether there was consent.

    Raises StoreError.
    """
    return PhoneSources(device.database).stop(name)


def forget(device: Device, source: Source) -> int:
    """Delete everything read from a source; return the number of documents.

    The caller holds the lock, see `reading.alone`. Raises StoreError, NotWritable.
    """
    from device_app.commands.knowledge import remove

    count = device.knowledge.count_documents(source.path)
    remove(device, source.path)
    return count
