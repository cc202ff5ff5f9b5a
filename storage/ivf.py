"""Nearest vectors by clusters: FAISS IVF-Flat over inner products, its lists in a file of their own, opened mapped.

The file is written here, by counting and then placing, so that a million vectors pass through little memory; FAISS
maps it as its OnDiskInvertedLists. Vectors are numbered from 0 in the order they came. Knows no passage and no
model.
"""

import math
import os
import struct
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.errors import StoreCorrupt, UsageError
from storage.durable import emptied, settle, write_durably
from storage.paths import to_be_written

Vectors = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.integer[Any]]

CLUSTERS = "vectors.clusters"
LISTS = "vectors.lists"
ITERATIONS = 10
"""Of k-means: 20 found no more of the ten nearest, 5 fewer (.982, .982 and .978; 40,000 vectors that overlap)."""

_LEAST_SEARCHED = 20_000
_NUMBER = np.dtype("<i8")
_HEAD = struct.Struct("<8sQQ")
_MAGIC = b"jdclus01"


def clusters_for(vectors: int) -> int:
    """How many clusters suit so many vectors."""
    return max(1, min(vectors, round(4 * math.sqrt(vectors))))


def probes_for(clusters: int, vectors: int) -> int:
    """How many of them are searched where nobody says: four times the root (TeleRAG, section 5.1).

    That was chosen for millions. Of a small index it leaves out passages for nothing, so that at least 20,000 vectors
    are looked at, which takes some 3 ms: questions found the right one of 10,000 among five in .986, not .978.
    """
    enough = math.ceil(_LEAST_SEARCHED * clusters / max(vectors, 1))
    return max(1, min(clusters, max(round(4 * math.sqrt(clusters)), enough)))


def train(
    sample: Vectors, clusters: int, *, threads: int, on_iteration: Callable[[int, int], None] = lambda _i, _n: None
) -> Vectors:
    """Unit centroids, shape (clusters, dimensions), of a sample of unit vectors, by k-means. Always the same ones."""
    faiss = _faiss(threads)
    centroids: Vectors | None = None
    for iteration in range(ITERATIONS):
        # One iteration at a time: FAISS reports nothing while it trains.
        kmeans = faiss.Kmeans(
            sample.shape[1],
            clusters,
            niter=1,
            spherical=True,
            seed=1,
            min_points_per_centroid=1,
            max_points_per_centroid=len(sample),
        )
        kmeans.train(sample, init_centroids=centroids)
        centroids = kmeans.centroids
        on_iteration(iteration + 1, ITERATIONS)
    assert centroids is not None
    return centroids


