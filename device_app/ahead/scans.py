"""Reads PDFs that consist of pictures, page by page, while the device is idle."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from device_app.ahead.reading import InPieces, alone, go_on
from device_app.ahead.work import GiveWay, Step, Work
from device_app.system import recognition
from shared.errors import GaveWay, UnreadableFile
from shared.printable import counted
from storage.private import write_private

if TYPE_CHECKING:
    from device_app.device import Device

MOST_PAGES = 300
"""The most pages of a file whose text is recognised: an hour or two of work."""


def scans(device: Device) -> Work:
    """Return the work that recognises the text of scans page by page and stores it as passages; each file is a step."""

    def work(give_way: GiveWay) -> Iterator[Step]:
        from device_app.knowledge.readers.pdf import SCAN

        paths = [Path(os.fsdecode(path)) for path in device.knowledge.skipped_for(SCAN)]
        waiting = {_progress(device.paths.scans, path): path for path in paths}
        _prune(device.paths.scans, waiting)
        if not waiting or not recognition.is_available():
            return
        with suppress(GaveWay):  # recognised pages are kept, the rest is recognised next time
            for progress, path in waiting.items():
                began = time.monotonic()
                with suppress(OSError, UnreadableFile, subprocess.TimeoutExpired):
                    texts = _texts(device, path, progress, partial(go_on, give_way))
                    if any(texts) and _read(device, path, texts, give_way):
                        progress.unlink(missing_ok=True)
                        ms = (time.monotonic() - began) * 1000
                        yield Step(
                            "read", counted(len(texts), "scanned page"), "a scan has no text of its own", 0, 0, ms
                        )

    return work


def _texts(device: Device, path: Path, progress: Path, look: Callable[[], object]) -> list[str]:
    """Return the text of each page, storing the progress after each page.

    `look` is called many times and may raise GaveWay. Raises OSError, TimeoutExpired, UnreadableFile too.
    """
    from device_app.knowledge.readers.pdf import count_pages

    look()
    texts = _kept(progress)
    pages = min(count_pages(path, device.ingestion().max_bytes), MOST_PAGES)
    language = recognition.languages() if len(texts) < pages else ""
    if len(texts) < pages and not language:
        raise UnreadableFile("tesseract has no language")
    while len(texts) < pages:
        texts.append(recognition.page_text(path, len(texts) + 1, language, look).strip())
        write_private(progress, msgspec.json.encode(texts).decode())
    return texts


def _read(device: Device, path: Path, texts: list[str], give_way: GiveWay) -> bool:
    from device_app.knowledge.readers import PdfOptions

    with alone(device.paths.add_lock):
        ingestion = device.ingestion()
        ingestion.pdf = PdfOptions(page_texts=texts)
        ingestion.embedder = InPieces(ingestion.embedder, give_way)
        ingestion.on_progress = lambda _: go_on(give_way)
        return ingestion.run([path]).documents > 0


def _progress(folder: Path, path: Path) -> Path:
    """Return the file in `folder` for the recognised pages of the scan at `path`; a changed scan has another file."""
    try:
        status = path.stat()
        state = (status.st_size, status.st_mtime_ns)
    except OSError:
        state = (0, 0)
    name = hashlib.blake2b(os.fsencode(path) + repr(state).encode(), digest_size=16).hexdigest()
    return folder / f"{name}.json"


def _kept(progress: Path) -> list[str]:
    try:
        return msgspec.json.decode(progress.read_bytes(), type=list[str])
    except (OSError, msgspec.MsgspecError):
        return []


def _prune(folder: Path, kept: Collection[Path]) -> None:
    """Delete the progress files except those `kept`: their scans are gone, forgotten, or read to the end meanwhile."""
    for file in folder.glob("*.json"):
        if file not in kept:
            file.unlink(missing_ok=True)
