"""Nearest-neighbour search by RaBitQ codes in memory; the best candidates are ranked by their vectors on disk.

FAISS scans the codes and ranks the vectors. Independent of passages and models.
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
"""The number of candidates that are read and ranked exactly at first."""

_RERANKED_EACH: Final = 10
"""The least number of candidates, as a multiple of the number of nearest vectors that are requested."""

_MOST: Final = 8
"""The factor by which the number of candidates may grow.

Measured share of the true ten nearest vectors in the results, on vectors generated around real ones: with 115 around
each, 0.993 from 100 candidates, and 0.995 if their number may grow (to 115 on average); with 830 around each, 0.933 and
0.988 (265 candidates on average).
"""


class RabitqSearch:
    """Searches an index whose codec is rabitq. Thread-safe.

    The codes may take `memory` bytes. Raises UsageError if they need more, StoreCorrupt if their file is damaged,
    StoreError if it cannot be read.
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
        """The bytes of memory that the codes take."""
        return self._codes.bytes

    def scan(self, clusters: Numbers, vector: Vectors, k: int) -> tuple[Numbers, Vectors]:
        """Return numbers and inner products of the `k` nearest vectors in the given clusters (or fewer), best first.

        The products are exact, and FAISS ranks the candidates in the clusters' order, ties included. As long as one of
        the `k` comes from the later half of the candidates, twice as many candidates are ranked. Raises StoreCorrupt if
        the lists were truncated since they were opened, StoreError if they cannot be read.
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
        """Return the rows of the nearest codes among the given clusters, best first; at most `first` * 8 rows.

        If the clusters hold at most `first` vectors, returns all their rows, in the clusters' order.
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
        """Return this thread's FAISS scanner. It is kept and reused, as FAISS never frees the scanners that it
        creates.
        """
        if not hasattr(self._scanners, "scanner"):
            self._scanners.scanner = self._index.get_InvertedListScanner(False, None, None)
        return self._scanners.scanner
