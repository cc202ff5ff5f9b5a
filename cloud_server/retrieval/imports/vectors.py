"""Reads vectors from npy files and FAISS indexes, in blocks of rows. Nothing is unpickled."""

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cloud_server.retrieval.shards import Vectors
from shared.errors import UsageError
from storage.ivf_files import faiss_with

ROWS = 8192
"""Rows read at a time: 12.6 MB at 384 dimensions."""

NPY = b"\x93NUMPY"

_FLAT = {b"IxFI": "IndexFlatIP", b"IxF2": "IndexFlatL2", b"IxFl": "IndexFlat"}
_GRAPH = {b"IHNf": "IndexHNSWFlat"}
_MAPPED = {b"IxMp": "IndexIDMap", b"IxM2": "IndexIDMap2"}
_CLUSTERED = {b"IwFl": "IndexIVFFlat"}
FAISS = _FLAT | _GRAPH | _MAPPED | _CLUSTERED
"""The kinds of FAISS index files that hold every vector in full, by their first four bytes."""

PLAIN = (NPY[:4], *_FLAT)
"""The first four bytes of each kind of file that holds plain vectors, one after the other."""


class VectorSource(Protocol):
    """Vectors in files, numbered from 0 across the files."""

    @property
    def files(self) -> Sequence[Path]:
        """The files, in order."""

    @property
    def count(self) -> int:
        """The number of vectors."""

    @property
    def dimensions(self) -> int:
        """The number of dimensions of a vector."""

    @property
    def form(self) -> str:
        """A description of how the files are read; a resumed import has to read them in the same way."""

    def blocks(self, start: int) -> Iterator[Vectors]:
        """Yield the vectors from row `start` on, shape (rows, dimensions), unchecked. Raises UsageError."""


@dataclass(frozen=True, slots=True)
class _Array:
    """The array in an npy file: its shape, its number type, and the byte offset of its data."""

    file: Path
    rows: int
    dimensions: int
    dtype: np.dtype[Any]
    first: int

    def blocks(self, start: int) -> Iterator[Vectors]:
        width = self.dimensions * self.dtype.itemsize
        with self.file.open("rb") as stream:
            stream.seek(self.first + start * width)
            for row in range(start, self.rows, ROWS):
                count = min(ROWS, self.rows - row) * self.dimensions
                values = np.fromfile(stream, self.dtype, count)
                if len(values) != count:
                    raise UsageError(f"{self.file} was cut short while it was read. Write it again.")
                yield single(values).reshape(-1, self.dimensions)


class PlainFiles:
    """Vectors stored one after the other in npy files or flat FAISS indexes. Implements `VectorSource`."""

    def __init__(self, files: Sequence[Path]) -> None:
        """Read the headers. Raises UsageError for a file that is not a plain and complete array of floats."""
        self._arrays = [_flat(file) if _head(file) in _FLAT else _array(file) for file in files]
        self.files = files
        self.form = "plain"
        self.count = sum(array.rows for array in self._arrays)
        self.dimensions = self._arrays[0].dimensions
        for array in self._arrays:
            if array.dimensions != self.dimensions:
                raise UsageError(
                    f"{array.file} has {array.dimensions:,} dimensions, and {files[0]} has {self.dimensions:,}. "
                    "One model has to make all vectors of an index: name one set of files."
                )

    def blocks(self, start: int) -> Iterator[Vectors]:
        """Yield the vectors from row `start` on. Raises UsageError."""
        for array in self._arrays:
            yield from array.blocks(min(start, array.rows))
            start = max(0, start - array.rows)


def _array(file: Path) -> _Array:
    with file.open("rb") as stream:
        try:
            if np.lib.format.read_magic(stream) != (1, 0):  # np.save writes another version for odd types alone
                raise _refused(file, "it is not a plain array of floats")
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
        except ValueError as error:
            raise _refused(file, f"its header cannot be read ({str(error).splitlines()[0]})") from error
        first, size = stream.tell(), os.fstat(stream.fileno()).st_size
    if dtype.kind != "f" or dtype.itemsize not in (2, 4, 8):
        raise _refused(file, f"it holds {'objects' if dtype.hasobject else dtype.name}, not floats")
    if len(shape) != 2 or not shape[1] or min(shape) < 0:
        raise _refused(file, f"its shape is {shape}, not (vectors, dimensions)")
    if by_columns and min(shape) > 1:
        raise _refused(file, "its numbers are stored column by column (Fortran order)")
    if first + shape[0] * shape[1] * dtype.itemsize != size:
        raise _refused(
            file,
            f"its header says {shape[0]:,} vectors of {shape[1]:,} dimensions, and it has {size - first:,} bytes",
        )
    return _Array(file, *shape, dtype, first)


