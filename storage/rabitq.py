"""Nearest vectors by RaBitQ codes in memory; the nearest by these are ranked by their exact vectors, read from disk.

FAISS scans codes as well as vectors. Knows no passage and no model.
"""

from threading import local
from typing import Any, Final

import numpy as np

from storage.ivf import Ivf
from storage.ivf_files import NUMBER, Numbers, Vectors
from storage.nearest import Nearest
from storage.rabitq_files import rabitq_index, read_codes
from storage.row_reader import RowReader

RERANKED: Final = 100
"""Vectors that are ranked exactly: .995 of the ten nearest are among them (questions of NQ, 60,000 vectors made around
1,200 passages), and .987 among 50."""

_RERANKED_EACH: Final = 10
"""As many for each vector that is asked for."""


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

        They are exact, and rank as FAISS would rank the candidates, in the order of the clusters. Raises StoreCorrupt
        where the lists were cut short since they were opened, StoreError where the disk does not give them.
        """
        rows = self.candidates(clusters, vector, max(self._reranked, _RERANKED_EACH * k))
        if not len(rows):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        of = np.searchsorted(self._firsts, rows, side="right") - 1
        vectors = self._rows.read(self._layout.starts[of] + (rows - self._firsts[of]) * self._layout.vector_bytes)
        return self._vectors.rank(vectors, self._codes.numbers[rows].astype(NUMBER), vector, k)

    def candidates(self, clusters: Numbers, vector: Vectors, most: int) -> Numbers:
        """Return the vectors in these clusters that are nearest by their codes, as rows of the codes.

        They are in the order of the clusters, and within each in that of its list. Where there are no more than `most`,
        these are all of them.
        """
        probed = self._vectors.present(clusters)
        spans = [(int(self._firsts[cluster]), int(self._firsts[cluster + 1])) for cluster in probed]
        if sum(stop - first for first, stop in spans) <= most:
            return np.concatenate([np.arange(0), *(np.arange(first, stop) for first, stop in spans)])
        nearest = Nearest(vector, most)
        for cluster, (first, stop) in zip(probed, spans, strict=True):
            rows = np.arange(first, stop, dtype=np.int64)
            nearest.scan(self._scanner(), self._codes.codes[first:stop], rows, cluster)
        hits = nearest.ranked()[0]
        places = np.empty(self._vectors.clusters, np.int64)
        places[probed] = np.arange(len(probed))
        ordered: Numbers = hits[np.lexsort((hits, places[np.searchsorted(self._firsts, hits, side="right") - 1]))]
        return ordered

    def _scanner(self) -> Any:
        """FAISS's scanner, one for each thread: what it gives away is never freed."""
        if not hasattr(self._scanners, "scanner"):
            self._scanners.scanner = self._index.get_InvertedListScanner(False, None, None)
        return self._scanners.scanner
