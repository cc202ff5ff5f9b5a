"""Nearest vectors by RaBitQ codes in memory; the nearest by these are ranked by their exact vectors, read from disk.

FAISS scans codes as well as vectors. Knows no passage and no model.
"""

from threading import local
from typing import Any, Final

import numpy as np

from storage.ivf import Ivf
from storage.ivf_files import NUMBER, Codes, Numbers, Vectors
from storage.nearest import Nearest
from storage.rabitq_files import rabitq_index, read_codes
from storage.row_reader import RowReader

RERANKED: Final = 100
"""Vectors that are ranked exactly at first."""

_RERANKED_EACH: Final = 10
"""As many at least for each vector that is asked for."""

_MOST: Final = 8
"""Times as many that are ranked at most. Among vectors made around real passages, 115 for each, .993 of the ten nearest
were among the first 100; of 830 for each, .933. Going on where the codes seem not to tell them apart gave .995 of the
former for 115 read, and .988 of the latter for 265."""


class RabitqSearch:
    """Searches the vectors of an index of codec rabitq. Safe for several threads.

    The codes take at most `memory` bytes. Raises UsageError where they need more, StoreCorrupt where their file is
    damaged, StoreError where it cannot be read.
    """

    def __init__(self, vectors: Ivf, memory: int, reranked: int = RERANKED) -> None:
        held = vectors.files
        self._vectors, self._layout, self._reranked = vectors, held.layout, reranked
        self._codes = read_codes(held, memory)
        self._firsts = np.concatenate([[0], np.cumsum(held.sizes)])
        self._rows = RowReader(vectors.file, self._layout.vector_bytes)
        self._index = rabitq_index(held)
        self._scanners = local()

    @property
    def memory(self) -> int:
        """Bytes that the codes take."""
        return self._codes.bytes

    def scan(self, clusters: Numbers, vector: Vectors, k: int) -> tuple[Numbers, Vectors]:
        """Return numbers and inner products of the `k` nearest vectors in these clusters, best first; fewer if need be.

        They are exact, and rank as FAISS would rank the candidates, in the order of the clusters. As long as one of
        them comes from the later half of the candidates, there are twice as many of these. Raises StoreCorrupt where
        the lists were cut short since they were opened, StoreError where the disk does not give them.
        """
        first = max(self._reranked, _RERANKED_EACH * k)
        rows = self.candidates(clusters, vector, first)
        vectors = np.empty((0, self._layout.vector_bytes), np.uint8)
        count = first
        while True:
            vectors = np.concatenate([vectors, self._read(rows[len(vectors) : count])])
            numbers, products = self._ranked(rows[:count], vectors, clusters, vector, k)
            later = self._codes.numbers[rows[count // 2 : count]]
            if count >= len(rows) or not np.isin(later, numbers).any():
                return numbers, products
            count *= 2

    def candidates(self, clusters: Numbers, vector: Vectors, first: int) -> Numbers:
        """Return the vectors in these clusters that are nearest by their codes, best first, as rows of the codes.

        Where there are no more than `first`, these are all of them, in any order.
        """
        probed = self._vectors.present(clusters)
        spans = [(int(self._firsts[cluster]), int(self._firsts[cluster + 1])) for cluster in probed]
        if sum(stop - start for start, stop in spans) <= first:
            return np.concatenate([np.arange(0), *(np.arange(start, stop) for start, stop in spans)])
        nearest = Nearest(vector, _MOST * first)
        for cluster, (start, stop) in zip(probed, spans, strict=True):
            rows = np.arange(start, stop, dtype=np.int64)
            nearest.scan(self._scanner(), self._codes.codes[start:stop], rows, cluster)
        return nearest.ranked()[0]

    def _read(self, rows: Numbers) -> Codes:
        of = self._cluster_of(rows)
        return self._rows.read(self._layout.starts[of] + (rows - self._firsts[of]) * self._layout.vector_bytes)

    def _ranked(
        self, rows: Numbers, vectors: Codes, clusters: Numbers, vector: Vectors, k: int
    ) -> tuple[Numbers, Vectors]:
        places = np.zeros(self._vectors.clusters, np.int64)
        probed = self._vectors.present(clusters)
        places[probed] = np.arange(len(probed))
        order = np.lexsort((rows, places[self._cluster_of(rows)]))
        return self._vectors.rank(vectors[order], self._codes.numbers[rows[order]].astype(NUMBER), vector, k)

    def _cluster_of(self, rows: Numbers) -> Numbers:
        of: Numbers = np.searchsorted(self._firsts, rows, side="right") - 1
        return of

    def _scanner(self) -> Any:
        """FAISS's scanner, one for each thread: what it gives away is never freed."""
        if not hasattr(self._scanners, "scanner"):
            self._scanners.scanner = self._index.get_InvertedListScanner(False, None, None)
        return self._scanners.scanner
