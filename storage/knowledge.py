"""Rows of what has been read: folders, files, documents, passages. Knows no format, no model and no ranking."""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shared.types import Document, Passage, StoredPassage
from storage.database import Database, folded

Ids = npt.NDArray[np.int64]
"""Passage ids, sorted where they restrict a search."""

_MOST_PARAMETERS = 500


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was when it was read. `sha256` is None while only part of its documents is stored."""

    path: bytes
    size: int
    mtime_ns: int
    sha256: str | None
    recipe: str


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document with its passages and their unit vectors, shape (passages, dimensions)."""

    document: Document
    hash: str
    passages: Sequence[Passage]
    vectors: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents may answer. Empty means all; several of one kind widen, different kinds narrow.

    `people` and `places` match as parts of names and of paths, `kinds` as wholes, all without regard to case; dates are
    inclusive.
    """

    people: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None

    def within(self, first: date, last: date) -> Self:
        """These, and from `first` to `last` as well."""
        return replace(
            self,
            after=max(filter(None, (self.after, first))),
            before=min(filter(None, (self.before, last))),
        )


@dataclass(frozen=True, slots=True)
class FileSummary:
    """One line of `jackdaw knowledge list`."""

    path: str
    size: int
    documents: int
    passages: int
    ingested_at: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Totals:
    """How much is known."""

    folders: int
    files: int
    documents: int
    passages: int
    skipped: int


@dataclass(frozen=True, slots=True)
class KnowledgeStore:
    """The knowledge tables of one database. Callers that change several rows hold `database.transaction()`."""

    database: Database

    # Folders and what was skipped

    def remember_folder(self, path: bytes) -> None:
        """Note a folder that the person added."""
        self.database.execute("INSERT OR IGNORE INTO folders VALUES (?, ?)", (path, _now()))

    def folders(self) -> list[bytes]:
        """Folders that the person added."""
        return [row[0] for row in self.database.execute("SELECT path FROM folders ORDER BY path")]

    def forget_folders(self, path: bytes) -> int:
        """Forget a folder and those inside it; how many there were."""
        ((count,),) = self.database.execute(f"SELECT COUNT(*) FROM folders WHERE {UNDER}", under(path))
        self.database.execute(f"DELETE FROM folders WHERE {UNDER}", under(path))
        return int(count)

    def note_skipped(self, path: bytes, reason: str) -> None:
        """Note why a file could not be read. What was stored of an older version of it stays."""
        self.database.execute("INSERT OR REPLACE INTO skipped VALUES (?, ?, ?)", (path, reason, _now()))

    def clear_skipped(self, path: bytes) -> None:
        """Forget what was skipped at or under a path."""
        self.database.execute(f"DELETE FROM skipped WHERE {UNDER}", under(path))

    def skipped(self) -> list[tuple[str, str]]:
        """(path, reason) of every file that could not be read."""
        return [(show(path), reason) for path, reason in self.database.execute("SELECT path, reason FROM skipped")]

    # Files and documents

    def file(self, path: bytes) -> FileState | None:
        """The file as it was when it was read, or None if it never was."""
        rows = self.database.execute("SELECT path, size, mtime_ns, sha256, recipe FROM files WHERE path = ?", (path,))
        return FileState(*rows[0]) if rows else None

    def paths_under(self, path: bytes) -> list[bytes]:
        """Paths of known files at or under a path."""
        return [row[0] for row in self.database.execute(f"SELECT path FROM files WHERE {UNDER}", under(path))]

    def touch(self, state: FileState) -> None:
        """Note a new size and time for a file whose content is the same."""
        self.database.execute(
            "UPDATE files SET size = ?, mtime_ns = ? WHERE path = ?", (state.size, state.mtime_ns, state.path)
        )

    def open_file(self, state: FileState) -> int:
        """The id of the file's row, made if need be and marked incomplete."""
        self.clear_skipped(state.path)
        self.database.execute(
            "INSERT INTO files (path, size, mtime_ns, sha256, recipe, ingested_at) VALUES (?, ?, ?, NULL, ?, ?) "
            "ON CONFLICT (path) DO UPDATE SET sha256 = NULL",
            (state.path, state.size, state.mtime_ns, state.recipe, _now()),
        )
        return int(self.database.execute("SELECT id FROM files WHERE path = ?", (state.path,))[0][0])

    def document_hashes(self, path: bytes) -> dict[str, str]:
        """Key to hash of the file's stored documents."""
        return dict(
            self.database.execute(
                "SELECT key, hash FROM documents JOIN files ON files.id = file_id WHERE path = ?", (path,)
            )
        )

    def count_documents(self, path: bytes) -> int:
        """How many documents of the file are stored."""
        rows = self.database.execute(
            "SELECT COUNT(*) FROM documents JOIN files ON files.id = file_id WHERE path = ?", (path,)
        )
        return int(rows[0][0])

    def vectors_by_text(self, path: bytes, key: str) -> dict[tuple[str, str], bytes]:
        """(title, passage text) to vector bytes of one stored document, so that an edit embeds only what is new."""
        rows = self.database.execute(
            "SELECT title, text, vector FROM files JOIN documents ON file_id = files.id "
            "JOIN passages ON document_id = documents.id JOIN vectors ON passage_id = passages.id "
            "WHERE path = ? AND key = ?",
            (path, key),
        )
        return {(title, text): vector for title, text, vector in rows}

    def put(self, file_id: int, prepared: PreparedDocument) -> None:
        """Store a document in place of the one with its key.

        A passage that is the same as before keeps its id, and with it what was made of it.
        """
        document = prepared.document
        day = None if document.date is None else document.date.isoformat()
        heading = (document.kind, document.title, day, json.dumps(document.people, ensure_ascii=False))
        rows = self.database.execute(
            "SELECT id, kind, title, date, people FROM documents WHERE file_id = ? AND key = ?", (file_id, document.key)
        )
        if rows and rows[0][1:] == heading:
            document_id = int(rows[0][0])
            self.database.execute("UPDATE documents SET hash = ? WHERE id = ?", (prepared.hash, document_id))
            kept = self._keep_passages(document_id, prepared.passages)
        else:
            self.database.execute("DELETE FROM documents WHERE file_id = ? AND key = ?", (file_id, document.key))
            document_id = self.database.insert(
                "INSERT INTO documents (file_id, key, hash, kind, title, date, people) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (file_id, document.key, prepared.hash, *heading),
            )
            kept = {}
        for passage, vector in zip(prepared.passages, prepared.vectors, strict=True):
            passage_id = kept.get(passage.ordinal) or self.database.insert(
                "INSERT INTO passages (document_id, ordinal, text, line, page) VALUES (?, ?, ?, ?, ?)",
                (document_id, passage.ordinal, passage.text, passage.line, passage.page),
            )
            self.database.execute(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                (passage_id, np.ascontiguousarray(vector, "<f4").tobytes()),
            )

    def _keep_passages(self, document_id: int, passages: Sequence[Passage]) -> dict[int, int]:
        """Move the document's passages that are among these to their places, drop the rest; the ids by place."""
        stored: dict[str, list[int]] = {}
        for identity, text in self.database.execute(
            "SELECT id, text FROM passages WHERE document_id = ? ORDER BY ordinal DESC", (document_id,)
        ):
            stored.setdefault(text, []).append(identity)
        kept = [(one, stored[one.text].pop()) for one in passages if stored.get(one.text)]
        self.database.execute_many(
            "DELETE FROM passages WHERE id = ?", [(identity,) for ids in stored.values() for identity in ids]
        )
        # Places are unique: first out of the way, then to their own.
        self.database.execute("UPDATE passages SET ordinal = -1 - ordinal WHERE document_id = ?", (document_id,))
        self.database.execute_many(
            "UPDATE passages SET ordinal = ?, line = ?, page = ? WHERE id = ?",
            [(one.ordinal, one.line, one.page, identity) for one, identity in kept],
        )
        return {one.ordinal: identity for one, identity in kept}

    def close_file(self, file_id: int, state: FileState, keys: Collection[str]) -> None:
        """Mark the file complete and drop its documents whose key is not among `keys`."""
        stored = [row[0] for row in self.database.execute("SELECT key FROM documents WHERE file_id = ?", (file_id,))]
        self.database.execute_many(
            "DELETE FROM documents WHERE file_id = ? AND key = ?",
            [(file_id, key) for key in stored if key not in keys],
        )
        self.database.execute(
            "UPDATE files SET size = ?, mtime_ns = ?, sha256 = ?, recipe = ?, ingested_at = ? WHERE id = ?",
            (state.size, state.mtime_ns, state.sha256, state.recipe, _now(), file_id),
        )

    def remove_file(self, path: bytes) -> None:
        """Forget a file with all its documents."""
        self.database.execute("DELETE FROM files WHERE path = ?", (path,))

    # Reading back

    def newest_passage(self) -> int:
        """The highest id that a passage ever had; 0 before the first."""
        rows = self.database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'passages'")
        return int(rows[0][0]) if rows else 0

    def passages(self, ids: Iterable[int]) -> dict[int, StoredPassage]:
        """Id to passage, for those ids that (still) exist."""
        found: dict[int, StoredPassage] = {}
        for some in _chunks(list(ids)):
            rows = self.database.execute(f"{_SELECT_PASSAGE} WHERE passages.id IN ({_marks(some)})", some)
            found.update((row[0], _passage(row)) for row in rows)
        return found

    def newest_passages(self) -> Iterator[StoredPassage]:
        """All passages, the newest first, read as they are taken."""
        below = self.newest_passage() + 1
        while rows := self.database.execute(
            f"{_SELECT_PASSAGE} WHERE passages.id < ? ORDER BY passages.id DESC LIMIT 50", (below,)
        ):
            yield from map(_passage, rows)
            below = rows[-1][0]

    def passages_after(self, identity: int, count: int) -> list[StoredPassage]:
        """The oldest `count` passages that are newer than that id."""
        rows = self.database.execute(
            f"{_SELECT_PASSAGE} WHERE passages.id > ? ORDER BY passages.id LIMIT ?", (identity, count)
        )
        return [_passage(row) for row in rows]

    def passages_around(self, passage: StoredPassage, count: int) -> list[StoredPassage]:
        """The passages of the same file within so many of this one, on both sides, in order."""
        rows = self.database.execute(
            f"{_SELECT_PASSAGE} WHERE passages.id BETWEEN ? AND ? AND file_id = "
            "(SELECT file_id FROM documents WHERE id = ?) ORDER BY passages.id",
            (passage.id - count, passage.id + count, passage.document_id),
        )
        return [_passage(row) for row in rows]

    def passages_of(self, path: bytes, most: int = -1) -> list[StoredPassage]:
        """A file's passages, in order; all of them, or so many at the most."""
        rows = self.database.execute(
            f"{_SELECT_PASSAGE} WHERE path = ? ORDER BY document_id, ordinal LIMIT ?", (path, most)
        )
        return [_passage(row) for row in rows]

    def spread(self, count: int) -> list[StoredPassage]:
        """About so many passages of all kinds of document alike, evenly from the first to the last of each."""
        ids: dict[str, list[int]] = {}
        for kind, identity in self.database.execute(
            "SELECT kind, passages.id FROM documents CROSS JOIN passages ON document_id = documents.id "
            "WHERE ordinal = 0 ORDER BY passages.id"
        ):
            ids.setdefault(kind, []).append(identity)
        chosen = [one for some in ids.values() for one in some[:: max(1, len(some) * len(ids) // count)]]
        return list(self.passages(chosen).values())

    def matching(self, filters: Filters) -> Ids | None:
        """Sorted ids of the passages whose document passes the filters; None where there is no filter."""
        conditions, parameters = _conditions(filters)
        if not conditions:
            return None
        files = "JOIN files ON files.id = file_id" if filters.places else ""
        # A cross join is made in the order written: the ids then come from an index, not from among the texts.
        rows = self.database.execute(
            f"SELECT passages.id FROM documents {files} CROSS JOIN passages ON document_id = documents.id "
            f"WHERE {' AND '.join(conditions)}",
            parameters,
        )
        return np.sort(np.array([row[0] for row in rows], dtype=np.int64))

    def kinds(self) -> list[str]:
        """The kinds of document there are."""
        return [row[0] for row in self.database.execute("SELECT DISTINCT kind FROM documents ORDER BY kind")]

    def summaries(self) -> list[FileSummary]:
        """Every known file."""
        rows = self.database.execute(
            "SELECT path, size, COUNT(DISTINCT documents.id), COUNT(passages.id), ingested_at, sha256 IS NOT NULL "
            "FROM files LEFT JOIN documents ON file_id = files.id LEFT JOIN passages ON document_id = documents.id "
            "GROUP BY files.id ORDER BY path"
        )
        return [
            FileSummary(show(path), size, documents, passages, at, bool(whole))
            for path, size, documents, passages, at, whole in rows
        ]

    def totals(self) -> Totals:
        """How much is known."""
        tables = ("folders", "files", "documents", "passages", "skipped")
        return Totals(*(self.database.execute(f"SELECT COUNT(*) FROM {table}")[0][0] for table in tables))


_SELECT_PASSAGE = (
    "SELECT passages.id, text, ordinal, line, page, document_id, title, kind, date, people, path "
    "FROM passages JOIN documents ON documents.id = document_id JOIN files ON files.id = file_id"
)
# A path itself, or anything behind it and a separator.
UNDER = "(path = ? OR substr(path, 1, ?) = ?)"


def show(path: bytes) -> str:
    """A path as text that can be printed and put into JSON, whatever its bytes."""
    return os.fsdecode(path).encode("utf-8", "replace").decode("utf-8")


def _passage(row: tuple[Any, ...]) -> StoredPassage:
    identity, text, ordinal, line, page, document_id, title, kind, day, people, path = row
    return StoredPassage(
        identity, text, ordinal, line, page, document_id, title, kind, day, tuple(json.loads(people)), show(path)
    )


def under(path: bytes) -> tuple[bytes, int, bytes]:
    folder = path.rstrip(b"/") + b"/"
    return path, len(folder), folder


def _conditions(filters: Filters) -> tuple[list[str], list[str]]:
    conditions: list[str] = []
    parameters: list[str] = []
    for column, wanted in (("people", filters.people), ("path", filters.places)):
        if wanted:
            conditions.append("(" + " OR ".join([f"instr(folded({column}), ?) > 0"] * len(wanted)) + ")")
            parameters += map(folded, wanted)
    if filters.kinds:
        conditions.append(f"kind IN ({_marks(filters.kinds)})")
        parameters += map(folded, filters.kinds)
    # ISO 8601 compares as text, and "~" comes after every hour of the day; the bare column can be looked up by index.
    for comparison, day, end in ((">=", filters.after, ""), ("<=", filters.before, "~")):
        if day:
            conditions.append(f"date {comparison} ?")
            parameters.append(day.isoformat() + end)
    return conditions, parameters


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _chunks(ids: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(ids), _MOST_PARAMETERS):
        yield ids[start : start + _MOST_PARAMETERS]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
