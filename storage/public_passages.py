"""The texts of public passages by number, in immutable files. Independent of vectors and search.

A file has a count, the end offset of each passage, and the passages: reading a passage takes two reads, and caching is
left to the kernel. Files are not mapped, as access to a truncated mapped file would kill the process.
"""

import os
import struct
import weakref
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from shared.errors import StoreCorrupt, StoreError
from storage.durable import write_durably

_HEAD = struct.Struct("<8sQ")
_MAGIC = b"jdpass01"
_END = struct.Struct("<Q")


class PassageText(NamedTuple):
    """A stored passage: its document's title, its path, and its text."""

    title: str
    path: str
    text: str


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PassageText)


def write_passages(file: Path, passages: Sequence[PassageText]) -> None:
    """Write a file of passages and wait until it is on disk. Raises NotWritable."""
    parts = [_encoder.encode(passage) for passage in passages]
    ends = np.fromiter(accumulate(map(len, parts)), "<u8", len(parts))
    write_durably(file, [_HEAD.pack(_MAGIC, len(parts)), ends.tobytes(), *parts])


class PassageFiles:
    """The passages of several files, numbered across files. Thread-safe.

    Open files stay readable after deletion. Raises StoreCorrupt for an incomplete file, even if it is truncated later.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = [_PassageFile(file) for file in files]
        self._starts = [0, *accumulate(len(file) for file in self._files)]

    def __len__(self) -> int:
        return self._starts[-1]

    def read(self, number: int) -> PassageText | None:
        """Return the passage with the given number; None if there is none. Raises StoreCorrupt, StoreError."""
        if not 0 <= number < len(self):
            return None
        file = bisect_right(self._starts, number) - 1
        return self._files[file].read(number - self._starts[file])


class _PassageFile:
    """One file of passages, open while this object lives."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise StoreCorrupt(f"{path} cannot be read ({error}). Build the index again.") from error
        weakref.finalize(self, os.close, self._descriptor)
        magic: bytes
        self._count: int
        magic, self._count = _HEAD.unpack(self._bytes(0, _HEAD.size))
        self._texts = _HEAD.size + self._count * _END.size
        self._size = os.fstat(self._descriptor).st_size
        if magic != _MAGIC or self._texts > self._size or self._texts + self._ends(self._count - 1)[1] != self._size:
            raise self._damaged()

    def __len__(self) -> int:
        return self._count

    def read(self, row: int) -> PassageText:
        first, end = self._ends(row)
        if not 0 <= first <= end <= self._size - self._texts:
            raise self._damaged()
        try:
            return _decoder.decode(self._bytes(self._texts + first, end - first))
        except msgspec.DecodeError:
            raise self._damaged() from None

    def _ends(self, row: int) -> tuple[int, int]:
        """Return the start and end offset of the passage in the file's texts."""
        if row < 1:
            return (0, 0) if row < 0 else (0, _END.unpack(self._bytes(_HEAD.size, _END.size))[0])
        both = self._bytes(_HEAD.size + (row - 1) * _END.size, 2 * _END.size)
        return _END.unpack_from(both)[0], _END.unpack_from(both, _END.size)[0]

    def _bytes(self, place: int, length: int) -> bytes:
        try:
            data = os.pread(self._descriptor, length, place)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StoreError(f"{self._path} cannot be read ({reason}). Check the disk for errors.") from error
        if len(data) != length:
            raise self._damaged()
        return data

    def _damaged(self) -> StoreCorrupt:
        return StoreCorrupt(f"{self._path} is damaged or cut short. Build the index again.")
