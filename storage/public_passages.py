"""The texts of public passages by number, in files that never change. Knows no vector and no search.

A file is a count, where each passage ends, and the passages one after the other. Mapped, one read looks at two places,
and the memory held is the kernel's to take back. A third of the time that SQLite takes for the same rows.
"""

import mmap
import struct
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from shared.errors import StoreCorrupt
from storage.durable import write_durably

_HEAD = struct.Struct("<8sQ")
_MAGIC = b"jdpass01"
_END = struct.Struct("<Q")


class PassageText(NamedTuple):
    """A passage as it is kept: its document's title, where it comes from, and its text."""

    title: str
    path: str
    text: str


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PassageText)


def write_passages(file: Path, passages: Sequence[PassageText]) -> None:
    """Write a file of passages and wait until the disk has it. Raises NotWritable."""
    parts = [_encoder.encode(passage) for passage in passages]
    ends = np.fromiter(accumulate(map(len, parts)), "<u8", len(parts))
    write_durably(file, [_HEAD.pack(_MAGIC, len(parts)), ends.tobytes(), *parts])


class PassageFiles:
    """Passages of several files, numbered on from file to file. Safe for several threads.

    What is open stays readable when its files are deleted. Raises StoreCorrupt for a file that is not whole, also where
    it is cut short later: what is missing of a mapped file ends the process when it is looked at.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._maps = [_mapped(file) for file in files]
        self._starts = [0, *accumulate(_count(rows) for rows in self._maps)]

    def __len__(self) -> int:
        return self._starts[-1]

    def read(self, number: int) -> PassageText | None:
        """The passage of this number; None where there is none."""
        if not 0 <= number < len(self):
            return None
        file = bisect_right(self._starts, number) - 1
        data, row = self._maps[file], number - self._starts[file]
        if data.size() != len(data):
            raise StoreCorrupt("A file of the index was cut short. Build the index again.")
        first = _HEAD.size + _count(data) * _END.size
        place = _HEAD.size + row * _END.size
        begin = _END.unpack_from(data, place - _END.size)[0] if row else 0
        return _decoder.decode(data[first + begin : first + _END.unpack_from(data, place)[0]])


def _mapped(file: Path) -> mmap.mmap:
    try:
        with file.open("rb") as stream:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # the latter for an empty file
        raise StoreCorrupt(f"{file} cannot be read ({error}). Build the index again.") from error
    if len(data) < _HEAD.size or data[:8] != _MAGIC or len(data) != _size(data):
        raise StoreCorrupt(f"{file} is damaged or cut short. Build the index again.")
    return data


def _count(data: mmap.mmap) -> int:
    count: int = _HEAD.unpack_from(data)[1]
    return count


def _size(data: mmap.mmap) -> int:
    """How long the file has to be, by its own account."""
    count = _count(data)
    texts = _HEAD.size + count * _END.size
    if not count or texts > len(data):
        return texts
    end: int = _END.unpack_from(data, texts - _END.size)[0]
    return texts + end
