"""Memory of one size, given out in runs and taken back: what is kept in it never grows beyond that."""

import mmap
from bisect import bisect_left
from collections.abc import Iterator

from shared.errors import StoreError
from storage.list_file import PAGE


class Runs:
    """Which parts of `size` bytes are free, as runs that do not touch each other. First fit. Pure."""

    def __init__(self, size: int) -> None:
        self._free = [(0, size)] if size else []

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The free runs: start and length."""
        return iter(self._free)

    @property
    def free(self) -> int:
        """Bytes that are free, in all runs."""
        return sum(length for _, length in self._free)

    def take(self, length: int) -> int | None:
        """The start of a run of that length, which is taken then; None where no free run is so long."""
        for place, (start, room) in enumerate(self._free):
            if room >= length:
                self._free[place : place + 1] = [(start + length, room - length)] if room > length else []
                return start
        return None

    def give_back(self, start: int, length: int) -> None:
        """Free a run that was taken."""
        place = bisect_left(self._free, (start, 0))
        stop, first = start + length, place
        if place < len(self._free) and self._free[place][0] == stop:
            stop += self._free[place][1]
            place += 1
        if first and sum(self._free[first - 1]) == start:
            first -= 1
            start = self._free[first][0]
        self._free[first:place] = [(start, stop - start)]


def pages_of_memory(size: int) -> mmap.mmap:
    """Memory that begins with a page; the kernel gives it when it is first written to. Raises StoreError."""
    try:
        if hasattr(mmap, "MAP_PRIVATE"):  # shared pages stay the file's in memory when they are given back
            return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        return mmap.mmap(-1, size)
    except OSError as error:
        raise StoreError(f"There is no memory for {size:,} bytes of the index. Lower retrieval.memory_mb.") from error


class Arena:
    """That much memory, in whole pages, which the kernel gives when it is first written to. Not safe for threads."""

    def __init__(self, size: int) -> None:
        self.size = max(size // PAGE, 1) * PAGE
        self.runs = Runs(self.size)
        self._pages = pages_of_memory(self.size)
        self._memory = memoryview(self._pages)

    @property
    def used(self) -> int:
        """Bytes of runs that were taken."""
        return self.size - self.runs.free

    def release(self) -> None:
        """Give the kernel back what is free, where it takes it; it comes again when it is written to."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for start, length in self.runs:
                self._pages.madvise(mmap.MADV_DONTNEED, start, length)

    def view(self, start: int, length: int) -> memoryview:
        """The memory of a run that was taken."""
        return self._memory[start : start + length]
