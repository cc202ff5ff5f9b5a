"""Nearest-neighbour search in clusters: FAISS IVF with inner products, in float32 or float16, on memory that this
project manages.

The inverted lists are read from their file cluster by cluster, and the most used stay in memory, so that an index may
exceed it. The file is not mapped, as access to a truncated mapped file would kill the process. Independent of passages
and models.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import local
from typing import Any, Protocol

import numpy as np

from storage.cluster_cache import ClusterCache
from storage.ivf_files import Codes, Numbers, Vectors, faiss_with, inverted, read_clusters
from storage.list_file import PAGE, ListFile
from storage.nearest import Nearest

ITERATIONS = 10
"""The number of iterations of k-means.

Recall of the ten nearest was 0.982 with 10, 0.982 with 20 and 0.978 with 5 (40,000 overlapping vectors).
"""

MEMORY = 1_000_000_000
"""The default limit, in bytes, of inverted lists kept in memory."""

_LEAST_SEARCHED = 20_000


def clusters_for(vectors: int) -> int:
    """Return the number of clusters for a number of vectors."""
    return max(1, min(vectors, round(4 * math.sqrt(vectors))))


def probes_for(clusters: int, vectors: int) -> int:
    """Return the default number of clusters that a search scans: four times the square root of their number (TeleRAG,
    section 5.1).

    That was chosen for millions of vectors, and would miss passages of a small index for little gain. At least 20,000
    vectors are therefore scanned, in about 3 ms: of 10,000 passages, the right one was among the first five for 0.986
    of the questions instead of 0.978.
    """
    enough = math.ceil(_LEAST_SEARCHED * clusters / max(vectors, 1))
    return max(1, min(clusters, max(round(4 * math.sqrt(clusters)), enough)))


def train(
    sample: Vectors, clusters: int, *, threads: int, on_iteration: Callable[[int, int], None] = lambda _i, _n: None
) -> Vectors:
    """Train k-means on unit vectors, with a fixed seed. Return the centroids as unit vectors, shape (clusters,
    dimensions), in the order of `in_a_row`.
    """
    faiss = faiss_with(threads)
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
    return in_a_row(centroids)


def in_a_row(centroids: Vectors) -> Vectors:
    """Return the centroids in an order in which the most similar one of those that are left follows each.

    The clusters lie in the file in this order, so that many of those that a question needs are neighbours there, and
    few reads bring them: half as many, of 1,789 clusters around real passages.
    """
    order = [0]
    left = np.ones(len(centroids), np.bool_)
    left[0] = False
    for _ in range(len(centroids) - 1):
        order.append(int(np.argmax(np.where(left, centroids @ centroids[order[-1]], -np.inf))))
        left[order[-1]] = False
    return centroids[order]


class FastShare(Protocol):
    """The part of a search that a `FastTier` carries out."""

    @property
    def clusters(self) -> Collection[int]:
        """The clusters that the fast tier scans."""

    def candidates(self) -> Sequence[tuple[Codes, Numbers]]:
        """Return, for each vector of the search in order, the codes and numbers of the stored vectors that may be its
        nearest; an empty list if the tier scanned no cluster.
        """


class FastTier(Protocol):
    """A place, such as a GPU, that holds some clusters and scans them faster; its sums may differ slightly from
    FAISS's.
    """

    def begin(self, asking: Mapping[int, Sequence[int]], vectors: Vectors, k: int) -> AbstractContextManager[FastShare]:
        """Start a scan for the `k` nearest of each vector. `asking` maps each cluster to the positions in `vectors` for
        which it is probed; the tier scans those of these clusters that it holds.
        """


class Ivf:
    """An index of vectors in clusters, in a folder. Thread-safe.

    At most `memory` bytes of the inverted lists (the vectors of each cluster) stay in memory. An open index stays
    searchable after its files are deleted. Raises StoreCorrupt if the files are damaged.
    """

    def __init__(
        self, folder: Path, memory: int = MEMORY, open_file: Callable[[Path, int], ListFile] = ListFile
    ) -> None:
        faiss = faiss_with()
        self.files = read_clusters(folder)
        self.centroids, self._layout = self.files.centroids, self.files.layout
        self.file = open_file(self.files.lists, self._layout.bytes)
        # Each list takes whole pages, so that two more pages per cluster are always enough.
        most = self._layout.bytes + 2 * PAGE * self.clusters
        self.cache = ClusterCache(self.file, self._layout.extent, min(memory, most))
        self._index = inverted(self.files)
        self._quantizer = self._index.quantizer
        self._scanners = local()
        self._single = faiss.omp_set_num_threads

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @property
    def sizes(self) -> Numbers:
        """The number of vectors in each cluster, shape (clusters,)."""
        return self._layout.sizes

    @property
    def clusters(self) -> int:
        """The number of clusters."""
        return len(self.centroids)

    @property
    def dimensions(self) -> int:
        """The number of dimensions of a vector."""
        return int(self.centroids.shape[1])

    def probe(self, vector: Vectors, nprobe: int) -> Numbers:
        """Return the `nprobe` clusters with the centroids nearest to the vector, best first; all clusters if there are
        fewer.
        """
        self._single(1)  # set per calling thread: a team of threads for each of many searches is slower than none
        clusters: Numbers = self._quantizer.search(vector[None], min(nprobe, self.clusters))[1][0]
        return clusters

    def present(self, clusters: Numbers) -> list[int]:
        """Return the given clusters, in their order, without empty ones and without the negative numbers by which FAISS
        marks missing results.
        """
        return [cluster for cluster in clusters.tolist() if cluster >= 0 and self.sizes[cluster]]

    def bytes_of(self, cluster: int) -> int:
        """Return the bytes of a cluster on disk."""
        return self._layout.extent(cluster)[1]

    def scan(self, clusters: Numbers, vector: Vectors, k: int) -> tuple[Numbers, Vectors]:
        """Return the numbers of the `k` nearest vectors in the given clusters (of all, if there are fewer) and their
        inner products with `vector`, best first.

        Scans the clusters in the given order, so that ties are resolved as in FAISS. Raises StoreCorrupt if the file
        was truncated since it was opened, StoreError if it cannot be read.
        """
        nearest = Nearest(vector, k)
        for cluster, data in self.cache.read(self.present(clusters)):
            nearest.scan(self._scanner(), *self._layout.parts(cluster, data), cluster)
            del data  # the cluster's memory may be reused before the next one comes
        return nearest.ranked()

    def scan_many(
        self, probed: Sequence[Numbers], vectors: Vectors, k: int, fast: FastTier | None = None
    ) -> list[tuple[Numbers, Vectors]]:
        """Search for several vectors, shape (questions, dimensions), each as `scan` does in its own probed clusters.

        A cluster is read once and scanned for all questions that probe it, clusters in memory first. The order of
        clusters matters only if a tie decides the last of the `k`: that question is scanned again in its own order.
        Meanwhile `fast` scans the clusters that it holds; its candidates are scored here, so that the results are the
        same.
        """
        every = [Nearest(vector, k + 1) for vector in vectors]
        asking: dict[int, list[int]] = {}
        for place, clusters in enumerate(probed):
            for cluster in self.present(clusters):
                asking.setdefault(cluster, []).append(place)
        with fast.begin(asking, vectors, k + 1) if fast else nullcontext() as share:
            elsewhere = frozenset(share.clusters if share else ())
            for cluster, data in self.cache.read_any(cluster for cluster in asking if cluster not in elsewhere):
                for place in asking[cluster]:
                    every[place].scan(self._scanner(), *self._layout.parts(cluster, data), cluster)
                del data  # the cluster's memory may be reused before the next one comes
            if share and elsewhere:
                for nearest, (codes, numbers) in zip(every, share.candidates(), strict=True):
                    nearest.scan(self._scanner(), codes, numbers)
        return [
            self.scan(clusters, vector, k) if nearest.is_tied() else nearest.ranked(k)
            for clusters, vector, nearest in zip(probed, vectors, every, strict=True)
        ]

    def scan_ready(self, clusters: Numbers, vector: Vectors, k: int) -> tuple[Numbers, Vectors]:
        """Search as `scan` does, but only in the clusters that are in memory, without reading any."""
        nearest = Nearest(vector, k)
        for cluster, data in self.cache.ready(self.present(clusters)):
            nearest.scan(self._scanner(), *self._layout.parts(cluster, data), cluster)
            del data
        return nearest.ranked()

    def rank(self, codes: Codes, numbers: Numbers, vector: Vectors, k: int) -> tuple[Numbers, Vectors]:
        """Return the `k` nearest of the given stored vectors as `scan` does, scanned in the given order."""
        nearest = Nearest(vector, k)
        nearest.scan(self._scanner(), codes, numbers)
        return nearest.ranked()

    def _scanner(self) -> Any:
        """Return this thread's FAISS scanner. It is kept and reused, as FAISS never frees the scanners that it
        creates.
        """
        if not hasattr(self._scanners, "scanner"):
            self._scanners.scanner = self._index.get_InvertedListScanner(False, None, None)
        return self._scanners.scanner
