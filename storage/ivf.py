"""Nearest vectors by clusters: FAISS IVF over inner products, in floats or halves, scanned by FAISS on memory of ours.

The lists are read from their file a cluster at a time, and the hottest stay in memory: an index may be far larger.
Nothing is mapped, as what is missing of a mapped file ends the process. Knows no passage and no model.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import local
from typing import Any, Protocol

import numpy as np

from storage.cluster_cache import ClusterCache
from storage.ivf_files import Codes, Layout, Numbers, Vectors, faiss_with, inverted, read_clusters
from storage.list_file import PAGE, ListFile

ITERATIONS = 10
"""Of k-means: 20 found no more of the ten nearest, 5 fewer (.982, .982 and .978; 40,000 vectors that overlap)."""

MEMORY = 1_000_000_000
"""Bytes of lists that stay in memory where nobody says."""

_LEAST_SEARCHED = 20_000


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
    return centroids


class FastShare(Protocol):
    """What a `FastTier` scans of a search, meanwhile."""

    @property
    def clusters(self) -> Collection[int]:
        """Those that it scans."""

    def candidates(self) -> Sequence[tuple[Codes, Numbers]]:
        """Of each question, the vectors with their numbers that may be among its nearest; none where it scans none."""


class FastTier(Protocol):
    """Holds clusters where they are scanned faster than in memory, if not as FAISS would."""

    def begin(self, asking: Mapping[int, Sequence[int]], vectors: Vectors, k: int) -> AbstractContextManager[FastShare]:
        """Scan those of the clusters that it holds, each for the vectors of these places."""


class Ivf:
    """Vectors in clusters, as they lie in a folder. Safe for several threads.

    At most `memory` bytes of the lists stay in memory. What is open stays searchable when its files are deleted. Raises
    StoreCorrupt where they are damaged.
    """

    def __init__(
        self, folder: Path, memory: int = MEMORY, open_file: Callable[[Path, int], ListFile] = ListFile
    ) -> None:
        faiss = faiss_with()
        self.files = read_clusters(folder)
        self.centroids, self._layout = self.files.centroids, self.files.layout
        file = open_file(self.files.lists, self._layout.bytes)
        # Each list lies in whole pages: of all of them, no more is ever needed.
        self.cache = ClusterCache(file, self._layout.extent, min(memory, self._layout.bytes + 2 * PAGE * self.clusters))
        self._index = inverted(self.files)
        self._quantizer = self._index.quantizer
        self._scanners = local()
        self._single = faiss.omp_set_num_threads

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @property
    def sizes(self) -> Numbers:
        """Vectors in each cluster, shape (clusters,)."""
        return self._layout.sizes

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

    def present(self, clusters: Numbers) -> list[int]:
        """Those that hold any vector, in their order."""
        return [cluster for cluster in clusters.tolist() if cluster >= 0 and self.sizes[cluster]]

    def bytes_of(self, cluster: int) -> int:
        """What a cluster takes on disk."""
        return self._layout.extent(cluster)[1]

    def scan(self, clusters: Numbers, vector: Vectors, k: int) -> tuple[Numbers, Vectors]:
        """Numbers and inner products of the `k` nearest vectors in these clusters, best first; fewer where fewer are.

        The clusters are scanned in their order, so that ties fall as FAISS lets them. Raises StoreCorrupt where the
        file was cut short since it was opened, StoreError where the disk does not give it.
        """
        nearest = self._nearest(vector, k)
        for cluster, data in self.cache.read(self.present(clusters)):
            nearest.scan(self._scanner(), cluster, data)
            del data  # what the cluster lies in may go before the next one comes
        return nearest.ranked()

    def scan_many(
        self, probed: Sequence[Numbers], vectors: Vectors, k: int, fast: FastTier | None = None
    ) -> list[tuple[Numbers, Vectors]]:
        """The same for each of several vectors, shape (questions, dimensions), in the clusters that it probed.

        A cluster is read once and scanned for all that ask for it, those in memory first. Only where a tie decides who
        is the last of the `k` does the order of the clusters matter: that question is scanned again in its own order.
        What `fast` holds is scanned there meanwhile, and what it names is ranked here: the results are the same.
        """
        every = [self._nearest(vector, k + 1) for vector in vectors]
        asking: dict[int, list[int]] = {}
        for place, clusters in enumerate(probed):
            for cluster in self.present(clusters):
                asking.setdefault(cluster, []).append(place)
        with fast.begin(asking, vectors, k + 1) if fast else nullcontext() as share:
            elsewhere = frozenset(share.clusters if share else ())
            for cluster, data in self.cache.read_any(cluster for cluster in asking if cluster not in elsewhere):
                for place in asking[cluster]:
                    every[place].scan(self._scanner(), cluster, data)
                del data  # what the cluster lies in may go before the next one comes
            if share and elsewhere:
                for nearest, (codes, numbers) in zip(every, share.candidates(), strict=True):
                    nearest.scan_rows(self._scanner(), codes, numbers)
        return [
            self.scan(clusters, vector, k) if nearest.is_tied() else nearest.ranked(k)
            for clusters, vector, nearest in zip(probed, vectors, every, strict=True)
        ]

    def scan_ready(self, clusters: Numbers, vector: Vectors, k: int) -> tuple[Numbers, Vectors]:
        """The same as `scan`, in those of the clusters that are in memory: nothing is read."""
        nearest = self._nearest(vector, k)
        for cluster, data in self.cache.ready(self.present(clusters)):
            nearest.scan(self._scanner(), cluster, data)
            del data
        return nearest.ranked()

    def _nearest(self, vector: Vectors, k: int) -> "_Nearest":
        return _Nearest(vector, k, self._layout)

    def _scanner(self) -> Any:
        """FAISS's scanner, one for each thread: what it gives away is never freed."""
        if not hasattr(self._scanners, "scanner"):
            self._scanners.scanner = self._index.get_InvertedListScanner(False, None, None)
        return self._scanners.scanner


