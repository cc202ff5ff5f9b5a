"""A file that never changes, read at places into memory that the caller gives: past the page cache where that is
possible, which the lists of an index would only wash out.
"""

import errno
import fcntl
import os
import weakref
from pathlib import Path
from typing import Final

from shared.errors import StoreCorrupt, StoreError

PAGE: Final = 4096
"""Bytes. Places, lengths and memory of reads past the page cache are multiples of a disk's block, which this is."""


_DIRECT = getattr(os, "O_DIRECT", 0)


def pages(start: int, length: int) -> tuple[int, int]:
    """The first byte and the length of the whole pages in which these bytes lie."""
    first = start // PAGE * PAGE
    return first, -(-(start + length - first) // PAGE) * PAGE


class ListFile:
    """Open while this object lives, also when the file is deleted or another takes its name. Safe for several threads.

    Raises StoreCorrupt where the file is not there, or not so many bytes long, StoreError where it cannot be opened.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        try:
            self._descriptor = _opened(path)
        except FileNotFoundError as error:
            raise StoreCorrupt(f"There is no {path}. Build the index again.") from error
        except OSError as error:
            raise self._unreadable(error) from error
        weakref.finalize(self, os.close, self._descriptor)
        self._is_direct = bool(_DIRECT)
        if os.fstat(self._descriptor).st_size != size:
            raise self._damaged()

    def read(self, memory: memoryview, first: int, length: int) -> None:
        """Fill the memory from byte `first` on: both whole pages, but for the file's end. `length` bytes have to come.

        Raises StoreCorrupt where the file was cut short, StoreError where the disk does not give it.
        """
        done = 0
        while done < length:
            was_direct = self._is_direct
            try:
                count = os.preadv(self._descriptor, [memory[done:]], first + done)
            except OSError as error:
                if error.errno == errno.EINVAL and was_direct:
                    self._read_buffered()
                    continue
                raise self._unreadable(error) from error
            if not count:
                raise self._damaged()
            done += count
            if was_direct and done < length and done % PAGE:  # such a read ends within a page at the file's end alone
                raise self._damaged()

    def _read_buffered(self) -> None:
        """Read through the page cache from now on."""
        flags = fcntl.fcntl(self._descriptor, fcntl.F_GETFL)
        fcntl.fcntl(self._descriptor, fcntl.F_SETFL, flags & ~_DIRECT)
        self._is_direct = False

    def _unreadable(self, error: OSError) -> StoreError:
        reason = (error.strerror or str(error)).lower()
        return StoreError(f"{self._path} cannot be read ({reason}). Look at the disk.")

    def _damaged(self) -> StoreCorrupt:
        return StoreCorrupt(f"{self._path} is damaged or cut short. Build the index again.")


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | _DIRECT)
    except OSError:  # a file system in memory or on a network may not have it; some say so when they are read
        return os.open(path, os.O_RDONLY)
