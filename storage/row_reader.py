"""Reads rows of one length at any places of a file that never changes, several at a time."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np

from shared.errors import StoreError
from storage.arena import pages_of_memory
from storage.ivf_files import Codes, Numbers
from storage.list_file import ListFile, pages

READERS: Final = 8
"""Reads that are under way at once."""


class Run(NamedTuple):
    """Whole pages that lie one behind the other: the first byte, and how many bytes of them are needed."""

    first: int
    length: int

    @property
    def room(self) -> int:
        """Bytes of memory that it takes."""
        return pages(self.first, self.length)[1]


def runs(places: Numbers, row_bytes: int) -> list[Run]:
    """Return the runs of pages in which rows lie that begin at these bytes, in order; no page comes twice. Pure."""
    merged: list[Run] = []
    for place in sorted(places.tolist()):
        first, stop = pages(place, row_bytes)[0], place + row_bytes
        if merged and first <= merged[-1].first + merged[-1].room:
            first = merged.pop().first
        merged.append(Run(first, stop - first))
    return merged


class RowReader:
    """Rows of `row_bytes` bytes of a file. Safe for several threads."""

    def __init__(self, file: ListFile, row_bytes: int) -> None:
        self._file, self._row_bytes = file, row_bytes
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="rows")

    def read(self, places: Numbers) -> Codes:
        """Return the rows that begin at these bytes, shape (rows, row_bytes). Raises StoreCorrupt, StoreError."""
        needed = runs(places, self._row_bytes)
        starts = np.cumsum([0, *(run.room for run in needed)])
        memory = memoryview(pages_of_memory(max(int(starts[-1]), 1)))
        parts = [(run, memory[start : start + run.room]) for run, start in zip(needed, starts.tolist(), strict=False)]
        try:
            shares = [parts[first::READERS] for first in range(min(READERS, len(parts)))]
            reads = [self._readers.submit(self._fill, share) for share in shares]
        except RuntimeError as error:  # no thread more, or the process ends
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
            self._file.read(memory, run.first, run.length)