class _Nearest:
    """The `k` nearest vectors of what was scanned so far, in FAISS's own heap."""

    def __init__(self, vector: Vectors, k: int, layout: Layout) -> None:
        faiss = faiss_with()
        self._pointer, self._layout = faiss.swig_ptr, layout
        self._query = np.ascontiguousarray(vector, np.float32)
        self._asked = self._pointer(self._query)
        self._products, self._numbers = np.empty(k, np.float32), np.empty(k, np.int64)
        self._into = (self._pointer(self._products), self._pointer(self._numbers))
        self._heap = faiss.float_minheap_array_t()
        self._heap.k, self._heap.nh, self._heap.val, self._heap.ids = k, 1, *self._into
        self._heap.heapify()

    def scan(self, scanner: Any, cluster: int, data: memoryview) -> None:
        """Scan one more cluster."""
        size, vector_bytes = int(self._layout.sizes[cluster]), self._layout.vector_bytes
        vectors = np.frombuffer(data, np.uint8, size * vector_bytes)
        rows = np.frombuffer(data, np.int64, size, size * vector_bytes)
        self.scan_rows(scanner, vectors, rows, cluster)

    def scan_rows(self, scanner: Any, codes: Codes, numbers: Numbers, cluster: int = 0) -> None:
        """Scan these vectors, whose numbers are given, as those of a cluster."""
        scanner.set_query(self._asked)
        scanner.set_list(cluster, 0.0)
        if len(numbers):
            pointers = self._pointer(codes), self._pointer(numbers)
            scanner.scan_codes(len(numbers), *pointers, *self._into, self._heap.k)

    def ranked(self, most: int | None = None) -> tuple[Numbers, Vectors]:
        """Numbers and products, best first. Nothing is scanned after this."""
        self._heap.reorder()
        is_hit = self._numbers >= 0
        return self._numbers[is_hit][:most], self._products[is_hit][:most]

    def is_tied(self) -> bool:
        """Whether the last but one is as near as the last, so that another order might have kept the other one."""
        last = np.sort(self._products)[:2]
        return bool(len(last) == 2 and last[0] == last[1] and (self._numbers >= 0).all())
