"""The QA bank (PerCache, section 4.1.1): kept answers by question, served if a new question asks the same.

Similarity alone is not enough: a candidate has to pass the guard, one of its passages must be among the nearest to the
new question, and no newer passage may be relevant to it. Independent of models.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import msgspec
import numpy as np

from device_app.cache.answers import guard
from device_app.cache.answers.wrong import is_wrong
from device_app.cache.eviction import Kept, Policy, victims
from device_app.english.dates import Span
from device_app.english.query import Query
from device_app.english.wording import moves, normal
from device_app.knowledge.retriever import Retriever
from device_app.question.answer import written_by
from models.engine import Embedder
from shared.types import Filters
from storage.counters import Counters
from storage.qa_entries import Entry, Origin, QAEntries
from storage.vectors import VectorIndex, Vectors
from storage.wrong_answers import Mark, WrongAnswers

CANDIDATES = 8
"""The most cached questions compared, in order of similarity; twice that if some have other models or settings."""

_AMONG_OTHERS = 512
"""The number of most similar questions that are searched for those answered with the current model and settings."""

NEAREST = 5
"""How many of the nearest passages are looked at: an answer must cite one of them, and none may be newer and relevant.
"""

RELEVANT = 0.4
"""The score from which a newer passage may change an answer."""

SWITCH_DAYS = 7
"""Days for which the answers of another model are kept unused, so that switching back to it finds them."""

_ADOPTED = "adopted for "
_NO_ANSWER = "the question could not be answered"


@dataclass(frozen=True, slots=True)
class Considered:
    """A cached question compared with a new one: its entry, their cosine, and why its answer serves or not."""

    entry: Entry
    similarity: float
    serves: bool
    reason: str

    @property
    def failed(self) -> str:
        """The reason why this cached question could not be answered, if the new question asks the same; else ""."""
        return self.entry.failed or "" if self.reason == _NO_ANSWER else ""


@dataclass(frozen=True, slots=True)
class QABank:
    """The QA bank of one person. `limit` is in bytes, `threshold` the least cosine for reuse (PerCache's τ_query).

    An answer from a server's passages, whose changes are not seen here, is served for `public_days`.
    """

    entries: QAEntries
    vectors: VectorIndex
    retriever: Retriever
    counters: Counters
    threshold: float
    limit: int
    policy: Policy
    public_days: float = 7.0

    @property
    def wrong(self) -> WrongAnswers:
        """The store of answers that were marked wrong."""
        return WrongAnswers(self.entries.database)

    def find(self, query: Query, vector: Vectors, fingerprint: str, *, more: bool = False) -> Considered | None:
        """Return the kept question whose answer serves the query, whose embedding is `vector`; None if there is none.

        With `more`, an answer that lacks information does not serve, since a server may be asked for it now.
        """
        if self.threshold >= 1:
            return None
        return next((match for match in self.consider(query, vector, fingerprint, more=more) if match.serves), None)

    def consider(self, query: Query, vector: Vectors, fingerprint: str, *, more: bool = False) -> Iterator[Considered]:
        """Yield the most similar entries, best guard verdict first, and why each serves or not; `more` as in `find`."""
        cosines = self.vectors.cosines(vector)
        ids = cosines.best(CANDIDATES)
        entries = self.entries.get(ids.tolist())
        if any(entry.fingerprint != fingerprint for entry in entries.values()):
            # Copies of one question under other fingerprints could take all the places.
            own = self.entries.with_fingerprint(fingerprint, cosines.best(_AMONG_OTHERS).tolist())
            ids = np.union1d(ids, cosines.best(CANDIDATES, among=np.array(own, np.int64)))
            entries = self.entries.get(ids.tolist())
        compared = [
            (guard.compare(query.text, entries[identity].question, cosine, self.threshold), entries[identity], cosine)
            for identity, cosine in zip(ids.tolist(), cosines.of(ids).tolist(), strict=True)
            if identity in entries
        ]
        marks = self.marks(query, vector)
        for verdict, entry, cosine in sorted(compared, key=lambda candidate: (-candidate[0].similarity, -candidate[2])):
            wrong = entry.answer is not None and is_wrong(entry.answer, written_by(entry.record), marks)
            objection = next(self._objections(query, vector, fingerprint, entry, verdict, more=more), None)
            objection = objection or ("the answer was marked as wrong" if wrong else None)
            yield Considered(entry, cosine, objection is None, objection or verdict.reason)

    def marks(self, query: Query, vector: Vectors) -> list[Mark]:
        """Return the marks of wrong answers that apply to this question or an equivalent one."""
        return [mark for mark in self.wrong.holding(scope(query)) if self._is_about(mark, query, vector)]

    def _is_about(self, mark: Mark, query: Query, vector: Vectors) -> bool:
        # First without their cosine, as if it were 1, which saves an embedding: most pairs fail on their words already.
        if not guard.compare(query.text, mark.question, 1.0, self.threshold).serves:
            return False
        if normal(query.text) == normal(mark.question):
            return True
        cosine = float(self.retriever.embedder.embed([mark.question])[0] @ vector)
        return guard.compare(query.text, mark.question, cosine, self.threshold).serves

    def nearest(self, vector: Vectors) -> float:
        """Return the cosine of the most similar cached question; -1 if there is none."""
        return float(self.vectors.cosines(vector).values.max(initial=-1.0))

    def may_serve(self, query: Query, vector: Vectors) -> bool:
        """Return whether a kept answer may serve the question, judged by the wording alone. Stores nothing."""
        if self.threshold >= 1:
            return False
        cosines = self.vectors.cosines(vector)
        ids = cosines.best(CANDIDATES)
        entries = self.entries.get(ids.tolist())
        return any(
            entries[identity].answer is not None
            and guard.compare(query.text, entries[identity].question, cosine, self.threshold).serves
            for identity, cosine in zip(ids.tolist(), cosines.of(ids).tolist(), strict=True)
            if identity in entries
        )

    def put(
        self,
        query: Query,
        vector: Vectors,
        fingerprint: str,
        origin: Origin,
        *,
        answer: str | None,
        record: dict[str, object],
        sources: Sequence[int],
        newest_passage: int,
        cost_ms: float,
    ) -> None:
        """Keep an answer, or the reason in `record` why there is none; then evict entries over the limit.

        `sources` are the ids of the person's passages that the answer cites, `newest_passage` is the newest id in the
        store when they were retrieved, `cost_ms` the time that the answer took.
        """
        self.entries.put(
            query.text,
            scope(query),
            fingerprint,
            vector,
            origin,
            answer=answer,
            record=record,
            sources=sources,
            newest_passage=newest_passage,
            cost_ms=cost_ms,
        )
        self.trim()

    def wait(self, query: Query, vector: Vectors, fingerprint: str, origin: Origin) -> None:
        """Queue a question to be answered in idle time."""
        self.entries.wait(query.text, scope(query), fingerprint, vector, origin)
        self.trim()

    def served(self, known: Considered, query: Query, vector: Vectors, took_ms: float) -> None:
        """Count a reused answer, shown in `took_ms`; queue a question in other words for an answer of its own."""
        entry = known.entry
        self.entries.used(entry.id)
        self.counters.add(qa_hits=1, qa_ms_saved=max(0.0, entry.cost_ms - took_ms))
        if normal(query.text) != normal(entry.question):
            self.wait(query, vector, entry.fingerprint, "asked")

    def refresh(self, newest_passage: int) -> tuple[int, int]:
        """Check every answer against the passages read since (section 4.1.3); return the numbers checked and stale.

        Questions without an answer are checked too, and queued again if a new passage is relevant.
        """
        unchecked = self.entries.unchecked(newest_passage)
        stale = sum(self._overtaken(entry, asked(entry)) for entry in unchecked)
        return len(unchecked), stale

    def adopt(self, fingerprint: str, embedder: Embedder) -> int:
        """Queue questions answered with other models or settings, to be answered with the current ones; count them."""
        mark = _ADOPTED + fingerprint
        others = self.entries.of_others(fingerprint, int(self.counters.all().get(mark, 0)))
        if not others:
            return 0
        known = {(entry.question, entry.scope) for entry in self.entries.all() if entry.fingerprint == fingerprint}
        fresh = [entry for entry in others if (entry.question, entry.scope) not in known]
        for entry in fresh:
            self.wait(asked(entry), embedder.embed([entry.question])[0], fingerprint, entry.origin)
        self.counters.set(mark, max(entry.id for entry in others))
        return len(fresh)

    def drop_replaced(self, fingerprint: str, now: datetime) -> int:
        """Delete answers by other models or settings, if unused for SWITCH_DAYS and replaced; return how many."""
        gone = self.entries.replaced(
            fingerprint, (now - timedelta(days=SWITCH_DAYS)).isoformat(timespec="microseconds")
        )
        self.entries.delete(gone)
        if gone:
            # A dropped fingerprint may become the current one again, and then has to adopt questions again.
            marks = [
                name for name in self.counters.all() if name.startswith(_ADOPTED) and name != _ADOPTED + fingerprint
            ]
            self.counters.forget(*marks)
        return len(gone)

    def trim(self) -> int:
        """Evict entries over the limit; return their number."""
        if self.entries.bytes() <= self.limit:
            return 0
        kept = [
            Kept(str(entry.id), entry.bytes, entry.uses, entry.used_at, entry.cost_ms) for entry in self.entries.all()
        ]
        gone = victims(kept, self.limit, self.policy)
        self.entries.delete(map(int, gone))
        self.counters.add(qa_evictions=len(gone))
        return len(gone)

    def clear(self) -> int:
        """Drop all entries; return their number."""
        self.entries.delete(ids := [entry.id for entry in self.entries.all()])
        return len(ids)

    def _objections(
        self, query: Query, vector: Vectors, fingerprint: str, entry: Entry, verdict: guard.Verdict, *, more: bool
    ) -> Iterator[str]:
        """Yield the reasons not to serve the entry's answer, cheapest check first; mark an outdated entry as stale."""
        if self.threshold >= 1:
            yield "cache.threshold is 1, so no answer is reused"
        if entry.fingerprint != fingerprint:
            yield "the answer is from another model or other settings"
        if entry.scope != scope(query):
            yield "the questions have other filters or days"
        if not verdict.serves:
            yield verdict.reason
        if entry.stale:
            yield "the answer's files have changed since"
        if entry.answer is None:
            yield _NO_ANSWER if entry.failed else "the question has no answer yet"
        if more and entry.lacks:
            yield f"{entry.lacks}, but the server may"
        if moves(query.text) and datetime.fromisoformat(entry.answered_at).astimezone().date() != date.today():
            yield "the question means another day by now"
        if entry.is_public and datetime.now(UTC) - datetime.fromisoformat(entry.answered_at) >= self._public_age():
            yield "the server's passages may have changed since"
        if self._overtaken(entry, query):
            yield "a newer passage may change the answer"
        if normal(query.text) != normal(entry.question) and not self._near(entry, query, vector):
            yield "other passages are nearest to the question"

    def _public_age(self) -> timedelta:
        return timedelta(days=self.public_days)

    def _overtaken(self, entry: Entry, query: Query) -> bool:
        """Return whether a newer passage near the question may change the kept answer; store that in the entry."""
        newest = self.retriever.store.newest_passage()
        if newest == entry.newest_passage:
            return False
        hits = self.retriever.search(query, NEAREST, RELEVANT)
        stale = any(hit.passage.id > entry.newest_passage for hit in hits)
        self.entries.check(entry.id, newest, stale=stale)
        return stale

    def _near(self, entry: Entry, query: Query, vector: Vectors) -> bool:
        """Return whether a source passage of the answer is among those nearest to the question."""
        among = self.retriever.store.matching(query.filters)
        nearest = self.retriever.vectors.cosines(vector).best(NEAREST, among=among)
        return bool(np.isin(self.entries.sources(entry.id), nearest).any())


def scope(query: Query) -> str:
    """Return the question's filters and days as text: if these differ, the same words are another question."""
    return msgspec.json.encode((query.filters, query.days)).decode()


def asked(entry: Entry) -> Query:
    """Return the query of a kept question, with its filters and days as parsed when it was asked."""
    filters, days = msgspec.json.decode(entry.scope, type=tuple[Filters, tuple[Span, ...]])
    return Query(entry.question, filters, days)
