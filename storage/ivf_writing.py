"""Writes the files of an index's vectors in two passes: the first counts each cluster's vectors, the second places
them, so that a million vectors need little memory. Vectors are numbered from 0 in the order of their arrival.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from shared.errors import StoreCorrupt
from storage.durable import emptied, settle
from storage.ivf_files import (
    CLUSTERS,
    LISTS,
    NUMBER,
    Clusters,
    Codec,
    Layout,
    Numbers,
    Vectors,
    encoded,
    faiss_with,
    write_clusters,
)
from storage.list_file import ListFile
from storage.private import to_be_written
from storage.rabitq_files import write_codes


def write(
    folder: Path,
    centroids: Vectors,
    blocks: Sequence[Callable[[], Vectors]],
    *,
    base: Clusters | None = None,
    codec: Codec = "f16",
    threads: int,
    on_progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Write an index whose clusters hold the vectors of `base`, in its codec, and then those of the blocks.

    Each function in `blocks` is called twice, and has to return the same vectors both times. `on_progress` gets the
    number of vectors done: each of the blocks' vectors is counted twice, and if codes are written, each vector of the
    index once more. Raises NotWritable, and StoreCorrupt if the lists of `base` are truncated.
    """
    if base:
        ListFile(base.lists, base.layout.bytes)
        codec = base.codec
    layout = _write_lists(folder, centroids, blocks, base, codec, threads, on_progress)
    if codec == "rabitq":
        done = 2 * (int(layout.sizes.sum()) - (len(base) if base else 0))
        held = Clusters(folder / LISTS, centroids, layout.sizes, codec)
        write_codes(held, threads, lambda coded: on_progress(done + coded))
    write_clusters(folder / CLUSTERS, centroids, layout)
    settle(folder)


def _write_lists(
    folder: Path,
    centroids: Vectors,
    blocks: Sequence[Callable[[], Vectors]],
    base: Clusters | None,
    codec: Codec,
    threads: int,
    on_progress: Callable[[int], None],
) -> Layout:
    faiss = faiss_with(threads)
    quantizer = faiss.IndexFlatIP(centroids.shape[1])
    quantizer.add(centroids)
    done = 0
    assigned: list[Numbers] = []
    for block in blocks:
        vectors = block()
        assigned.append(quantizer.search(vectors, 1)[1][:, 0].astype(np.int32))
        on_progress(done := done + len(vectors))
    counts = np.zeros(len(centroids), np.int64)
    for clusters in assigned:
        counts += np.bincount(clusters, minlength=len(centroids))
    with to_be_written(f"write {folder / LISTS}"), emptied(folder / LISTS) as stream:
        placing = _Placing(stream.fileno(), counts, centroids.shape[1], base, codec)
        for block, clusters in zip(blocks, assigned, strict=True):
            placing.add(block(), clusters)
            on_progress(done := done + len(clusters))
        os.fsync(stream.fileno())
    return placing.layout


class _Placing:
    """The file of inverted lists, opened while vectors are written into it."""

    def __init__(self, descriptor: int, counts: Numbers, dimensions: int, base: Clusters | None, codec: Codec) -> None:
        self._descriptor = descriptor
        self._filled = base.sizes.copy() if base else np.zeros_like(counts)
        self._next = len(base) if base else 0
        self.layout = Layout(self._filled + counts, dimensions, codec)
        if self.layout.bytes and hasattr(os, "posix_fallocate"):  # fails at once if the disk is too small
            os.posix_fallocate(descriptor, 0, self.layout.bytes)
        if base:
            self._copy(base.lists, base.layout)

    def add(self, vectors: Vectors, clusters: Numbers) -> None:
        """Write the next vectors into the given clusters."""
        order = np.argsort(clusters, kind="stable")
        codes, numbers = encoded(vectors[order], self.layout.codec), (self._next + order).astype(NUMBER)
        present, firsts = np.unique(clusters[order], return_index=True)
        stops = [*firsts[1:].tolist(), len(order)]
        for cluster, first, stop in zip(present.tolist(), firsts.tolist(), stops, strict=True):
            row = int(self._filled[cluster])
            self._put(codes[first:stop].data, self.layout.vector(cluster, row))
            self._put(numbers[first:stop].data, self.layout.number(cluster, row))
        self._filled += np.bincount(clusters, minlength=len(self._filled))
        self._next += len(order)

    def _copy(self, file: Path, old: Layout) -> None:
        with file.open("rb") as stream:
            for cluster, size in enumerate(old.sizes.tolist()):
                vectors, numbers = stream.read(size * old.vector_bytes), stream.read(size * NUMBER.itemsize)
                if len(vectors) + len(numbers) != old.extent(cluster)[1]:
                    raise StoreCorrupt(f"{file} was cut short. Build the index again.")
                self._put(memoryview(vectors), self.layout.vector(cluster, 0))
                self._put(memoryview(numbers), self.layout.number(cluster, 0))

    def _put(self, data: memoryview, place: int) -> None:
        rest = data.cast("B")
        while rest:
            written = os.pwrite(self._descriptor, rest, place)
            rest, place = rest[written:], place + written
