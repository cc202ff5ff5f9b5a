"""From a question to the passages that answer it: keywords and vectors searched, fused, duplicates folded.

Knows where to look, not how much to trust each side: that is `fusion`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from device_app.knowledge import fusion
from device_app.knowledge.query import Query
from models.engine import Embedder
from shared.prompt import Exchange
from shared.types import Hit
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore
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
        vector = self.embedder.embed([text])[0]
        keyword_ids, keyword_scores = self.keywords.search(fusion.terms(text), CANDIDATES, among=among)
        vector_ids, _ = self.vectors.search(vector, CANDIDATES, among=among)
        ids = np.union1d(keyword_ids, vector_ids)
        cosines = dict(zip(ids.tolist(), self.vectors.cosines(vector, ids).tolist(), strict=True))
        bm25 = dict(zip(keyword_ids.tolist(), keyword_scores.tolist(), strict=True))
        passages = self.store.passages(ids.tolist())
        candidates = [
            fusion.Candidate(passage, bm25.get(identity, 0.0), cosines[identity])
            for identity, passage in passages.items()
        ]
        ranked = sorted(
            zip(fusion.fuse(text, candidates), candidates, strict=True), key=lambda pair: (-pair[0], pair[1].passage.id)
        )
        hits = [Hit(candidate.passage, score, candidate.cosine) for score, candidate in ranked if score >= relevance]
        return fusion.fold(hits, count)
