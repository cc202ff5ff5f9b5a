"""An immutable file that is read into the caller's memory, bypassing the page cache if possible.

The inverted lists of an index are too large for the page cache, and would only evict other pages from it.
"""

import errno
import fcntl
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shared.errors import StoreCorrupt, StoreError

PAGE: Final = 4096
"""The bytes of a page.

Offsets, lengths and memory of unbuffered reads have to be multiples of the disk's block size, which divides the size of
a page.
"""

MOST_PARTS: Final = 1024
"""The most parts of memory that one system call fills (Linux's UIO_MAXIOV)."""

_DIRECT = getattr(os, "O_DIRECT", 0)


def pages(start: int, length: int) -> tuple[int, int]:
    """Return the start and the length of the whole pages that contain the given bytes."""
    first = start // PAGE * PAGE
    return first, -(-(start + length - first) // PAGE) * PAGE


class ListFile:
    """A file that stays open while this object lives, even if it is deleted or replaced. Thread-safe.

    Raises StoreCorrupt if the file is missing or has another size, StoreError if it cannot be opened.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        try:
            self._descriptor, self._is_direct = _opened(path)
        except FileNotFoundError as error:
            raise StoreCorrupt(f"There is no {path}. Build the index again.") from error
        except OSError as error:
            raise self._unreadable(error) from error
        weakref.finalize(self, os.close, self._descriptor)
        if os.fstat(self._descriptor).st_size != size:
            raise self._damaged()

    def read(self, parts: Sequence[memoryview], first: int, length: int) -> None:
        """Read `length` bytes or more from byte `first` on into the parts, one after the other, in whole pages except
        at the file's end. There are at most MOST_PARTS.

        Raises StoreCorrupt if the file is truncated, StoreError if it cannot be read.
        """
        done = 0
        while done < length:
            was_direct = self._is_direct
            try:
                count = os.preadv(self._descriptor, _rest(parts, done), first + done)
            except OSError as error:
                if error.errno == errno.EINVAL and was_direct:
                    self._read_buffered()
                    continue
                raise self._unreadable(error) from error
            if not count:
                raise self._damaged()
            done += count
            if was_direct and done < length and done % PAGE:  # only the file's end is within a page
                raise self._damaged()

    def _read_buffered(self) -> None:
        """Switch to reading through the page cache from now on."""
        flags = fcntl.fcntl(self._descriptor, fcntl.F_GETFL)
        fcntl.fcntl(self._descriptor, fcntl.F_SETFL, flags & ~_DIRECT)
        self._is_direct = False

    def _unreadable(self, error: OSError) -> StoreError:
        reason = (error.strerror or str(error)).lower()
        return StoreError(f"{self._path} cannot be read ({reason}). Check the disk for errors.")

    def _damaged(self) -> StoreCorrupt:
        return StoreCorrupt(f"{self._path} is damaged or cut short. Build the index again.")


def _rest(parts: Sequence[memoryview], done: int) -> list[memoryview]:
    """Return the parts without their first `done` bytes."""
    rest: list[memoryview] = []
    for part in parts:
        if done < len(part):
            rest.append(part[done:])
        done = max(done - len(part), 0)
    return rest


def _opened(path: Path) -> tuple[int, bool]:
    """Open the file. Return its descriptor, and whether its reads bypass the page cache."""
    try:
        return os.open(path, os.O_RDONLY | _DIRECT), bool(_DIRECT)
    except OSError:  # file systems in memory or on a network may not support it; some fail only when they are read
        return os.open(path, os.O_RDONLY), False
