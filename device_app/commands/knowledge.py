"""Adds files and folders to the person's knowledge, and removes them. Never prompts, never prints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from device_app.knowledge.phone.sources import PREFIX, is_of_phone

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.knowledge.ingest import Ingestion
    from device_app.knowledge.ingest_report import IngestReport


def absolute(path: str) -> Path:
    """Return a path as the store keeps it: absolute, with `~` and `..` resolved and symbolic links kept.

    The name of a phone's source, such as phone:messages, is returned unchanged.
    """
    if is_of_phone(path):
        return Path(path)
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 (resolve() would follow links)


@dataclass(frozen=True, slots=True)
class Removed:
    """The counts of removed files and folders.

    `watched` is a remembered folder that contains them, so that they would be read again; None if there is none.
    """

    files: int
    folders: int
    watched: Path | None


def remember(device: Device, paths: Sequence[Path]) -> None:
    """Remember the folders among `paths`, so that they are read again when something in them changes."""
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 (Path.is_dir raises where it may not look)
            device.knowledge.remember_folder(os.fsencode(path))


def read(device: Device, ingestion: Ingestion, paths: Sequence[Path]) -> IngestReport:
    """Read files and folders, and remember the folders. The caller holds the lock, see `reading.alone`.

    Raises StoreError; files that were finished before the error stay in the store.
    """
    from device_app.ahead import reading

    remember(device, paths)
    return reading.read(device, ingestion, paths)


def unlock(device: Device, report: IngestReport, path: Path, passwords: Sequence[str]) -> bool:
    """Read an encrypted file with one of the passwords, and add the result to the report; return whether one fits.

    The caller holds the lock, see `reading.alone`. Raises StoreError.
    """
    from device_app.knowledge.readers import PdfOptions

    ingestion = device.ingestion()
    ingestion.pdf = PdfOptions(passwords)
    again = read(device, ingestion, [path])
    if not again.locked:
        report.replace_locked(path, again)
    return not again.locked


def remove(device: Device, path: bytes) -> Removed:
    """Remove a file, or a folder and everything in it, from the store. The caller holds the lock, see `reading.alone`.

    For a phone's source, the consent to read it is deleted as well.

    Raises StoreError, NotWritable.
    """
    from device_app.ahead.daemon import forget_last
    from storage.phone_sources import PhoneSources
    from storage.wrong_answers import WrongAnswers

    known = device.knowledge.paths_under(path)
    with device.database.transaction():
        for file in known:
            device.knowledge.remove_file(file)
        if is_of_phone(path):
            PhoneSources(device.database).stop(os.fsdecode(path).removeprefix(PREFIX))
        device.knowledge.clear_skipped(path)
        folders = device.knowledge.forget_folders(path)
        if known:
            device.people.store.clear()  # with the files, their names; the rest is computed again below
    WrongAnswers(device.database).prune()
    device.qkv_tree.prune()
    device.people.keep()
    forget_last(device.paths)
    left = (Path(os.fsdecode(folder)) for folder in device.knowledge.folders())
    watched = next((folder for folder in left if Path(os.fsdecode(path)).is_relative_to(folder)), None)
    return Removed(len(known), folders, watched)
