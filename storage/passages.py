"""Reads passages from the store: by id, by position, by their documents' attributes. Writes nothing."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from shared.types import Filters, StoredPassage
from storage.database import Database, folded
from storage.filtering import conditions

Ids = npt.NDArray[np.int64]
"""Passage ids as an array; sorted if they restrict a search."""

_MOST_PARAMETERS = 500

T = TypeVar("T", int, bytes)


@dataclass(frozen=True, slots=True)
class PassageStore:
    """The passages of one database."""

    database: Database

    def newest_passage(self) -> int:
        """Return the highest id that any passage ever had, including deleted ones; 0 if there was none."""
        rows = self.database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'passages'")
        return int(rows[0][0]) if rows else 0

    def state(self) -> tuple[int, int]:
        """Return the id of the newest passage and the number of passages ever removed: if neither has changed, no
        document has changed.
        """
        removed = self.database.execute("SELECT count FROM removals WHERE name = 'passages'")
        return self.newest_passage(), int(removed[0][0]) if removed else 0

    def passages(self, ids: Iterable[int]) -> dict[int, StoredPassage]:
        """Return the passages with the given ids, by id; ids without a passage are left out."""
        by_id: dict[int, StoredPassage] = {}
        for some in _chunks(list(ids)):
            rows = self.database.execute(f"{_SELECT_PASSAGE} WHERE passages.id IN ({_marks(some)})", some)
            by_id.update((row[0], _passage(row)) for row in rows)
        return by_id

    def newest_passages(self) -> Iterator[StoredPassage]:
        """Yield all passages, newest first, reading them in batches."""
        below = self.newest_passage() + 1
        while rows := self.database.execute(
            f"{_SELECT_PASSAGE} WHERE passages.id < ? ORDER BY passages.id DESC LIMIT 50", (below,)
        ):
            yield from map(_passage, rows)
            below = rows[-1][0]

    def passages_after(self, identity: int, count: int) -> list[StoredPassage]:
        """Return the first `count` passages with an id greater than the given one, by ascending id."""
        rows = self.database.execute(
            f"{_SELECT_PASSAGE} WHERE passages.id > ? ORDER BY passages.id LIMIT ?", (identity, count)
        )
        return [_passage(row) for row in rows]

    def passages_around(self, passage: StoredPassage, count: int) -> list[StoredPassage]:
        """Return the passages of the same file whose ids differ from the given passage's by at most `count`, this
        passage included, by ascending id.
        """
        rows = self.database.execute(
            f"{_SELECT_PASSAGE} WHERE passages.id BETWEEN ? AND ? AND file_id = "
            "(SELECT file_id FROM documents WHERE id = ?) ORDER BY passages.id",
            (passage.id - count, passage.id + count, passage.document_id),
        )
        return [_passage(row) for row in rows]

    def passages_of(self, path: bytes, most: int = -1) -> list[StoredPassage]:
        """Return a file's first `most` passages, in order; -1 returns all."""
        rows = self.database.execute(
            f"{_SELECT_PASSAGE} WHERE path = ? ORDER BY document_id, ordinal LIMIT ?", (path, most)
        )
        return [_passage(row) for row in rows]

    def fitting(self, patterns: Sequence[str], kinds: Sequence[str]) -> list[int]:
        """Return the ids of the passages in documents of these kinds whose text fits a pattern of SQLite's GLOB."""
        some = " OR ".join("text GLOB ?" for _ in patterns)
        rows = self.database.execute(
            "SELECT passages.id FROM passages JOIN documents ON documents.id = document_id "
            f"WHERE kind IN ({_marks(kinds)}) AND ({some})",
            (*kinds, *patterns),
        )
        return [row[0] for row in rows]

    def spread(self, count: int) -> list[StoredPassage]:
        """Return about `count` passages, each the first of its document: equally many of each kind of document, evenly
        spread over the documents of the kind; all of a kind that has too few.
        """
        ids: dict[str, list[int]] = {}
        for kind, identity in self.database.execute(
            "SELECT kind, passages.id FROM documents CROSS JOIN passages ON document_id = documents.id "
            "WHERE ordinal = 0 ORDER BY passages.id"
        ):
            ids.setdefault(kind, []).append(identity)
        chosen = [identity for some in ids.values() for identity in some[:: max(1, len(some) * len(ids) // count)]]
        return list(self.passages(chosen).values())

    def matching(self, filters: Filters) -> Ids | None:
        """Return the sorted ids of passages whose document passes the filters; None without filters."""
        restrictions, parameters = conditions(filters)
        if not restrictions:
            return None
        # A cross join keeps the written order: the ids then come from an index, not from the texts' pages.
        rows = self.database.execute(
            f"SELECT passages.id FROM documents CROSS JOIN passages ON document_id = documents.id "
            f"WHERE {' AND '.join(restrictions)}",
            parameters,
        )
        return np.sort(np.array([row[0] for row in rows], dtype=np.int64))

    def passages_in(self, paths: Iterable[bytes]) -> Ids:
        """Return the sorted ids of the passages in the given files."""
        ids: list[int] = []
        for some in _chunks(list(paths)):
            rows = self.database.execute(
                "SELECT passages.id FROM files JOIN documents ON file_id = files.id "
                f"JOIN passages ON document_id = documents.id WHERE path IN ({_marks(some)})",
                some,
            )
            ids += [row[0] for row in rows]
        return np.sort(np.array(ids, dtype=np.int64))

    def has_path(self, part: str) -> bool:
        """Return whether the path of a stored file contains `part`, ignoring case."""
        rows = self.database.execute("SELECT 1 FROM files WHERE instr(folded(path), ?) > 0 LIMIT 1", [folded(part)])
        return bool(rows)


_SELECT_PASSAGE = (
    "SELECT passages.id, text, ordinal, line, page, document_id, title, kind, date, people, path "
    "FROM passages JOIN documents ON documents.id = document_id JOIN files ON files.id = file_id"
)


def show(path: bytes) -> str:
    """Return the path as printable text that is valid in JSON, whatever its bytes."""
    return os.fsdecode(path).encode("utf-8", "replace").decode("utf-8")


def _passage(row: tuple[Any, ...]) -> StoredPassage:
    identity, text, ordinal, line, page, document_id, title, kind, day, people, path = row
    return StoredPassage(
        identity, text, ordinal, line, page, document_id, title, kind, day, tuple(json.loads(people)), show(path)
    )


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _chunks(values: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(values), _MOST_PARAMETERS):
        yield values[start : start + _MOST_PARAMETERS]
