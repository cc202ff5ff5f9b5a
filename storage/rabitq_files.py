"""The file of an index's RaBitQ codes, about 60 bytes per vector of 384 dimensions. The whole file is held in memory.

The codes are computed from the finished inverted lists, so that they always match them.
"""

import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

from shared.errors import StoreCorrupt, StoreError, UsageError
from storage.arena import pages_of_memory
from storage.durable import emptied
from storage.ivf_files import Clusters, Codes, Numbers, Vectors, faiss_with
from storage.list_file import ListFile, pages
from storage.private import to_be_written

CODES = "vectors.codes"

_HEAD = struct.Struct("<8sQQQ")
"""The format of the file's head: magic bytes, number of vectors, bytes per code, and a CRC-32 of the rest. The rest is
the codes by cluster, then the vectors' numbers.
"""

_MAGIC = b"jdrabq01"
_NUMBER = np.dtype("<u4")
"""The format of a vector's number: 32 bits, the part of a passage's id that is reserved for the number."""

_QUERY_BITS: Final = 4
"""Bits per component of a quantized query. With 8 bits, the best 100 candidates contained no more of the ten nearest
vectors.
"""


@dataclass(frozen=True)
class RabitqCodes:
    """An index's codes, shape (vectors, bytes per code), in the order of clusters and lists, and the vectors' numbers.

    `bytes` is the memory that both take.
    """

    codes: Codes
    numbers: Numbers
    bytes: int


def rabitq_index(held: Clusters) -> Any:
    """Return a FAISS index of RaBitQ codes with the given clusters and empty lists."""
    faiss = faiss_with()
    clusters, dimensions = held.centroids.shape
    quantizer = faiss.IndexFlatIP(dimensions)
    quantizer.add(held.centroids)
    index = faiss.IndexIVFRaBitQ(quantizer, dimensions, clusters, faiss.METRIC_INNER_PRODUCT)
    index.is_trained = True  # nothing to train: the clusters exist
    index.qb = _QUERY_BITS
    return index


def codes_bytes(held: Clusters) -> int:
    """Return the bytes of the clusters' codes, the same on disk and in memory."""
    return _HEAD.size + len(held) * (_code_bytes(held) + _NUMBER.itemsize)


def _code_bytes(held: Clusters) -> int:
    faiss = faiss_with()
    return int(faiss.RaBitQuantizer(held.centroids.shape[1], faiss.METRIC_INNER_PRODUCT).code_size)


def memory_missing(needed: int, memory: int, sharing: int = 1) -> str:
    """Return a sentence for the user if codes of `needed` bytes in each of `sharing` processes exceed `memory`, else an
    empty string.
    """
    whole = needed * sharing
    if whole <= memory:
        return ""
    each = f" ({needed / 1e6:,.1f} MB in each of {sharing} processes)" if sharing > 1 else ""
    return (
        f"The codes of the index (codec rabitq) need {whole / 1e6:,.1f} MB of memory{each}, and retrieval.memory_mb is "
        f"{memory / 1e6:,.1f}. Set it to {-(-whole // 1_000_000):,} at least, or build the index with --codec f16."
    )


def write_codes(held: Clusters, threads: int, on_progress: Callable[[int], None] = lambda _: None) -> None:
    """Write the codes of all vectors in the lists and wait until they are on disk. `on_progress` gets the number of
    vectors done.

    Raises NotWritable, and StoreCorrupt if the lists are truncated.
    """
    faiss_with(threads)
    index, file = rabitq_index(held), held.lists.with_name(CODES)
    numbers = np.empty(len(held), _NUMBER)
    check = done = 0
    with to_be_written(f"write {file}"), emptied(file) as stream, held.lists.open("rb") as lists:
        stream.write(bytes(_HEAD.size))
        for cluster in np.flatnonzero(held.sizes).tolist():
            data = lists.read(held.layout.extent(cluster)[1])
            if len(data) != held.layout.extent(cluster)[1]:
                raise StoreCorrupt(f"{held.lists} was cut short. Build the index again.")
            halves, own = held.layout.parts(cluster, memoryview(data))
            codes = _encoded(index, halves.view("<f2").astype(np.float32).reshape(len(own), -1), cluster)
            check = crc32(codes.data, check)
            stream.write(codes.data)
            numbers[done : done + len(own)] = own
            on_progress(done := done + len(own))
        stream.write(numbers.data)
        stream.seek(0)
        stream.write(_HEAD.pack(_MAGIC, len(held), index.code_size, crc32(numbers.data, check)))
        stream.flush()
        os.fsync(stream.fileno())


def _encoded(index: Any, vectors: Vectors, cluster: int) -> Codes:
    """Return the RaBitQ codes of the vectors' differences from the cluster's centroid."""
    faiss = faiss_with()
    codes = np.empty((len(vectors), index.code_size), np.uint8)
    clusters = np.full(len(vectors), cluster, np.int64)
    index.encode_vectors(len(vectors), *map(faiss.swig_ptr, (vectors, clusters, codes)))
    return codes


def read_codes(held: Clusters, memory: int) -> RabitqCodes:
    """Read the clusters' codes into memory.

    Raises UsageError if they need more than `memory` bytes, StoreCorrupt if the file is damaged or belongs to other
    lists, StoreError if it cannot be read or the machine has too little memory.
    """
    path, needed = held.lists.with_name(CODES), codes_bytes(held)
    if missing := memory_missing(needed, memory):
        raise UsageError(missing)
    file = ListFile(path, needed)
    data = _memory(path, pages(0, needed)[1])
    file.read([data], 0, needed)
    magic, vectors, code_bytes, check = _HEAD.unpack_from(data)
    is_whole = check == crc32(data[_HEAD.size : needed])
    if not is_whole or (magic, vectors, code_bytes) != (_MAGIC, len(held), _code_bytes(held)):
        raise StoreCorrupt(f"{path} is damaged or belongs to other lists. Build the index again.")
    codes = np.frombuffer(data, np.uint8, vectors * code_bytes, _HEAD.size).reshape(vectors, code_bytes)
    return RabitqCodes(codes, np.frombuffer(data, _NUMBER, vectors, _HEAD.size + codes.nbytes), needed)


def _memory(path: Path, size: int) -> memoryview:
    try:
        return memoryview(pages_of_memory(size))
    except StoreError as error:
        raise StoreError(
            f"There is no memory for the {size:,} bytes of {path}. Free some memory and restart the server, or build "
            "the index again with --codec f16."
        ) from error
