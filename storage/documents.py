"""Lists and counts documents by their kind, people, title, date and path. Writes nothing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from shared.types import Filters, StoredPassage
from storage.database import Database
from storage.passages import PassageStore, conditions, show


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
class Documents:
    """The documents of one database."""

    database: Database

    def latest(self, filters: Filters, most: int = -1, *, oldest: bool = False) -> list[StoredDocument]:
        """Return the `most` latest documents that pass the filters, latest first, or the oldest first.

        Documents without a date come last.
        """
        restrictions, parameters = conditions(filters)
        where = f"WHERE {' AND '.join(restrictions)} " if restrictions else ""
        order = "ASC" if oldest else "DESC"
        rows = self.database.execute(
            "SELECT documents.id, kind, title, date, people, path FROM documents JOIN files ON files.id = file_id "
            f"{where}ORDER BY date IS NULL, date {order}, documents.id {order} LIMIT ?",
            (*parameters, most),
        )
        return [
            StoredDocument(identity, kind, title, day, tuple(json.loads(people)), show(path))
            for identity, kind, title, day, people, path in rows
        ]

    def kinds(self) -> dict[str, int]:
        """Return the number of documents of each kind, the most frequent kind first."""
        return dict(
            self.database.execute("SELECT kind, COUNT(*) FROM documents GROUP BY kind ORDER BY COUNT(*) DESC, kind")
        )

    def people(self, kind: str) -> dict[tuple[str, ...], int]:
        """Return how many documents of a kind each list of people has."""
        rows = self.database.execute("SELECT people, COUNT(*) FROM documents WHERE kind = ? GROUP BY people", (kind,))
        return {tuple(json.loads(people)): count for people, count in rows}

    def passages(self, documents: Sequence[int], most: int = -1) -> list[StoredPassage]:
        """Return at most `most` passages of each of these documents, in the order of the documents."""
        store, in_order = PassageStore(self.database), list[StoredPassage]()
        for document in documents:
            ids = self.database.execute(
                "SELECT id FROM passages WHERE document_id = ? ORDER BY ordinal LIMIT ?", (document, most)
            )
            passages = store.passages(row[0] for row in ids)
            in_order += [passages[row[0]] for row in ids]
        return in_order
