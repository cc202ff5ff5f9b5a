"""Bringing the remembered folders up to date, in pieces between which it gives way. Knows no schedule."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from filelock import FileLock, Timeout

from device_app.ahead.work import GiveWay, Step, Work
from shared.errors import GaveWay, StoreLocked
from shared.printable import counted
from storage.paths import private_folder, to_be_written

if TYPE_CHECKING:
    import numpy.typing as npt

    from device_app.device import Device
    from device_app.knowledge.ingest import Ingestion, IngestReport
    from models.engine import Embedder

READ_AGAIN_S = 1.5
"""A file that has changed is read again within an answer for so long at most, a few texts more."""

_PIECE_S = 0.3
"""Between two questions whether to give way, about, on a fast device as on a slow one."""

_FIRST_TEXTS = 8
BATCH_PASSAGES = 32
"""Stored at a time: what giving way loses at most. A slow device that is often asked gets on all the same."""


def reading(device: Device) -> Work:
    """Work that brings the remembered folders up to date, as one step."""

    def work(give_way: GiveWay) -> Iterator[Step]:
        folders = [Path(os.fsdecode(path)) for path in device.knowledge.folders()]
        if not folders:
            return
        began = time.monotonic()
        with alone(device.paths.add_lock):
            ingestion = device.ingestion()
            ingestion.batch_passages = BATCH_PASSAGES
            ingestion.embedder = InPieces(ingestion.embedder, give_way)
            ingestion.on_progress = lambda _: go_on(give_way)
            with suppress(GaveWay):  # what was finished is stored; the rest is read next time
                ingestion.run(folders)
        if subject := _said(ingestion.report):
            ms = (time.monotonic() - began) * 1000
            yield Step("read", subject, "files in your folders have changed", 0, 0, ms)

    return work


def read_again(device: Device, path: Path) -> str:
    """Bring what is known of a file up to date, if that is done within READ_AGAIN_S; why it cannot be read, or "".

    Raises GaveWay, with nothing stored, where it takes longer; StoreLocked where another process reads files;
    StoreError, NotWritable.
    """
    end = time.monotonic() + READ_AGAIN_S
    ingestion = device.ingestion()
    ingestion.embedder = InPieces(ingestion.embedder, lambda: time.monotonic() > end)
    with alone(device.paths.add_lock):
        report = read(device, ingestion, [path])
    return next((skipped.reason for skipped in report.skipped), "")


def read(device: Device, ingestion: Ingestion, paths: Sequence[Path]) -> IngestReport:
    """Read files and folders. The caller holds the lock. Raises StoreError; what was finished before stays."""
    report = ingestion.run(paths)
    if report.documents or report.removed:
        device.qkv_tree.prune()  # what was read of a passage goes with it
    return report


@contextmanager
def alone(file: Path, on_wait: Callable[[], object] | None = None) -> Iterator[None]:
    """Hold the lock of the one process that reads files; where another has it, call `on_wait` and wait for it.

    Without that nobody waits: raises StoreLocked. Raises NotWritable.
    """
    private_folder(file.parent)
    lock = FileLock(file, mode=0o600)
    with to_be_written(f"lock {file}"):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if on_wait is None:
                raise StoreLocked(
                    "Another process of Jackdaw is reading files. Try again when it has finished."
                ) from None
            on_wait()
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


def go_on(give_way: GiveWay) -> None:
    """Raise GaveWay if that is to be done."""
    if give_way():
        raise GaveWay("Reading gave way. It goes on when nothing else needs the machine.")


@dataclass(frozen=True, slots=True)
class InPieces:
    """An embedder that gives way between a few texts and the next."""

    embedder: Embedder
    give_way: GiveWay

    @property
    def fingerprint(self) -> str:
        return self.embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        parts = [self.embedder.embed([])]
        start, size = 0, _FIRST_TEXTS
        while start < len(texts):
            go_on(self.give_way)
            began = time.monotonic()
            parts.append(self.embedder.embed(texts[start : start + size]))
            start += size
            # Twice as many at most: the first call also loads the model.
            size = max(1, min(2 * size, int(size * _PIECE_S / max(time.monotonic() - began, 1e-6))))
        return np.concatenate(parts)


def _said(report: IngestReport) -> str:
    said = []
    if report.documents:
        said.append(f"{counted(report.documents, 'document')} ({counted(report.passages, 'passage')})")
    if report.removed:
        said.append(f"{report.removed:,} files gone")
    return ", ".join(said)