class Ivf:
    """Vectors in clusters, as they lie in a folder. Safe for several threads.

    What is open stays searchable when its files are deleted. Raises StoreCorrupt where they are damaged.
    """

    def __init__(self, folder: Path) -> None:
        faiss = _faiss()
        self.file = folder / LISTS
        self.centroids, self.sizes = _read_clusters(folder / CLUSTERS)
        clusters, dimensions = self.centroids.shape
        layout = Layout(self.sizes, dimensions)
        try:
            self._descriptor, self._bytes = os.open(self.file, os.O_RDONLY), layout.bytes
        except OSError as error:
            raise StoreCorrupt(f"{self.file} cannot be read ({error}). Build the index again.") from error
        weakref.finalize(self, os.close, self._descriptor)
        self._check()
        self._lists = faiss.OnDiskInvertedLists(clusters, layout.vector_bytes, str(self.file))
        self._lists.lists.clear()
        entry = faiss.OnDiskOneList()
        for entry.size, entry.offset in zip(self.sizes.tolist(), layout.starts.tolist(), strict=True):
            entry.capacity = entry.size
            self._lists.lists.push_back(entry)
        self._lists.totsize, self._lists.read_only = layout.bytes, True
        try:
            if layout.bytes:
                self._lists.do_mmap()
        except RuntimeError as error:  # another process deleted it meanwhile
            raise StoreCorrupt(f"{self.file} cannot be mapped. Build the index again.") from error
        # FAISS would start threads for every search, which read ahead what the page cache mostly has.
        self._lists.prefetch_nthread = 0
        self._quantizer = faiss.IndexFlatIP(dimensions)
        self._quantizer.add(self.centroids)
        self._index = faiss.IndexIVFFlat(self._quantizer, dimensions, clusters, faiss.METRIC_INNER_PRODUCT)
        self._index.replace_invlists(self._lists, False)
        self._index.ntotal = int(self.sizes.sum())
        self._parameters, self._pointer = faiss.SearchParametersIVF, faiss.swig_ptr
        self._single = faiss.omp_set_num_threads

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def clusters(self) -> int:
        """How many there are."""
        return len(self.centroids)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.centroids.shape[1])

    def probe(self, vector: Vectors, nprobe: int) -> Numbers:
        """The `nprobe` clusters whose centroids are nearest to the vector, or all where there are fewer, best first."""
        self._single(1)  # per calling thread: a team of threads for each of many searches is slower than none
        clusters: Numbers = self._quantizer.search(vector[None], min(nprobe, self.clusters))[1][0]
        return clusters

    def scan(self, clusters: Numbers, vector: Vectors, k: int) -> tuple[Numbers, Vectors]:
        """Numbers and inner products of the `k` nearest vectors in these clusters, best first; fewer where fewer are.

        Raises StoreCorrupt where the file was cut short since it was opened.
        """
        self._check()
        self._single(1)
        products, numbers = np.empty((1, k), np.float32), np.empty((1, k), np.int64)
        probed = np.ascontiguousarray(clusters, np.int64)
        distances = np.zeros(len(probed), np.float32)  # to the centroids: IVF-Flat has no use for them
        query = np.ascontiguousarray(vector, np.float32)
        # FAISS's own wrapper of this takes nprobe from the index, which other threads search meanwhile.
        arrays = map(self._pointer, (probed, distances, products, numbers))
        parameters = self._parameters(nprobe=len(probed))
        if probed.size:  # FAISS refuses none
            self._index.search_preassigned_c(1, self._pointer(query), k, *arrays, False, parameters)
        else:
            numbers.fill(-1)
        is_hit = numbers[0] >= 0
        return numbers[0][is_hit], products[0][is_hit]

    def _check(self) -> None:
        """What is missing of a mapped file ends the process when it is looked at."""
        if os.fstat(self._descriptor).st_size != self._bytes:
            raise StoreCorrupt(f"{self.file} is damaged or cut short. Build the index again.")


