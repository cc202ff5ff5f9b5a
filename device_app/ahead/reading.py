"""Updates the remembered folders in small pieces; the work can give way after each. Independent of schedules."""

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
from storage.private import private_folder, to_be_written

if TYPE_CHECKING:
    import numpy.typing as npt

    from device_app.device import Device
    from device_app.knowledge.ingest import Ingestion
    from device_app.knowledge.ingest_report import IngestReport
    from models.engine import Embedder

READ_AGAIN_S = 1.5
"""The most seconds for reading a changed file again while answering; a batch of texts may exceed it."""

_PIECE_S = 0.3
"""The approximate number of seconds between two calls of `give_way`, on fast and slow devices."""

_FIRST_TEXTS = 8
BATCH_PASSAGES = 32
"""The number of passages stored at a time, which is the most work lost by giving way."""


def reading(device: Device) -> Work:
    """Return the work that updates the remembered folders, in one step."""

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
            with suppress(GaveWay):  # finished files are stored, the rest is read next time
                ingestion.run(folders)
        device.people.keep()
        if subject := _said(ingestion.report):
            ms = (time.monotonic() - began) * 1000
            yield Step("read", subject, "files in your folders have changed", 0, 0, ms)

    return work


def read_again(device: Device, path: Path) -> str:
    """Read a changed file again, if that takes at most READ_AGAIN_S; return why the file cannot be read, or "".

    Raises GaveWay, with nothing stored, if reading takes longer; StoreLocked if another process reads files;
    StoreError, NotWritable.
    """
    end = time.monotonic() + READ_AGAIN_S
    ingestion = device.ingestion()
    ingestion.embedder = InPieces(ingestion.embedder, lambda: time.monotonic() > end)
    with alone(device.paths.add_lock):
        report = read(device, ingestion, [path])
    return next((skipped.reason for skipped in report.skipped), "")


def read(device: Device, ingestion: Ingestion, paths: Sequence[Path]) -> IngestReport:
    """Read files and folders in this run, and return its report.

    The caller holds the lock. Raises StoreError; files finished before the error stay stored.
    """
    report = ingestion.run(paths)
    if report.documents or report.removed:
        device.qkv_tree.prune()  # drop the states of removed passages
        device.people.keep()
    return report


@contextmanager
def alone(file: Path, on_wait: Callable[[], object] | None = None) -> Iterator[None]:
    """Hold the lock of the process that reads files; if it is taken, call `on_wait` and wait.

    Without `on_wait`, raises StoreLocked instead of waiting. Raises NotWritable.
    """
    private_folder(file.parent)
    lock = FileLock(file, mode=0o600)
    with to_be_written(f"lock {file}"):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if on_wait is None:
                raise StoreLocked(
                    "Another Jackdaw process is reading files. Try again when that process has finished."
                ) from None
            on_wait()
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


def go_on(give_way: GiveWay) -> None:
    """Raise GaveWay, which interrupts reading for other work, if `give_way()` is true."""
    if give_way():
        raise GaveWay("Reading was interrupted for other work. Reading continues when the machine is free.")


@dataclass(frozen=True, slots=True)
class InPieces:
    """An embedder that embeds texts in small batches, and raises GaveWay before a batch if `give_way()` is true."""

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
            # Batches at most double: the first call also loads the model.
            size = max(1, min(2 * size, int(size * _PIECE_S / max(time.monotonic() - began, 1e-6))))
        return np.concatenate(parts)


def _said(report: IngestReport) -> str:
    said = []
    if report.documents:
        said.append(f"{counted(report.documents, 'document')} ({counted(report.passages, 'passage')})")
    if report.removed:
        said.append(f"{report.removed:,} files gone")
    return ", ".join(said)
