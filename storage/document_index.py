"""The facts about all documents, held in memory, because a search that is being typed applies its filters again at each
keystroke. What the filters mean and how documents are ordered is decided in `filtering`.
"""

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from shared.types import SearchFilters
from storage.database import Database, folded
from storage.documents import Facts
from storage.filtering import LATEST_FIRST, TEXTS, Meaning
from storage.passages import Ids

T = TypeVar("T")
U = TypeVar("U")

_OF_NAMES = ("people", "senders", "recipients")
"""The filters whose texts are of a document's kind and people."""


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One fact about each document: its distinct `values`, and for each document the index of its value in `values`."""

    places: npt.NDArray[np.int32]
    values: Sequence[T]

    @classmethod
    def read(cls, cells: Iterable[T], order: Ids | slice = slice(None)) -> Self:
        """Return the column of these cells, in the given order; the values are in the order of their first cells."""
        places: dict[T, int] = {}
        each = np.fromiter((places.setdefault(cell, len(places)) for cell in cells), np.int32)
        return cls(each[order], list(places))

    def mapped(self, made: Callable[[T], U]) -> "Column[U]":
        """Return a column of what is made of each distinct value."""
        return Column(self.places, list(map(made, self.values)))

    def where(self, test: Callable[[T], bool]) -> npt.NDArray[np.bool_]:
        """Return for each document whether its value passes the test, which is made once for each value."""
        return np.fromiter(map(test, self.values), np.bool_, len(self.values))[self.places]

    def of(self, rows: Ids) -> list[T]:
        """Return the values of the documents in these rows."""
        return [self.values[place] for place in self.places[rows].tolist()]


@dataclass(frozen=True, slots=True)
class DocumentIndex:
    """The facts about all documents of a store, and their passages.

    `documents` are the documents' ids, in the order of the rows: the latest first. `passages` are the ids of all
    passages, document by document and in each document's own order; `rows` are the row numbers of the passages'
    documents. `named` are the people, as JSON arrays. `texts` are folded, and what filters are compared with, see
    `filtering.TEXTS`. A document without a date has the date ""; one without passages is left out.
    """

    passages: Ids
    rows: Ids
    documents: Ids
    kinds: Column[str]
    named: Column[str]
    dates: Column[str]
    paths: Column[bytes]
    texts: Mapping[str, Column[str]]
    by_id: Ids

    @classmethod
    def read(cls, database: Database) -> Self:
        """Read the facts about all documents."""
        with database.snapshot():
            held = database.execute(
                "SELECT document_id, passages.id FROM documents CROSS JOIN passages ON document_id = documents.id "
                f"ORDER BY {LATEST_FIRST}, ordinal"
            )
            listed = database.execute(
                "SELECT id, kind, people, COALESCE(date, ''), file_id, title FROM documents ORDER BY id"
            )
            files = database.execute("SELECT id, path FROM files")
        owners, passages = np.array(held, np.int64).reshape(-1, 2).T
        is_first = np.diff(owners, prepend=0) != 0
        documents = owners[is_first]
        order = np.searchsorted(np.array([row[0] for row in listed], np.int64), documents)
        named = Column.read((row[1:3] for row in listed), order)
        paths = Column.read((row[4] for row in listed), order).mapped(dict(files).__getitem__)
        parts = database.execute(
            f"SELECT {', '.join(TEXTS[name] for name in _OF_NAMES)} FROM (SELECT json_extract(value, '$[0]') AS kind, "
            "json_extract(value, '$[1]') AS people FROM json_each(?) ORDER BY key)",
            (json.dumps(named.values, ensure_ascii=False),),
        )
        texts: dict[str, Column[Any]] = {
            "places": paths,
            "titles": Column.read((row[5] for row in listed), order),
            **{name: Column(named.places, [row[place] for row in parts]) for place, name in enumerate(_OF_NAMES)},
        }
        fold = cache(folded)  # in documents other than mails, sender and recipients are the same text as all people
        return cls(
            passages,
            np.cumsum(is_first) - 1,
            documents,
            named.mapped(itemgetter(0)),
            named.mapped(itemgetter(1)),
            Column.read(listed[place][3] for place in order.tolist()),
            paths,
            {name: column.mapped(fold) for name, column in texts.items()},
            np.argsort(passages),
        )

    def matching(self, filters: SearchFilters) -> Ids | None:
        """Return the sorted ids of passages whose document passes the filters; None without filters."""
        if filters == SearchFilters():
            return None
        meaning = Meaning.of(filters)
        passing = np.ones(len(self.documents), np.bool_)
        if meaning.kinds:
            passing &= self.kinds.where(lambda kind: kind in meaning.kinds)
        for name, parts in meaning.parts.items():
            passing &= self.texts[name].where(partial(_holds_any, parts))
        if meaning.first or meaning.last:
            dates = self.dates.values[::-1]  # "", then the earliest; every date is at least "0" and at most "~"
            first = len(dates) - bisect_right(dates, meaning.last or "~")
            end = len(dates) - bisect_left(dates, meaning.first or "0")
            passing &= (self.dates.places >= first) & (self.dates.places < end)
        return np.sort(self.passages[passing[self.rows]])

    def facts(self, passages: Sequence[int]) -> list[Facts]:
        """Return the facts about the documents of the given passages, as `DocumentStore.facts` does."""
        if not len(self.passages):
            return []
        ids = np.array(passages, np.int64)
        near = np.searchsorted(self.passages, ids, sorter=self.by_id)
        places = self.by_id[np.minimum(near, len(self.by_id) - 1)]
        places = np.sort(places[self.passages[places] == ids])
        rows = self.rows[places]
        return [
            Facts(passage, document, kind, day or None, people, path)
            for passage, document, kind, day, people, path in zip(
                self.passages[places].tolist(),
                self.documents[rows].tolist(),
                self.kinds.of(rows),
                self.dates.of(rows),
                self.named.of(rows),
                self.paths.of(rows),
                strict=True,
            )
        ]

    def latest_of(self, passages: Ids, count: int) -> list[int]:
        """Return one passage each of the latest documents, as `DocumentStore.latest_of` does."""
        kept = np.flatnonzero(np.isin(self.passages, passages))
        first = kept[np.flatnonzero(np.diff(self.rows[kept], prepend=-1))]
        latest: list[int] = self.passages[first[:count]].tolist()
        return latest

    def people(self) -> list[str]:
        """Return all people, those first that are named in the most passages."""
        counts = Counter[str]()
        passages = np.bincount(self.named.places[self.rows], minlength=len(self.named.values))
        for people, count in zip(self.named.values, passages.tolist(), strict=True):
            for person in json.loads(people):
                counts[person] += count
        return sorted(counts, key=lambda person: (-counts[person], person))


def _holds_any(parts: Sequence[str], text: str) -> bool:
    return any(part in text for part in parts)