def write(
    folder: Path,
    centroids: Vectors,
    blocks: Sequence[Callable[[], Vectors]],
    *,
    base: Ivf | None = None,
    threads: int,
    on_progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Write the clusters of the vectors that the blocks give, each called twice, after those of `base`.

    `on_progress` gets the vectors that are done, every one counted twice. Raises NotWritable.
    """
    faiss = _faiss(threads)
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
        placing = _Placing(stream.fileno(), counts, centroids.shape[1], base)
        for block, clusters in zip(blocks, assigned, strict=True):
            placing.add(block(), clusters)
            on_progress(done := done + len(clusters))
        os.fsync(stream.fileno())
    _write_clusters(folder / CLUSTERS, centroids, placing.layout.sizes)
    settle(folder)


@dataclass(frozen=True)
class Layout:
    """Where each cluster lies in the file of the lists: all its vectors, then all its numbers."""

    sizes: Numbers
    dimensions: int

    @property
    def vector_bytes(self) -> int:
        """Of one vector."""
        return self.dimensions * 4

    @cached_property
    def starts(self) -> Numbers:
        """First byte of each cluster, shape (clusters,)."""
        ends = np.cumsum(self.sizes * (self.vector_bytes + _NUMBER.itemsize))
        return np.concatenate([[0], ends[:-1]])

    @property
    def bytes(self) -> int:
        """Of the file."""
        return int(self.sizes.sum()) * (self.vector_bytes + _NUMBER.itemsize)

    def vector(self, cluster: int, row: int) -> int:
        """First byte of a vector."""
        return int(self.starts[cluster]) + row * self.vector_bytes

    def number(self, cluster: int, row: int) -> int:
        """First byte of a vector's number."""
        return self.vector(cluster, int(self.sizes[cluster])) + row * _NUMBER.itemsize


class _Placing:
    """The file of the lists while it is filled."""

    def __init__(self, descriptor: int, counts: Numbers, dimensions: int, base: Ivf | None) -> None:
        self._descriptor = descriptor
        self._filled = base.sizes.copy() if base else np.zeros_like(counts)
        self._next = len(base) if base else 0
        self.layout = Layout(self._filled + counts, dimensions)
        if self.layout.bytes and hasattr(os, "posix_fallocate"):  # a disk that is too small says so now
            os.posix_fallocate(descriptor, 0, self.layout.bytes)
        if base:
            self._copy(base.file, Layout(base.sizes, dimensions))

    def add(self, vectors: Vectors, clusters: Numbers) -> None:
        """Place the vectors that come next, in these clusters."""
        order = np.argsort(clusters, kind="stable")
        vectors, numbers = vectors[order], (self._next + order).astype(_NUMBER)
        present, firsts = np.unique(clusters[order], return_index=True)
        stops = [*firsts[1:].tolist(), len(order)]
        for cluster, first, stop in zip(present.tolist(), firsts.tolist(), stops, strict=True):
            row = int(self._filled[cluster])
            self._put(vectors[first:stop].data, self.layout.vector(cluster, row))
            self._put(numbers[first:stop].data, self.layout.number(cluster, row))
        self._filled += np.bincount(clusters, minlength=len(self._filled))
        self._next += len(order)

    def _copy(self, file: Path, old: Layout) -> None:
        with file.open("rb") as stream:
            for cluster, size in enumerate(old.sizes.tolist()):
                if size:
                    self._put(memoryview(stream.read(size * old.vector_bytes)), self.layout.vector(cluster, 0))
                    self._put(memoryview(stream.read(size * _NUMBER.itemsize)), self.layout.number(cluster, 0))

    def _put(self, data: memoryview, place: int) -> None:
        rest = data.cast("B")
        while rest:
            written = os.pwrite(self._descriptor, rest, place)
            rest, place = rest[written:], place + written


def _write_clusters(file: Path, centroids: Vectors, sizes: Numbers) -> None:
    head = _HEAD.pack(_MAGIC, *centroids.shape)
    write_durably(file, [head, sizes.astype(_NUMBER).tobytes(), centroids.astype("<f4").tobytes()])


def _read_clusters(file: Path) -> tuple[Vectors, Numbers]:
    try:
        data = file.read_bytes()
        magic, clusters, dimensions = _HEAD.unpack_from(data)
        sizes = np.frombuffer(data, _NUMBER, clusters, _HEAD.size).astype(np.int64)
        centroids = np.frombuffer(data, "<f4", offset=_HEAD.size + sizes.nbytes).reshape(clusters, dimensions)
    except (OSError, ValueError, struct.error) as error:
        raise StoreCorrupt(f"{file} cannot be read ({error}). Build the index again.") from error
    if magic != _MAGIC or not clusters:
        raise StoreCorrupt(f"{file} is no file of clusters. Build the index again.")
    return np.ascontiguousarray(centroids, np.float32), sizes


def _faiss(threads: int = 0) -> Any:
    """FAISS, which computes with so many threads for whoever calls; 0 leaves it as it is."""
    try:
        import faiss
    except ImportError:
        raise UsageError("The public corpus needs FAISS. Install it with: pip install 'jackdaw[server]'") from None
    if threads:
        faiss.omp_set_num_threads(threads)
    return faiss
