"""The facts about all documents, held in memory, because a search that is being typed applies its filters again at each
keystroke.

Decides as `PassageStore.matching`, `DocumentStore.kinds` and `DocumentFacts` do, which read the tables each time.
"""

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from shared.types import SearchFilters
from storage.database import Database, folded
from storage.passages import Ids
from storage.search import Facts

_UNDATED = ""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Named:
    """A document's kind and the people named in it: as a JSON array, and in the folded form that filters are compared
    with.

    The folded forms are all people, the sender, and the recipients; in documents other than mails, sender and
    recipients are all people.
    """

    kind: str
    people: str
    all: str
    sender: str
    recipients: str

    @classmethod
    def of(cls, kind: str, people: str) -> Self:
        """Return the value for a document of the given kind that names these people, a JSON array."""
        everybody = folded(people)
        if kind != "mail":
            return cls(kind, people, everybody, everybody, everybody)
        sender, *recipients = json.loads(people) or [""]
        parts = (folded(json.dumps(part, ensure_ascii=False)) for part in ([sender], recipients))
        return cls(kind, people, everybody, *parts)

    def passes(self, filters: SearchFilters) -> bool:
        """Return whether documents with these people pass the filters of kinds and people."""
        if filters.kinds and self.kind not in map(folded, filters.kinds):
            return False
        parts = ((filters.people, self.all), (filters.senders, self.sender), (filters.recipients, self.recipients))
        return all(any(name in part for name in map(folded, names)) for names, part in parts if names)


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One fact about each document: its distinct `values`, and for each document the index of its value in `values`."""

    places: npt.NDArray[np.int32]
    values: Sequence[T]

    @classmethod
    def read(cls, cells: Iterable[Any], made: Callable[[Any], T], *, ordered: bool = False) -> Self:
        """Return the column of these cells, one for each document.

        `made` converts a cell to its value, and is called once for each distinct cell. With `ordered`, the values are
        in ascending order.
        """
        places: dict[Any, int] = {}
        each = np.fromiter((places.setdefault(cell, len(places)) for cell in cells), np.int32)
        distinct = list(places)
        if ordered:
            order = sorted(range(len(distinct)), key=distinct.__getitem__)
            ranks = np.empty(len(order), np.int32)
            ranks[order] = np.arange(len(order), dtype=np.int32)
            each, distinct = ranks[each], [distinct[place] for place in order]
        return cls(each, list(map(made, distinct)))

    def where(self, test: Callable[[T], bool]) -> npt.NDArray[np.bool_]:
        """Return for each document whether its value passes the test, which is made once for each value."""
        return np.fromiter(map(test, self.values), np.bool_, len(self.values))[self.places]

    def of(self, rows: Ids) -> list[T]:
        """Return the values of the documents in these rows."""
        return [self.values[place] for place in self.places[rows].tolist()]


@dataclass(frozen=True, slots=True)
class DocumentIndex:
    """The facts about all documents of a store, and their passages.

    `documents` are the documents' ids, in the order of the rows. `passages` are the ids of all passages, document by
    document and in each document's own order; `rows` are the row numbers of the passages' documents. `recency` ranks
    the documents, the latest first. A path is held as it is stored and folded (see `database.folded`), a title only
    folded; a document without a date has the date "".
    """

    passages: Ids
    rows: Ids
    documents: Ids
    named: Column[Named]
    dates: Column[str]
    paths: Column[tuple[bytes, str]]
    titles: Column[str]
    recency: Ids
    by_id: Ids

    @classmethod
    def read(cls, database: Database) -> Self:
        """Read the facts about all documents."""
        listed = database.execute(
            "SELECT documents.id, kind, people, date, path, title FROM documents "
            "JOIN files ON files.id = file_id ORDER BY documents.id"
        )
        held = database.execute("SELECT id, document_id FROM passages ORDER BY document_id, ordinal")
        passages, owners = np.array(held, np.int64).reshape(-1, 2).T
        documents = np.array([row[0] for row in listed], np.int64)
        dates = Column.read((row[3] or _UNDATED for row in listed), str, ordered=True)
        undated = np.array(dates.where(lambda value: value == _UNDATED))
        latest = np.lexsort((np.where(undated, documents, -documents), -dates.places, undated))
        recency = np.empty(len(documents), np.int64)
        recency[latest] = np.arange(len(documents))
        return cls(
            passages,
            np.searchsorted(documents, owners),
            documents,
            Column.read(((row[1], row[2]) for row in listed), lambda cell: Named.of(*cell)),
            dates,
            Column.read((row[4] for row in listed), lambda path: (path, folded(path))),
            Column.read((row[5] for row in listed), folded),
            recency,
            np.argsort(passages),
        )

    def matching(self, filters: SearchFilters) -> Ids | None:
        """Return the sorted ids of passages whose document passes the filters; None without filters."""
        if filters == SearchFilters():
            return None
        passing = np.ones(len(self.documents), np.bool_)
        if filters.kinds or filters.people or filters.senders or filters.recipients:
            passing &= self.named.where(lambda named: named.passes(filters))
        if places := [folded(place) for place in filters.places]:
            passing &= self.paths.where(lambda path: any(place in path[1] for place in places))
        if titles := [folded(title) for title in filters.titles]:
            passing &= self.titles.where(lambda title: any(part in title for part in titles))
        # "~" sorts after every time of day, and "" before every date.
        if filters.after or filters.before:
            first = bisect_left(self.dates.values, filters.after.isoformat() if filters.after else "0")
            end = bisect_right(self.dates.values, f"{filters.before.isoformat()}~" if filters.before else "~")
            passing &= (self.dates.places >= first) & (self.dates.places < end)
        return np.sort(self.passages[passing[self.rows]])

    def facts(self, passages: Sequence[int]) -> list[Facts]:
        """Return the facts about the documents of the given passages: one `Facts` for each passage that exists, which
        names the passage, in the order given.
        """
        if not len(self.passages):
            return []
        ids = np.array(passages, np.int64)
        near = np.searchsorted(self.passages, ids, sorter=self.by_id)
        places = self.by_id[np.minimum(near, len(self.by_id) - 1)]
        places = places[self.passages[places] == ids]
        rows = self.rows[places]
        return [
            Facts(passage, document, named.kind, day or None, named.people, path)
            for passage, document, named, day, (path, _) in zip(
                self.passages[places].tolist(),
                self.documents[rows].tolist(),
                self.named.of(rows),
                self.dates.of(rows),
                self.paths.of(rows),
                strict=True,
            )
        ]

    def latest(self, count: int, among: Ids | None = None) -> list[int]:
        """Return the ids of one passage each of the `count` documents with the latest dates, latest first; documents
        without a date come last. `among` restricts the passages; documents without any of these passages are left out.
        """
        kept = np.arange(len(self.passages)) if among is None else np.flatnonzero(np.isin(self.passages, among))
        first = kept[np.flatnonzero(np.diff(self.rows[kept], prepend=-1))]
        latest: list[int] = self.passages[first[np.argsort(self.recency[self.rows[first]])[:count]]].tolist()
        return latest

    def kinds(self) -> list[str]:
        """Return the kinds of documents, the most frequent first."""
        counts = Counter[str]()
        for named, count in zip(self.named.values, np.bincount(self.named.places).tolist(), strict=True):
            counts[named.kind] += count
        return _most_frequent(counts)

    def people(self) -> list[str]:
        """Return all people, those first that are named in the most passages."""
        counts = Counter[str]()
        passages = np.bincount(self.named.places[self.rows], minlength=len(self.named.values))
        for named, count in zip(self.named.values, passages.tolist(), strict=True):
            for person in json.loads(named.people):
                counts[person] += count
        return _most_frequent(counts)


def _most_frequent(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda value: (-counts[value], value))
