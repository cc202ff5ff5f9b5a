"""What a person adds to what is known, and takes from it: files and folders. Asks nobody and prints nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.knowledge.ingest import Ingestion, IngestReport


def absolute(path: str) -> Path:
    """A path as the store knows it: absolute, `~` and `..` resolved, links kept."""
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 (resolve() would follow links)


@dataclass(frozen=True, slots=True)
class Removed:
    """What was forgotten. `watched` is the remembered folder that would bring it back; None where there is none."""

    files: int
    folders: int
    watched: Path | None


def remember(device: Device, paths: Sequence[Path]) -> None:
    """Note the folders among these, so that they are read again when something in them changes."""
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 (Path.is_dir raises where it may not look)
            device.knowledge.remember_folder(os.fsencode(path))


def read(device: Device, ingestion: Ingestion, paths: Sequence[Path]) -> IngestReport:
    """Read files and folders; folders are remembered. The caller holds the lock, see `reading.alone`.

    Raises StoreError; what was finished before stays.
    """
    from device_app.ahead import reading

    remember(device, paths)
    return reading.read(device, ingestion, paths)


def remove(device: Device, path: bytes) -> Removed:
    """Forget a file, or a folder and everything in it. The caller holds the lock, see `reading.alone`.

    Raises StoreError, NotWritable.
    """
    from device_app.ahead.daemon import forget_last
    from storage.wrong_answers import WrongAnswers

    known = device.knowledge.paths_under(path)
    with device.database.transaction():
        for file in known:
            device.knowledge.remove_file(file)
        device.knowledge.clear_skipped(path)
        folders = device.knowledge.forget_folders(path)
    WrongAnswers(device.database).prune()
    device.qkv_tree.prune()
    forget_last(device.paths)
    left = (Path(os.fsdecode(folder)) for folder in device.knowledge.folders())
    watched = next((folder for folder in left if Path(os.fsdecode(path)).is_relative_to(folder)), None)
    return Removed(len(known), folders, watched)
