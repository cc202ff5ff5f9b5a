"""Lists and counts documents by their kind, people, title, date and path. Writes nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

import numpy as np

from shared.types import Filters, StoredPassage
from storage.filtering import LATEST_FIRST, OLDEST_FIRST, conditions
from storage.passages import Ids, PassageStore, show

_PAGE: Final = 1_000
"""The passages that are read first in search of the latest documents; then each read doubles them."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the store lists it. `date` is ISO 8601 or None; the first of a mail's `people` is its sender."""

    id: int
    kind: str
    title: str
    date: str | None
    people: tuple[str, ...]
    path: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a passage's document. `date` is ISO 8601 or None; `people` is a JSON array, as it is stored."""

    passage: int
    document: int
    kind: str
    date: str | None
    people: str
    path: bytes


@dataclass(frozen=True, slots=True)
class NewDocuments:
    """The numbers of new documents by kind, the most frequent kind first, and the newest document."""

    kinds: Mapping[str, int]
    newest: StoredDocument


@dataclass(frozen=True, slots=True)
class DocumentStore(PassageStore):
    """The documents of one database, with their passages."""

    def latest(self, filters: Filters, most: int = -1, *, oldest: bool = False) -> list[StoredDocument]:
        """Return the `most` latest documents that pass the filters, latest first; with `oldest`, the oldest ones,
        oldest first. -1 returns all. Documents without a date come last.
        """
        restrictions, parameters = conditions(filters)
        where = f"WHERE {' AND '.join(restrictions)} " if restrictions else ""
        order = OLDEST_FIRST if oldest else LATEST_FIRST
        rows = self.database.execute(f"{_SELECT}{where}ORDER BY {order} LIMIT ?", (*parameters, most))
        return list(map(_document, rows))

    def facts(self, passages: Sequence[int]) -> list[Facts]:
        """Return the facts about the documents of the given passages: one `Facts` for each passage that exists, which
        names the passage; the latest documents first, and within a document in its own order.
        """
        rows = self.database.execute(
            "SELECT passages.id, documents.id, kind, date, people, path FROM passages "
            "JOIN documents ON documents.id = document_id JOIN files ON files.id = file_id "
            f"WHERE passages.id IN (SELECT value FROM json_each(?)) ORDER BY {LATEST_FIRST}, ordinal",
            (json.dumps([*passages]),),
        )
        return [Facts(*row) for row in rows]

    def latest_of(self, passages: Ids, count: int) -> list[int]:
        """Return the ids of the first of the given passages, whose ids are sorted, of each of the `count` latest
        documents that have any, latest first.
        """
        first: dict[int, int] = {}
        start = 0
        while len(first) < count and (
            rows := self.database.execute(
                "SELECT document_id, passages.id FROM documents CROSS JOIN passages ON document_id = documents.id "
                f"ORDER BY {LATEST_FIRST}, ordinal LIMIT ? OFFSET ?",
                (max(_PAGE, start), start),
            )
        ):
            held = np.array(rows, np.int64)
            for document, passage in held[np.isin(held[:, 1], passages)].tolist():
                first.setdefault(document, passage)
            start += len(rows)
        return [*first.values()][:count]

    def kinds(self) -> dict[str, int]:
        """Return the number of documents of each kind, the most frequent kind first."""
        return dict(
            self.database.execute("SELECT kind, COUNT(*) FROM documents GROUP BY kind ORDER BY COUNT(*) DESC, kind")
        )

    def new_since(self, moment: datetime, today: date) -> NewDocuments | None:
        """Return the documents first read since a moment, as far as that is known; None if there are none.

        Ids grow with time: a document is new if its id is greater than the ids of all documents in files last read
        before that moment. Without such files nothing is known, as a file that was read again holds old documents too.
        `NewDocuments.newest` is the new document with the latest date up to today, else the last one read.
        """
        parameters = (moment.astimezone(UTC).isoformat(timespec="seconds"),)
        ((last,),) = self.database.execute(
            "SELECT MAX(documents.id) FROM documents JOIN files ON files.id = file_id WHERE ingested_at < ?", parameters
        )
        kinds = last and dict(
            self.database.execute(
                "SELECT kind, COUNT(*) FROM documents WHERE id > ? GROUP BY kind ORDER BY COUNT(*) DESC, kind", (last,)
            )
        )
        if not kinds:
            return None
        rows = self.database.execute(
            f"{_SELECT}WHERE documents.id > ? ORDER BY COALESCE(date < ?, 0) DESC, "
            "CASE WHEN date < ? THEN date END DESC, documents.id DESC LIMIT 1",
            (last, f"{today}~", f"{today}~"),  # ISO 8601 sorts as text, and "~" sorts after every time of day
        )
        return NewDocuments(kinds, _document(rows[0]))

    def keys_dated(self, path: bytes, first: date, last: date) -> list[str]:
        """Return the keys of a file's documents dated from the day `first` to the day `last`, both included."""
        rows = self.database.execute(
            "SELECT key FROM documents JOIN files ON files.id = file_id WHERE path = ? AND date BETWEEN ? AND ?",
            (path, f"{first}", f"{last}~"),  # ISO 8601 sorts as text, and "~" sorts after every time of day
        )
        return [row[0] for row in rows]

    def dated(self, expression: str, kinds: Sequence[str], first: date, last: date, most: int) -> list[StoredPassage]:
        """Return the `most` latest passages that match an FTS5 expression, latest first, of documents of the given
        kinds that are dated from the day `first` to the day `last`, both included.
        """
        rows = self.database.execute(
            "SELECT passages.id FROM passages_fts JOIN passages ON passages.id = passages_fts.rowid "
            "JOIN documents ON documents.id = document_id WHERE passages_fts MATCH ? AND date BETWEEN ? AND ? "
            f"AND kind IN (SELECT value FROM json_each(?)) ORDER BY {LATEST_FIRST}, ordinal LIMIT ?",
            (expression, f"{first}", f"{last}~", json.dumps([*kinds]), most),  # "~" sorts after every time of day
        )
        held = self.passages(row[0] for row in rows)
        return [held[row[0]] for row in rows]

    def passages_of_documents(self, documents: Sequence[int], most: int = -1) -> list[StoredPassage]:
        """Return the first `most` passages (-1: all) of each of the given documents, in one list: document by document
        in the given order, and within a document in its own order.
        """
        in_order = list[StoredPassage]()
        for document in documents:
            ids = self.database.execute(
                "SELECT id FROM passages WHERE document_id = ? ORDER BY ordinal LIMIT ?", (document, most)
            )
            passages = self.passages(row[0] for row in ids)
            in_order += [passages[row[0]] for row in ids]
        return in_order


_SELECT = "SELECT documents.id, kind, title, date, people, path FROM documents JOIN files ON files.id = file_id "


def _document(row: Sequence[Any]) -> StoredDocument:
    identity, kind, title, day, people, path = row
    return StoredDocument(identity, kind, title, day, tuple(json.loads(people)), show(path))
