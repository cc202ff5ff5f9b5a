"""Searches files and conversations, for the command line and the app. Loads no language model, sends nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

import numpy as np

from device_app.commands.search_results import FileResult, Results, Side, Sort, TurnResult
from device_app.commands.search_spelling import Spelling
from device_app.english import dates, naming, searching
from device_app.english.searching import Search
from device_app.english.terms import terms, with_families
from device_app.knowledge import matches
from shared.types import SearchFilters
from storage.document_index import DocumentIndex
from storage.keywords import quoted
from storage.search import TURNS, FullText, all_of, any_of

if TYPE_CHECKING:
    from device_app.device import Device
    from shared.types import StoredPassage
    from storage.documents import Facts
    from storage.knowledge import KnowledgeStore
    from storage.passages import Ids

CANDIDATES = 100
"""The number of passages that are ranked for a search."""

MOST_COUNTED = 1_000
"""The maximum number of matching passages counted in facets and sorted by date: those read most recently."""

_LEAST_BEGINNING = 3
"""The fewest letters by which the beginning of a word is searched: fewer letters would match too many words."""

_FIRST_YEAR = 1970


@dataclass(slots=True)
class Searcher:
    """Searches one device's store. Lookups are cached until the store changes, as a search is typed key by key."""

    device: Device
    _version: tuple[int, int] | None = None
    _documents: tuple[int, int] | None = None
    _spelling: Spelling | None = None
    _among: dict[SearchFilters, Ids | None] = field(default_factory=dict)
    _kinds: Sequence[str] = ()
    _index: DocumentIndex | None = None
    _is_typing: bool = False
    _names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _values: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def search(
        self,
        text: str,
        today: date,
        *,
        limit: int = 10,
        sort: Sort = Sort.RELEVANCE,
        side: Side = Side.BOTH,
        typing: bool = False,
        by_meaning: bool = False,
    ) -> Results:
        """Return the best `limit` documents and turns.

        `typing`: the last word may be only the beginning of a word. `by_meaning`: rank with the embedder as for
        questions, which also finds passages without the words. Raises StoreError, and with `by_meaning` WeightsMissing.
        """
        self._is_typing = typing
        self._forget_if_changed()
        asked = searching.parse(text, today)
        self._names = self.device.people.directory.in_one_word(asked.words)
        search, notes = self._with_known_kinds(asked)
        unfinished = search.words[-1] if typing and search.words and searching.ends_in_word(text) else ""
        self._spelling = self._spelling or Spelling(self._passages, self._talk)
        search, corrections = self._spelling.corrected(search, unfinished, self._names)
        results = Results(search, corrections, (*asked.notes, *notes, *self.device.people.notes(search.filters)))
        if search.is_empty:
            return replace(results, notes=(*results.notes, "there is nothing to search for: type a word or a filter"))
        if side is not Side.CONVERSATIONS:
            results = self._files(results, unfinished, limit, sort, today if by_meaning else None)
        if side is not Side.FILES:
            results = self._turns(results, unfinished, limit, sort)
        if results.is_empty and side is not Side.CONVERSATIONS and not self._known_kinds():
            results = replace(results, notes=(*results.notes, "no file has been read yet; begin with: jackdaw add"))
        return results

    def completions(self, text: str) -> list[str]:
        """Return the text with its last part completed to a filter or to a known value of one, likeliest first."""
        self._forget_if_changed()
        if not self._values:
            people = list(dict.fromkeys(map(naming.shown, self._in_memory.people())))
            self._values = {"who": people, "from": people, "to": people, "kind": self._known_kinds()}
        return searching.completions(text, self._values)

    def _forget_if_changed(self) -> None:
        if (version := self.device.database.version()) == self._version:
            return
        self._version, self._spelling, self._among = version, None, {}
        if (documents := self.device.knowledge.state()) != self._documents:
            self._documents, self._values, self._kinds, self._index = documents, {}, (), None

    @property
    def _in_memory(self) -> DocumentIndex:
        if self._index is None:
            self._index = DocumentIndex.read(self.device.database)
        return self._index

    @property
    def _store(self) -> DocumentIndex | KnowledgeStore:
        """Looks documents up: in memory while the user types a search, else in the database."""
        return self._in_memory if self._is_typing else self.device.knowledge

    def _known_kinds(self) -> Sequence[str]:
        self._kinds = self._kinds or list(self.device.knowledge.kinds())
        return self._kinds

    # Words

    @property
    def _passages(self) -> FullText:
        return FullText(self.device.database)

    @property
    def _talk(self) -> FullText:
        return FullText(self.device.database, *TURNS)

    def _with_known_kinds(self, search: Search) -> tuple[Search, tuple[str, ...]]:
        """Complete abbreviated kinds. An unknown kind gets a note, and is dropped if another kind is known."""
        if not search.filters.kinds:
            return search, ()
        known = self._known_kinds()
        completed = {kind: [each for each in known if each.startswith(kind.lower())] for kind in search.filters.kinds}
        kinds = tuple(dict.fromkeys(each for some in completed.values() for each in some))
        unknown = [kind for kind, some in completed.items() if not some]
        notes = tuple(f"no file is of the kind {kind}; there are: {', '.join(known) or 'none'}" for kind in unknown)
        return replace(search, filters=replace(search.filters, kinds=kinds or tuple(unknown))), notes

    def _expressions(self, table: FullText, search: Search, unfinished: str) -> tuple[list[str], list[str]]:
        """Return FTS5 expressions for the words, and for the phrases; the word `unfinished` matches as a prefix too."""
        longer = table.with_prefix(unfinished) if len(unfinished) >= _LEAST_BEGINNING else []
        names = self._names
        words = [
            any_of([*with_families([word]), *names.get(word, ()), *(longer if word == unfinished else ())])
            for word in search.words
        ]
        return words, [quoted(phrase) for phrase in search.phrases]

    # Files

    def _files(self, results: Results, unfinished: str, limit: int, sort: Sort, meant_on: date | None) -> Results:
        search = results.search
        among = self._allowed(search.filters)
        expressions, phrases = self._expressions(self._passages, search, unfinished)
        matching, has_all = self._matching(expressions, phrases, among)
        facts = self._store.facts(matching[-MOST_COUNTED:].tolist())
        documents = {each.document for each in facts}
        results = replace(
            results,
            documents=len(documents),
            is_counted=len(matching) <= MOST_COUNTED,
            has_all=has_all,
            facets=matches.facets(facts),
        )
        if sort is Sort.DATE or not search.has_words:
            ids = self._latest(facts, matching, limit, has_words=search.has_words)
            scored = [(passage, 0.0) for passage in self._in_order(ids)]
        elif meant_on:
            scored = self._by_meaning(search, meant_on)
        else:
            scored = self._ranked(search, expressions, phrases, among)
        return replace(results, files=tuple(self._grouped(scored, expressions, phrases, limit)))

    def _allowed(self, filters: SearchFilters) -> Ids | None:
        if filters not in self._among:
            self._among[filters] = self._store.matching(self.device.people.widened(filters))
        return self._among[filters]

    def _matching(self, words: Sequence[str], phrases: Sequence[str], among: Ids | None) -> tuple[Ids, bool]:
        """Return the passages with all terms or, if there are none, with any of them; and whether they have all."""
        if not words and not phrases:
            return (np.empty(0, np.int64) if among is None else among), True
        most = -1 if among is not None else MOST_COUNTED + 1
        for is_all in (True, False):
            joined = [f"({' OR '.join(words)})"] if words and not is_all else words
            ids = self._passages.matches(all_of([*phrases, *joined]), most)
            if among is not None:
                ids = ids[np.isin(ids, among, kind="table")] if len(among) else ids[:0]
            if len(ids) or len(words) < 2:
                return ids, is_all
        return ids, False

    def _latest(self, facts: Sequence[Facts], matching: Ids, limit: int, *, has_words: bool) -> list[int]:
        """Return a passage of each of the latest documents; without words, of all documents that match the filters."""
        if not has_words and len(matching) > len(facts):
            return self._store.latest_of(matching, limit)
        first: dict[int, int] = {}
        for each in facts:
            first.setdefault(each.document, each.passage)
        return [*first.values()][:limit]

    def _ranked(
        self, search: Search, expressions: Sequence[str], phrases: Sequence[str], among: Ids | None
    ) -> list[tuple[StoredPassage, float]]:
        ids = self._passages.best(expressions, phrases, CANDIDATES, among).tolist()
        passages = self._in_order(ids)
        words = [word for part in (*search.words, *search.phrases) for word in terms(part)]
        scores = matches.ranked(words, passages)
        return sorted(zip(passages, scores, strict=True), key=lambda scored: (-scored[1], scored[0].id))

    def _by_meaning(self, search: Search, today: date) -> list[tuple[StoredPassage, float]]:
        from device_app.english.query import Query

        query = Query(search.text, search.filters, tuple(dates.named(search.text, today)))
        hits = self.device.retriever.search(query, CANDIDATES)
        # A question needs one of several copies; who searches wants to see every file.
        return [(passage, hit.score) for hit in hits for passage in (hit.passage, *hit.copies)]

    def _in_order(self, ids: Sequence[int]) -> list[StoredPassage]:
        passages = self.device.knowledge.passages(ids)
        return [passages[identity] for identity in ids if identity in passages]

    def _grouped(
        self, scored: Sequence[tuple[StoredPassage, float]], words: Sequence[str], phrases: Sequence[str], limit: int
    ) -> Iterator[FileResult]:
        """Yield the first `limit` documents with their best passages."""
        best: dict[int, tuple[StoredPassage, float]] = {}
        counts: dict[int, int] = {}
        for passage, score in scored:
            best.setdefault(passage.document_id, (passage, score))
            counts[passage.document_id] = counts.get(passage.document_id, 0) + 1
        chosen = list(best.values())[:limit]
        marked = {}
        if words or phrases:
            expression = f"({' OR '.join([*words, *phrases])})"
            marked = self._passages.marked(expression, [passage.id for passage, _ in chosen])
        for number, (passage, score) in enumerate(chosen, 1):
            text = marked[passage.id].text if passage.id in marked else passage.text
            others = counts[passage.document_id] - 1
            yield FileResult(number, passage, matches.snippet(text), round(score, 4), others)

    # Conversations

    def _turns(self, results: Results, unfinished: str, limit: int, sort: Sort) -> Results:
        search, table = results.search, self._talk
        if search.is_about_files:
            note = "conversations were not searched: of the filters, only dates apply to them"
            return replace(results, notes=(*results.notes, note))
        expressions, phrases = self._expressions(table, search, unfinished)
        if not expressions and not phrases:
            return results
        among = self.device.conversations.asked_between(*_moments(search.filters))
        ids = table.best([all_of(expressions)] if expressions else (), phrases, limit, among).tolist()
        if not ids and len(expressions) > 1:
            ids = table.best(expressions, phrases, limit, among).tolist()
        by_id = {turn.id: turn for turn in self.device.conversations.turns_with(ids)}
        turns = [by_id[identity] for identity in (sorted(ids, reverse=True) if sort is Sort.DATE else ids)]
        marked = table.marked(f"({' OR '.join([*expressions, *phrases])})", ids)
        first = len(results.files) + 1
        numbered = [
            TurnResult(number, turn, matches.snippet(marked[turn.id].text if turn.id in marked else turn.answer))
            for number, turn in enumerate(turns, first)
        ]
        return replace(results, turns=tuple(numbered))


def _moments(filters: SearchFilters) -> tuple[str | None, str | None]:
    """Return the filters' first and last moment in UTC, as turns are stored; None without such a limit."""

    def moment(day: date) -> str:
        return datetime.combine(day, time.min).astimezone().astimezone(UTC).isoformat(timespec="microseconds")

    first, last = filters.after, filters.before
    after = moment(first) if first and first.year >= _FIRST_YEAR else None
    before = moment(last + timedelta(1)) if last and last.year < date.max.year else None
    return after, before
