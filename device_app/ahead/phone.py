"""Reads new messages, contacts and calls of a phone while the device is idle, by consent for each of these sources."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from device_app.ahead.reading import InPieces, alone, go_on
from device_app.ahead.work import GiveWay, Step, Work
from shared.errors import GaveWay, PhoneSilent
from shared.printable import counted
from storage.phone_sources import PhoneSources

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.knowledge.phone.reading import PhoneReading, PhoneReport


def phone_sources(device: Device) -> Work:
    """Return the work that brings the phone's sources up to date, with a step for each source that has new entries."""

    def work(give_way: GiveWay) -> Iterator[Step]:
        from device_app.knowledge.phone.sources import SOURCES

        for allowed in PhoneSources(device.database).allowed():
            source, began = SOURCES.get(allowed.name), time.monotonic()
            if source is None:
                continue
            reading = phone_reading(device)
            reading.ingestion.embedder = InPieces(reading.ingestion.embedder, give_way)
            reading.on_day = lambda *_: go_on(give_way)
            with suppress(GaveWay, PhoneSilent), alone(device.paths.add_lock):
                read(device, reading, source.name)
            if subject := said(reading.report, source.name):
                why = "they are new on this phone, and you let me read them"
                yield Step("read", subject, why, 0, 0, (time.monotonic() - began) * 1000)

    return work


def phone_reading(device: Device) -> PhoneReading:
    """Return a new run that reads the phone's sources."""
    from device_app.knowledge.phone.reading import PhoneReading
    from device_app.knowledge.phone.sources import fetch

    return PhoneReading(device.ingestion(), PhoneSources(device.database), device.people, fetch)


def read(device: Device, reading: PhoneReading, name: str) -> PhoneReport:
    """Bring a source up to date and return the run's report, which is empty if the source may not be read.

    The caller holds the lock for reading files. Raises PhoneSilent, which is recorded with the source; GaveWay,
    StoreError. Entries read before an error stay stored.
    """
    from device_app.knowledge.phone.sources import SOURCES

    progress = {each.name: each.progress for each in reading.sources.allowed()}.get(name)
    if progress is None:
        return reading.report
    try:
        return reading.run(SOURCES[name], progress)
    except PhoneSilent as error:
        reading.sources.note_reading(name, str(error))
        raise
    finally:
        if reading.report.documents or reading.report.removed:
            device.qkv_tree.prune()
            device.people.keep()


def said(report: PhoneReport, name: str) -> str:
    """Return a summary of what was read; "" if nothing was."""
    if not report.documents:
        return ""
    return f"{counted(report.documents, 'document')} ({counted(report.passages, 'passage')}) of your {name}"
