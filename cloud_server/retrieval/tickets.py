"""A question's look-ahead in the index: begin, refine, settle, close. Implements `Ticket`; `lookahead` decides."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.lookahead import GenerationTimes, LookaheadMode, budget, within_budget
from cloud_server.retrieval.opened import OpenIndex
from shared.protocol.messages import PublicPassage
from storage.ivf_files import Numbers
from storage.read_ahead import Coverage, ReadAhead

_RANKED = 4
"""Times the clusters of a question that are ranked for its look-ahead: they fill the budget where they are small."""


class SearchIndex(Protocol):
    """Searches an index for each of several vectors, in the clusters that are probed, if that is known."""

    def __call__(
        self, index: OpenIndex, vectors: Sequence[Vector], most: int, probed: Sequence[Numbers] | None = None, /
    ) -> list[list[PublicPassage]]:
        """The nearest passages of each, best first."""


class IndexTicket:
    """Reads ahead in the version that was open when it began; `search` is the corpus's own, in the current one.

    Safe for several threads. Whatever is asked of it after `close` is answered without look-ahead.
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
        self._near: Vector | None = None

    def begin(self, vector: Vector) -> None:
        """Read ahead near the question as it was asked."""
        has_refinement = self._mode == "progressive" and self._times.is_refined(self._pipeline)
        self._fetch(vector, 0.5 if has_refinement else 1.0)

    def starts(self) -> None:
        """How long the pipeline writes counts from now, not from its place in the queue."""
        self._since = time.monotonic()

    def refine(self, vector: Vector) -> None:
        """Read ahead near what has been written so far, in place of what waits near the question."""
        if self._mode == "progressive":
            self._is_refined = True
            self._fetch(vector, 0.5, is_more=True)

    def provisional(self, most: int) -> list[PublicPassage]:
        """The nearest passages in what is in memory already, best first: probably those that the search will give."""
        index, near = self._index, self._near
        if index is None or near is None or most < 1:
            return []
        return index.passages_of(*index.scan_ready(near, most))

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """What `Corpus.search` gives, sooner. Look-ahead ends with it, until it is refined again."""
        index, ahead = self._index, self._ahead
        current = self._opened()
        if index is None or ahead is None or current is not index:
            self.close()
            return self._search(current, [vector], most)[0] if current and most > 0 else []
        self._times.learn(self._pipeline, time.monotonic() - self._since, is_refined=self._is_refined)
        try:
            probed = index.probe(vector)
            asked = [cluster for cluster in index.vectors.present(probed) if not index.is_on_gpu(cluster)]
            self.coverage = ahead.settle(asked)
            return self._search(index, [vector], most, [probed])[0] if most > 0 else []
        finally:
            self._let_go(ahead)
            self._since, self._is_refined = time.monotonic(), False

    def close(self) -> None:
        """Nothing more is read or held for it."""
        ahead, self._index, self._ahead = self._ahead, None, None
        if ahead:
            self._let_go(ahead)

    def _let_go(self, ahead: ReadAhead) -> None:
        ahead.close()
        if self._gpu:
            self._gpu.let_go(ahead)

    def _fetch(self, vector: Vector, share: float, *, is_more: bool = False) -> None:
        """Spend a share of the budget near a vector; `is_more`: on top of what was brought already."""
        index, ahead = self._index, self._ahead
        if index is None or ahead is None:
            return
        self._near = vector
        cache = index.vectors.cache
        ranked = index.vectors.present(index.vectors.probe(vector, _RANKED * index.probes))
        own = sum(map(index.vectors.bytes_of, index.vectors.present(index.probe(vector))))
        memory = cache.ahead.share(ahead)
        ready, read = budget(own, cache.ahead.rate, self._times.mean(self._pipeline), memory)
        if is_more:
            ready, read = round(memory / share), min(ready, read)
        chosen = within_budget(ranked, index.vectors.bytes_of, index.is_near, round(share * ready), round(share * read))
        if self._gpu:
            self._gpu.hold(ahead, chosen)
        ahead.fetch(cluster for cluster in chosen if not index.is_on_gpu(cluster))
