"""The look-ahead for one question in an index. Implements `Ticket`.

The module `lookahead` decides how many bytes, and which clusters, may be read; a ticket reads them in one or two parts.
"""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.lookahead import GenerationTimes, LookaheadMode, budget, within_budget
from cloud_server.retrieval.opened import OpenIndex
from shared.protocol.messages import PublicPassage
from storage.coverage import Coverage
from storage.ivf_files import Numbers
from storage.read_ahead import ReadAhead

_RANKED = 4
"""How many clusters are ranked for look-ahead, in multiples of those that a search probes. With fewer, small clusters
would not fill the budget.
"""


class SearchIndex(Protocol):
    """A function that searches an index for several vectors, in the given clusters or, if these are None, in the
    nearest clusters.
    """

    def __call__(
        self, index: OpenIndex, vectors: Sequence[Vector], most: int, probed: Sequence[Numbers] | None = None, /
    ) -> list[list[PublicPassage]]:
        """Return the `most` nearest passages of each vector, best first."""


class IndexTicket:
    """Prefetches clusters of the version that was open at its creation; `search` uses the current version.

    Thread-safe. After `close`, every method works without look-ahead. If the index has RaBitQ codes, nothing is
    prefetched, because its searches read no whole clusters.
    """

    def __init__(
        self,
        opened: Callable[[], OpenIndex | None],
        search: SearchIndex,
        times: GenerationTimes,
        pipeline: str,
        mode: LookaheadMode,
    ) -> None:
        self.coverage: Coverage | None = None
        self._opened, self._search = opened, search
        self._times, self._pipeline, self._mode = times, pipeline, mode
        self._index = opened()
        self._gpu = self._index.gpu if self._index else None
        on_arrival = self._gpu.on_arrival if self._gpu else None
        self._ahead = self._index.vectors.cache.read_ahead(on_arrival) if self._index else None
        self._since = time.monotonic()
        self._is_refined = False
        self._may_read = 0  # bytes, from disk until the search
        self._near: Vector | None = None

    def begin(self, vector: Vector) -> None:
        """Prefetch clusters near the original question."""
        has_refinement = self._mode == "progressive" and self._times.is_refined(self._pipeline)
        self._fetch(vector, 0.5 if has_refinement else 1.0)

    def starts(self) -> None:
        """Start measuring the pipeline's generation time, so that its time in the queue does not count."""
        self._since = time.monotonic()

    def refine(self, vector: Vector) -> None:
        """Prefetch clusters near the text written so far; those still queued near the original question are dropped."""
        if self._mode == "progressive":
            self._is_refined = True
            self._fetch(vector, 0.5, is_more=True)

    def provisional(self, most: int) -> list[PublicPassage]:
        """Return the nearest passages of the clusters in memory, once the nearer half of the question's clusters is in
        memory; before that, none.
        """
        index, near = self._index, self._near
        return index.provisional(near, most) if index and near is not None and most > 0 else []

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Return the same result as `Corpus.search`, but sooner, as clusters have been prefetched. The look-ahead ends
        until the next `refine`.
        """
        index, ahead, self._near = self._index, self._ahead, vector
        current = self._opened()
        if index is None or ahead is None or current is not index:
            self.close()
            return self._search(current, [vector], most)[0] if current and most > 0 else []
        self._times.learn(self._pipeline, time.monotonic() - self._since, is_refined=self._is_refined)
        try:
            probed = index.probe(vector)
            self.coverage = ahead.settle(index.needed(probed))
            return self._search(index, [vector], most, [probed])[0] if most > 0 else []
        finally:
            self._let_go(ahead)
            self._since, self._is_refined, self._may_read = time.monotonic(), False, 0

    def close(self) -> None:
        """Stop prefetching, and release the clusters held for this question."""
        ahead, self._index, self._ahead = self._ahead, None, None
        if ahead:
            self._let_go(ahead)

    def _let_go(self, ahead: ReadAhead) -> None:
        ahead.close()
        if self._gpu:
            self._gpu.let_go(ahead)

    def _fetch(self, vector: Vector, share: float, *, is_more: bool = False) -> None:
        """Prefetch clusters near a vector with the given share of the budget.

        `is_more`: in addition to those prefetched already, which may have taken more than the rest of the budget.
        """
        index, ahead = self._index, self._ahead
        if index is None or ahead is None:
            return
        self._near = vector
        if index.codes:
            return
        cache = index.vectors.cache
        ranked = index.vectors.present(index.vectors.probe(vector, _RANKED * index.probes))
        own = sum(map(index.vectors.bytes_of, index.vectors.present(index.probe(vector))))
        memory = cache.ahead.share(ahead)
        ready, read = budget(own, cache.ahead.rate, self._times.mean(self._pipeline), memory)
        self._may_read = max(self._may_read, read)
        ready = memory if is_more else round(share * ready)
        read = min(round(share * read), self._may_read - ahead.bytes_read)
        chosen = within_budget(ranked, index.vectors.bytes_of, index.is_near, ready, read)
        if self._gpu:
            self._gpu.hold(ahead, chosen)
        ahead.fetch(cluster for cluster in chosen if not index.is_on_gpu(cluster))
