"""Reads rows of a fixed length, at any offsets of an immutable file, several rows at once."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np

from shared.errors import StoreError
from storage.arena import pages_of_memory
from storage.ivf_files import Codes, Numbers
from storage.list_file import ListFile, pages

READERS: Final = 8
"""The number of concurrent reads."""


class Run(NamedTuple):
    """Consecutive pages of a file: the offset of the first page, and the number of bytes needed from there."""

    first: int
    length: int

    @property
    def room(self) -> int:
        """The total bytes of the run's pages."""
        return pages(self.first, self.length)[1]


def runs(places: Numbers, row_bytes: int) -> list[Run]:
    """Return the runs of pages that hold the rows at the given offsets, sorted by offset and without overlap. No
    I/O.
    """
    merged: list[Run] = []
    for place in sorted(places.tolist()):
        first, stop = pages(place, row_bytes)[0], place + row_bytes
        if merged and first <= merged[-1].first + merged[-1].room:
            first = merged.pop().first
        merged.append(Run(first, stop - first))
    return merged


class RowReader:
    """Reads rows of `row_bytes` bytes each from a file. Thread-safe."""

    def __init__(self, file: ListFile, row_bytes: int) -> None:
        self._file, self._row_bytes = file, row_bytes
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="rows")

    def read(self, places: Numbers) -> Codes:
        """Return the rows at the given offsets, in their order, shape (rows, row_bytes). Raises StoreCorrupt,
        StoreError.
        """
        needed = runs(places, self._row_bytes)
        starts = np.cumsum([0, *(run.room for run in needed)])
        memory = memoryview(pages_of_memory(max(int(starts[-1]), 1)))
        parts = [(run, memory[start : start + run.room]) for run, start in zip(needed, starts.tolist(), strict=False)]
        try:
            shares = [parts[first::READERS] for first in range(min(READERS, len(parts)))]
            reads = [self._readers.submit(self._fill, share) for share in shares]
        except RuntimeError as error:  # no more threads, or the process is ending
            raise StoreError(f"The index cannot be read: {error}.") from error
        for read in reads:
            read.result()
        firsts = np.array([run.first for run in needed], np.int64)
        run_of = np.searchsorted(firsts, places, side="right") - 1
        offsets = starts[run_of] + places - firsts[run_of]
        rows: Codes = np.frombuffer(memory, np.uint8)[offsets[:, None] + np.arange(self._row_bytes)]
        return rows

    def _fill(self, parts: Sequence[tuple[Run, memoryview]]) -> None:
        for run, memory in parts:
            self._file.read([memory], run.first, run.length)
