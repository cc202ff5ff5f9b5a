"""The QA bank (PerCache, section 4.1.1): answers by question, served where a new question asks the same.

Similarity alone is no promise: a candidate has to pass the guard, its passages have to be those that the new question
finds, and nothing newer may bear on it. Knows no model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import msgspec
import numpy as np

from device_app.cache import guard
from device_app.cache.eviction import Kept, Policy, victims
from device_app.cache.wording import moves, normal
from device_app.knowledge.dates import Span
from device_app.knowledge.query import Query
from storage.counters import Counters
from storage.knowledge import Filters, KnowledgeStore
from storage.qa_entries import Entry, Origin, QAEntries
from storage.vectors import Cosines, VectorIndex, Vectors

CANDIDATES = 8
"""Cached questions that are looked at, the most similar first."""

NEAREST = 5
"""Passages nearest to a question, among which a cached answer's have to be."""

SLACK = 0.1
"""A newer passage whose cosine is this much lower than that of an answer's own may still change the answer."""


@dataclass(frozen=True, slots=True)
class Considered:
    """A cached question beside a new one: its entry, their cosine, and why its answer serves or not."""

    entry: Entry
    similarity: float
    serves: bool
    reason: str


@dataclass(frozen=True, slots=True)
class QABank:
    """The bank of one person. `threshold` is PerCache's τ_query, a cosine; `limit` is in bytes."""

    entries: QAEntries
    vectors: VectorIndex
    knowledge: KnowledgeStore
    passages: VectorIndex
    counters: Counters
    threshold: float
    limit: int
    policy: Policy

    def find(self, query: Query, vector: Vectors, recipe: str) -> Considered | None:
        """The entry whose answer serves the question, None where none does. `vector` is the question's embedding."""
        return next((one for one in self.consider(query, vector, recipe) if one.serves), None)

    def consider(self, query: Query, vector: Vectors, recipe: str) -> Iterator[Considered]:
        """The most similar entries, those first whose questions agree best, each with the reason that decides."""
        cosines = self.vectors.cosines(vector)
        ids = cosines.best(CANDIDATES)
        entries = self.entries.get(ids.tolist())
        compared = [
            (guard.compare(query.text, entries[identity].question, cosine, self.threshold), entries[identity], cosine)
            for identity, cosine in zip(ids.tolist(), cosines.of(ids).tolist(), strict=True)
            if identity in entries
        ]
        for verdict, entry, cosine in sorted(compared, key=lambda one: -one[0].similarity):
            objection = next(self._objections(query, vector, recipe, entry, verdict), None)
            yield Considered(entry, cosine, objection is None, objection or verdict.reason)

    def nearest(self, vector: Vectors) -> float:
        """The cosine of the most similar question that is kept; -1 where none is."""
        return float(self.vectors.cosines(vector).values.max(initial=-1.0))

    def put(
        self,
        query: Query,
        vector: Vectors,
        recipe: str,
        origin: Origin,
        *,
        answer: str,
        record: dict[str, object],
        sources: Sequence[int],
        newest_passage: int,
        cost_ms: float,
    ) -> None:
        """Keep an answer; what is over the limit then is evicted."""
        self.entries.put(
            query.text,
            scope(query),
            recipe,
            vector,
            origin,
            answer=answer,
            record=record,
            sources=sources,
            newest_passage=newest_passage,
            cost_ms=cost_ms,
        )
        self.trim()

    def wait(self, query: Query, vector: Vectors, recipe: str, origin: Origin) -> None:
        """Note a question that is to be answered in idle time."""
        self.entries.wait(query.text, scope(query), recipe, vector, origin)
        self.trim()

    def served(self, known: Considered, query: Query, vector: Vectors, took_ms: float) -> None:
        """Count a hit. A question that was only similar gets an answer of its own in idle time (section 4.2.1)."""
        entry = known.entry
        self.entries.used(entry.id)
        self.counters.add(qa_hits=1, qa_ms_saved=max(0.0, entry.cost_ms - took_ms))
        if normal(query.text) != normal(entry.question):
            self.wait(query, vector, entry.recipe, "asked")

    def refresh(self, newest_passage: int) -> tuple[int, int]:
        """Hold what was read since against every answer (section 4.1.3); how many were looked at, how many are stale.

        Passages that are gone made theirs stale when they went.
        """
        stale = 0
        unchecked = self.entries.unchecked(newest_passage)
        for entry, vector in unchecked:
            overtaken = self._overtaken(entry, self._nearest_passages(asked(entry), vector))
            self.entries.check(entry.id, newest_passage, stale=overtaken)
            stale += overtaken
        return len(unchecked), stale

    def trim(self) -> int:
        """Evict what is over the limit; how many entries that were."""
        if self.entries.bytes() <= self.limit:
            return 0
        kept = [Kept(str(one.id), one.bytes, one.uses, one.used_at, one.cost_ms) for one in self.entries.all()]
        gone = victims(kept, self.limit, self.policy)
        self.entries.delete(map(int, gone))
        self.counters.add(qa_evictions=len(gone))
        return len(gone)

    def clear(self) -> int:
        """Drop everything; how many entries that were."""
        ids = [entry.id for entry in self.entries.all()]
        self.entries.delete(ids)
        return len(ids)

    def _objections(
        self, query: Query, vector: Vectors, recipe: str, entry: Entry, verdict: guard.Verdict
    ) -> Iterator[str]:
        """Why the entry's answer must not serve, the cheapest to find first. One that was overtaken is marked."""
        if entry.recipe != recipe:
            yield "answered by another model or under other settings"
        if entry.scope != scope(query):
            yield "other filters or days"
        if not verdict.serves:
            yield verdict.reason
        if entry.stale:
            yield "its files have changed since"
        if entry.answer is None:
            yield "not answered yet"
        if moves(query.text) and date.fromisoformat(entry.answered_at[:10]) != datetime.now(UTC).date():
            yield "it means another day by now"
        nearest = self._nearest_passages(query, vector)
        if self._overtaken(entry, nearest):
            self.entries.make_stale(entry.id)
            yield "something newer bears on it"
        if (
            normal(query.text) != normal(entry.question)
            and not np.isin(self.entries.sources(entry.id), nearest.ids).any()
        ):
            yield "other passages are nearest"

    def _nearest_passages(self, query: Query, vector: Vectors) -> Cosines:
        cosines = self.passages.cosines(vector)
        ids = cosines.best(NEAREST, among=self.knowledge.matching(query.filters))
        return Cosines(ids, cosines.of(ids))

    def _overtaken(self, entry: Entry, nearest: Cosines) -> bool:
        """Whether a passage newer than the answer is about as near to the question as those it was drawn from."""
        own = nearest.values[np.isin(nearest.ids, self.entries.sources(entry.id))]
        newer = nearest.values[nearest.ids > entry.newest_passage]
        return bool(newer.max(initial=-1.0) >= own.min(initial=1.0) - SLACK)


def scope(query: Query) -> str:
    """The filters and days of a question: the same words mean something else under others."""
    return msgspec.json.encode((query.filters, query.days)).decode()


def asked(entry: Entry) -> Query:
    """The question of an entry, as it was read when it was asked."""
    filters, days = msgspec.json.decode(entry.scope, type=tuple[Filters, tuple[Span, ...]])
    return Query(entry.question, filters, days)