class FaissFile:
    """The vectors in a FAISS index with ids, clusters or a graph, if the index holds them in full. Implements
    `VectorSource`.

    FAISS reads the file: it memory-maps clusters, and loads the other kinds into memory.
    """

    def __init__(self, file: Path) -> None:
        """Open the index. Raises UsageError if the exact vectors cannot be read from it."""
        self._faiss = faiss_with()
        self.files = (file,)
        self.form = _kind(file)
        try:
            is_clustered = self.form in _CLUSTERED.values()
            mapped = self._faiss.IO_FLAG_MMAP | self._faiss.IO_FLAG_READ_ONLY
            self._index = self._faiss.read_index(str(file), mapped if is_clustered else 0)
            self._order = self._numbers()
        except (RuntimeError, MemoryError) as error:
            reason = str(error).rpartition(": ")[2].splitlines() or ["no memory"]
            raise UsageError(
                f"{file} cannot be read by FAISS ({reason[0]}). Write it again, or import the vectors it was made from."
            ) from error
        self.count, self.dimensions = self._index.ntotal, self._index.d

    def blocks(self, start: int) -> Iterator[Vectors]:
        """Yield the vectors from number `start` on. Raises UsageError."""
        for first in range(start, self.count, ROWS):
            numbers = np.arange(first, min(first + ROWS, self.count))
            try:
                yield self._index.reconstruct_batch(numbers if self._order is None else self._order[numbers])
            except RuntimeError as error:
                raise UsageError(f"{self.files[0]} does not hold vectors {first:,} to {numbers[-1]:,}.") from error

    def _numbers(self) -> "np.ndarray[Any, np.dtype[np.int64]] | None":
        """If the index has its own ids, return the position of each id; otherwise None. Raises UsageError."""
        if self.form in _CLUSTERED.values():
            self._index.make_direct_map()  # raises RuntimeError for numbers that are not 0 to n-1
            return None
        if self.form not in _MAPPED.values():
            return None
        numbers = self._faiss.vector_to_array(self._index.id_map)
        inner = self._faiss.downcast_index(self._index.index)
        if type(inner).__name__ not in {*_FLAT.values(), *_GRAPH.values()}:
            raise compressed(self.files[0], type(inner).__name__)
        order: np.ndarray[Any, np.dtype[np.int64]] = np.argsort(numbers, kind="stable")
        if not np.array_equal(numbers[order], np.arange(len(numbers))):
            raise UsageError(
                f"The ids in {self.files[0]} are not 0 to {len(numbers) - 1:,}, so nothing says which text belongs "
                "to which vector. Import the vectors as npy, in the order of their texts."
            )
        self._outer, self._index = self._index, inner  # the inner one lives as long as the outer
        return order


_FLAT_HEAD = struct.Struct("<4siqqq?i")
_COUNT = struct.Struct("<Q")
_ARGUMENT = 4  # bytes of a metric's argument, which inner products and L2 have none of


def _flat(file: Path) -> _Array:
    """Return the array in a flat FAISS index, which FAISS itself would load into memory. Raises UsageError."""
    with file.open("rb") as stream:
        head = stream.read(_FLAT_HEAD.size + _ARGUMENT + _COUNT.size)
        size = os.fstat(stream.fileno()).st_size
    try:
        _, dimensions, rows, _, _, _, metric = _FLAT_HEAD.unpack_from(head)
        place = _FLAT_HEAD.size + (_ARGUMENT if metric > 1 else 0)
        (values,) = _COUNT.unpack_from(head, place)
    except struct.error as error:
        raise _refused(file, "it was cut short") from error
    first = place + _COUNT.size
    if rows < 0 or dimensions < 1 or values != rows * dimensions or first + 4 * values != size:
        raise _refused(
            file, f"its header says {rows:,} vectors of {dimensions:,} dimensions, and it has {size - first:,} bytes"
        )
    return _Array(file, rows, dimensions, np.dtype("<f4"), first)


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(4)


def _kind(file: Path) -> str:
    """Return the kind of index in a file, after checking that the file's size fits its header. Raises UsageError."""
    with file.open("rb") as stream:
        head = stream.read(16)
        size = os.fstat(stream.fileno()).st_size
    kind = FAISS.get(head[:4])
    if kind is None:
        raise compressed(file, head[:4].decode("ascii", "replace"))
    dimensions, count = int.from_bytes(head[4:8], "little"), int.from_bytes(head[8:16], "little")
    if not dimensions or dimensions * count * 4 > size:
        raise _refused(
            file, f"its header says {count:,} vectors of {dimensions:,} dimensions, and it has {size:,} bytes"
        )
    return kind


def compressed(file: Path, kind: str) -> UsageError:
    """Return an error for an index that does not hold its vectors in full."""
    return UsageError(
        f"{file} is an index ({kind}) that does not hold its vectors in full, so the exact vectors are lost. "
        f"Import the vectors it was made from, as npy or parquet. These can be imported: {', '.join(FAISS.values())}."
    )


def _refused(file: Path, reason: str) -> UsageError:
    return UsageError(f"{file} cannot be imported: {reason}. Save it with numpy.save(file, vectors.astype('float32')).")


def single(values: "np.ndarray[Any, Any]") -> Vectors:
    """Convert numbers to float32. Numbers that are too large become infinite, and are refused later with their row."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(values, np.float32)
