"""Searches of several threads: those that wait are searched together where they ask for the same clusters.

Whoever finds a lane free leads: it searches for the group of the oldest that waits, its own or not, and looks again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Condition
from typing import Final

import numpy as np

from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.grouping import group
from cloud_server.retrieval.opened import OpenIndex
from storage.ivf_files import Numbers, Vectors

LANES: Final = 2
"""Groups that are searched at once: one computes while the other reads."""

Hits = tuple[Numbers, Vectors]


@dataclass(slots=True, eq=False)
class _Search:
    """What a thread waits for: vectors that are searched together in any case."""

    index: OpenIndex
    probed: Sequence[Numbers]
    vectors: Sequence[Vector]
    most: int
    clusters: frozenset[int]
    is_taken: bool = False
    hits: list[Hits] | None = None
    error: BaseException | None = None

    @property
    def is_over(self) -> bool:
        return self.hits is not None or self.error is not None


class Searcher:
    """Safe for several threads; each search blocks its own."""

    def __init__(self, lanes: int = LANES) -> None:
        self._lanes = lanes
        self._waiting: list[_Search] = []
        self._changed = Condition()

    def search(
        self, index: OpenIndex, vectors: Sequence[Vector], most: int, probed: Sequence[Numbers] | None = None
    ) -> list[Hits]:
        """Numbers and cosines of the nearest passages of each vector, best first, in the clusters that are probed.

        Raises StoreCorrupt, StoreError, for the searches that need what cannot be read alone.
        """
        probed = probed or [index.probe(vector) for vector in vectors]
        clusters = frozenset(cluster for each in probed for cluster in each.tolist())
        own = _Search(index, probed, vectors, most, clusters)
        with self._changed:
            self._waiting.append(own)
        while led := self._led(own):
            try:
                _answer(led)
            finally:
                with self._changed:
                    self._lanes += 1
                    self._changed.notify_all()
        if own.error:
            try:
                raise own.error
            finally:
                own.error = None  # it holds this call
        assert own.hits is not None
        return own.hits

    def _led(self, own: _Search) -> list[_Search]:
        """The group that this thread is to search for; none as soon as its own search is over."""
        with self._changed:
            while not own.is_over:
                if self._lanes and not own.is_taken:
                    oldest = self._waiting[0]
                    alike = [each for each in self._waiting if each.index is oldest.index and each.most == oldest.most]
                    led = [alike[place] for place in group([each.clusters for each in alike])]
                    for search in led:
                        search.is_taken = True
                        self._waiting.remove(search)
                    self._lanes -= 1
                    return led
                self._changed.wait()
        return []


def _answer(led: Sequence[_Search]) -> None:
    """Search for all of them together; where that fails, for each, so that only those fail which have to."""
    try:
        probed = [clusters for search in led for clusters in search.probed]
        vectors = np.stack([vector for search in led for vector in search.vectors])
        hits = iter(led[0].index.scan_many(probed, vectors, led[0].most))
        for search in led:
            search.hits = [next(hits) for _ in search.vectors]
    except BaseException as error:
        if len(led) == 1:
            led[0].error = error
            return
        for search in led:
            _answer([search])
