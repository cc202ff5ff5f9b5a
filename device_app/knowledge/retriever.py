"""Retrieves the passages that answer a question.

Searches keywords, vectors and days, fuses the results, and folds duplicates. Decides where to search; `fusion` decides
how much each search counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from device_app.english.query import Query
from device_app.english.terms import terms, with_families
from device_app.knowledge import fusion
from device_app.knowledge.known_people import KnownPeople
from models.engine import Embedder
from shared.types import Filters, Hit
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore
from storage.passages import Ids
from storage.vectors import VectorIndex, Vectors

CANDIDATES = 100
"""The number of passages taken from each search."""


@dataclass(frozen=True, slots=True)
class Retriever:
    """Hybrid retrieval from one store. A filter for a person covers all names that `people` knows of them."""

    store: KnowledgeStore
    keywords: KeywordIndex
    vectors: VectorIndex
    embedder: Embedder
    people: KnownPeople

    def search(
        self,
        query: Query,
        count: int,
        relevance: float = 0.0,
        vector: Vectors | None = None,
        without: Ids | None = None,
    ) -> list[Hit]:
        """Return the `count` best passages with a score of at least `relevance`, best first.

        `vector` is the query's embedding, if already computed. A query with only dates or filters, and without search
        words ("what did I write on Monday?"), returns the matching passages, whatever their score, nearest first.
        `without`: sorted ids of passages to leave out.
        """
        embedded = self.embedder.embed([query.text])[0] if vector is None else vector
        filters = self.people.widened(query.filters)
        among = self._matching(filters, embedded, without)
        spans = [self._matching(filters.within(*day), embedded, without) for day in query.days]
        dated = [ids for ids in spans if ids is not None and ids.size]
        if query.is_open:
            only = reduce(np.union1d, dated, np.empty(0, np.int64)) if query.days else among
            return fusion.fold(self._all_of(embedded, only), count)
        best = self._scored(query.text, embedded, among, dated)
        return fusion.fold([hit for hit in best if hit.score >= relevance], count)

    def _matching(self, filters: Filters, vector: Vectors, without: Ids | None) -> Ids | None:
        """Return the sorted ids of passages that pass the filters, minus those `without`; None for all passages."""
        ids = self.store.matching(filters)
        if without is None:
            return ids
        return np.setdiff1d(self.vectors.cosines(vector).ids if ids is None else ids, without, assume_unique=True)

    def _all_of(self, vector: Vectors, ids: Ids | None) -> list[Hit]:
        cosines = self.vectors.cosines(vector)
        best = cosines.best(CANDIDATES, among=ids)
        passages = self.store.passages(best.tolist())
        return [
            Hit(passages[identity], 1.0, cosine)
            for identity, cosine in zip(best.tolist(), cosines.of(best).tolist(), strict=True)
            if identity in passages
        ]

    def _scored(self, text: str, vector: Vectors, among: Ids | None, dated: Sequence[Ids]) -> list[Hit]:
        """Score the candidates of all searches and return them, best first.

        `among` are the ids of the passages to search (None: all); `dated` has the passages of each day in the question.
        """
        cosines = self.vectors.cosines(vector)
        sides = [
            self.keywords.search(with_families(terms(text)), CANDIDATES, among=among),
            cosines.best(CANDIDATES, among=among),
            *(cosines.best(CANDIDATES, among=ids) for ids in dated),
        ]
        ids = reduce(np.union1d, sides)
        rarity = np.zeros(len(ids))
        for day in dated:
            rarity = np.maximum(rarity, np.isin(ids, day) * math.log(max(1.0, len(cosines.ids) / day.size)))
        passages = self.store.passages(ids.tolist())
        candidates = [
            fusion.Candidate(passages[identity], cosine, how_rare)
            for identity, cosine, how_rare in zip(ids.tolist(), cosines.of(ids).tolist(), rarity.tolist(), strict=True)
            if identity in passages
        ]
        scores = fusion.fuse(text, candidates)
        hits = [
            Hit(candidate.passage, score, candidate.cosine) for candidate, score in zip(candidates, scores, strict=True)
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))


def over(store: KnowledgeStore, embedder: Embedder, people: KnownPeople) -> Retriever:
    """Return the retriever of a store, with its indexes."""
    return Retriever(store, KeywordIndex(store.database), VectorIndex(store.database), embedder, people)
