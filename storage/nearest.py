"""Collects the nearest vectors among those that FAISS scans for a question. Reads no files."""

from typing import Any

import numpy as np

from storage.ivf_files import Codes, Numbers, Vectors, faiss_with


class Nearest:
    """The `k` vectors nearest to `vector` among those scanned so far, kept in a FAISS heap."""

    def __init__(self, vector: Vectors, k: int) -> None:
        faiss = faiss_with()
        self._pointer = faiss.swig_ptr
        self._query = np.ascontiguousarray(vector, np.float32)
        self._asked = self._pointer(self._query)
        self._products, self._numbers = np.empty(k, np.float32), np.empty(k, np.int64)
        self._into = (self._pointer(self._products), self._pointer(self._numbers))
        self._heap = faiss.float_minheap_array_t()
        self._heap.k, self._heap.nh, self._heap.val, self._heap.ids = k, 1, *self._into
        self._heap.heapify()

    def scan(self, scanner: Any, codes: Codes, numbers: Numbers, cluster: int = 0) -> None:
        """Scan the stored vectors `codes` of a cluster, in order; their numbers have to be int64."""
        scanner.set_query(self._asked)
        scanner.set_list(cluster, 0.0)
        if len(numbers):
            pointers = self._pointer(codes), self._pointer(numbers)
            scanner.scan_codes(len(numbers), *pointers, *self._into, self._heap.k)

    def ranked(self, most: int | None = None) -> tuple[Numbers, Vectors]:
        """Return the numbers of the kept vectors (at most `most`) and their inner products, best first. No scan may
        follow.
        """
        self._heap.reorder()
        is_hit = self._numbers >= 0
        return self._numbers[is_hit][:most], self._products[is_hit][:most]

    def is_tied(self) -> bool:
        """Return whether `k` vectors are kept and the two farthest of them are equally near: then another order of the
        scans might have kept another vector.
        """
        last = np.sort(self._products)[:2]
        return bool(len(last) == 2 and last[0] == last[1] and (self._numbers >= 0).all())
