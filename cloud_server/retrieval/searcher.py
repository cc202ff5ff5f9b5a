"""Searches an index for several threads: waiting searches that need the same clusters are done together.

At most LANES groups are searched at a time. A thread that may start searches for the group of the oldest waiting
search, which may not be its own, and repeats that until its own search is done.
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
"""The most groups that a searcher searches at the same time: one computes while another reads."""

Hits = tuple[Numbers, Vectors]


@dataclass(slots=True, eq=False)
class _Search:
    """The vectors for which one thread searches, always together, and the result: `hits`, or the `error`. `clusters`
    are those of all its vectors; `is_taken`: a thread carries it out.
    """

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
    """Groups the searches of several threads. Thread-safe; each call blocks until its search is done."""

    def __init__(self, lanes: int = LANES) -> None:
        self._lanes = lanes
        self._waiting: list[_Search] = []
        self._changed = Condition()

    def search(self, index: OpenIndex, vectors: Sequence[Vector], most: int, probed: Sequence[Numbers]) -> list[Hits]:
        """Return, for each vector in order, the numbers and the cosines of the `most` nearest passages, best first,
        within its `probed` clusters.

        Raises StoreCorrupt or StoreError if this search fails on its own, not only as part of a group.
        """
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
                own.error = None  # breaks the reference cycle: the error's traceback holds this frame
        assert own.hits is not None
        return own.hits

    def _led(self, own: _Search) -> list[_Search]:
        """Return the next group of searches for the calling thread to run; empty once its own search is done."""
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
    """Search for a whole group at once; if that fails, for each member, so that only the failing members get the
    error.
    """
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
