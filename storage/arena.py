"""A block of memory of fixed size, from which parts are allocated and freed."""

import mmap
from bisect import bisect_left
from collections.abc import Iterator

from shared.errors import StoreError
from storage.list_file import PAGE


class Runs:
    """A first-fit allocator for a range of `size` bytes. It keeps the free parts (*runs*), merged when they touch. No
    I/O.
    """

    def __init__(self, size: int) -> None:
        self._free = [(0, size)] if size else []

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the start and length of each free run."""
        return iter(self._free)

    @property
    def free(self) -> int:
        """The total bytes of all free runs."""
        return sum(length for _, length in self._free)

    def take(self, length: int) -> int | None:
        """Allocate `length` bytes and return their start; None if no free run is long enough."""
        for place, (start, room) in enumerate(self._free):
            if room >= length:
                self._free[place : place + 1] = [(start + length, room - length)] if room > length else []
                return start
        return None

    def give_back(self, start: int, length: int) -> None:
        """Free `length` bytes from `start` on, which `take` allocated."""
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
    """Return `size` bytes of page-aligned memory, which the kernel provides page by page on the first write. Raises
    StoreError.
    """
    try:
        if hasattr(mmap, "MAP_PRIVATE"):  # MAP_SHARED pages would stay allocated after MADV_DONTNEED
            return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        return mmap.mmap(-1, size)
    except OSError as error:
        raise StoreError(f"There is no memory for {size:,} bytes of the index. Lower retrieval.memory_mb.") from error


class Arena:
    """A block of about `size` bytes of memory in whole pages, which the kernel provides on the first write. Not
    thread-safe.
    """

    def __init__(self, size: int) -> None:
        self.size = max(size // PAGE, 1) * PAGE
        self.runs = Runs(self.size)
        self._pages = pages_of_memory(self.size)
        self._memory = memoryview(self._pages)

    @property
    def used(self) -> int:
        """The total bytes of allocated parts."""
        return self.size - self.runs.free

    def release(self) -> None:
        """Return the pages of the free runs to the kernel, if it takes them; a later write allocates them again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for start, length in self.runs:
                self._pages.madvise(mmap.MADV_DONTNEED, start, length)

    def view(self, start: int, length: int) -> memoryview:
        """Return `length` bytes of the memory from `start` on, which `runs` has allocated."""
        return self._memory[start : start + length]
