"""From a question to the passages that answer it: keywords, vectors and days searched, fused, duplicates folded.

Knows where to look, not how much to trust each side: that is `fusion`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from device_app.knowledge import fusion
from device_app.knowledge.query import Query
from models.engine import Embedder
from shared.prompt import Exchange
from shared.types import Hit
from storage.keywords import KeywordIndex
from storage.knowledge import Ids, KnowledgeStore
from storage.vectors import VectorIndex

CANDIDATES = 100
"""Passages taken from each side."""


@dataclass(frozen=True, slots=True)
class Retriever:
    """Hybrid retrieval over one store."""

    store: KnowledgeStore
    keywords: KeywordIndex
    vectors: VectorIndex
    embedder: Embedder

    def search(self, query: Query, count: int, relevance: float = 0.0, earlier: Sequence[Exchange] = ()) -> list[Hit]:
        """The `count` best passages with a score of at least `relevance`, best first.

        A question that follows on earlier ones is searched both by itself and with the one before it; the reading
        that finds the better passage wins.
        """
        readings = [query.text]
        if earlier:
            readings.append(f"{earlier[-1].question} {query.text}")
        results = [self._search(text, query, count, relevance) for text in readings]
        return max(results, key=lambda hits: hits[0].score if hits else 0.0)

    def _search(self, text: str, query: Query, count: int, relevance: float) -> list[Hit]:
        among = self.store.matching(query.filters)
        cosines = self.vectors.cosines(self.embedder.embed([text])[0])
        dated = self._dated(query)
        sides = (
            self.keywords.search(fusion.terms(text), CANDIDATES, among=among),
            cosines.best(CANDIDATES, among=among),
            cosines.best(CANDIDATES, among=dated),
        )
        ids = reduce(np.union1d, sides)
        passages = self.store.passages(ids.tolist())
        candidates = [
            fusion.Candidate(passages[identity], cosine, is_dated)
            for identity, cosine, is_dated in zip(
                ids.tolist(), cosines.of(ids).tolist(), np.isin(ids, dated).tolist(), strict=True
            )
            if identity in passages
        ]
        ranked = sorted(
            zip(fusion.fuse(text, candidates), candidates, strict=True), key=lambda pair: (-pair[0], pair[1].passage.id)
        )
        hits = [Hit(candidate.passage, score, candidate.cosine) for score, candidate in ranked if score >= relevance]
        return fusion.fold(hits, count)

    def _dated(self, query: Query) -> Ids:
        """The passages that pass the filters and are from a day that the question names."""
        among = [self.store.matching(query.filters.within(*span)) for span in query.days]
        return reduce(np.union1d, [ids for ids in among if ids is not None], np.empty(0, np.int64))
