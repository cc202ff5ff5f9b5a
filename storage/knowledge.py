"""The tables of ingested content: folders, files, documents and passages. Independent of file formats and models."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from shared.types import Document, Passage
from storage.documents import DocumentStore
from storage.events import EventStore
from storage.passages import show
from storage.table_parts import PreparedTable
from storage.tables import TableStore


@dataclass(frozen=True, slots=True)
class FileState:
    """A file's state when it was read. `sha256` is None while only part of its documents is stored; `fingerprint` is
    that of the settings with which it was read.
    """

    path: bytes
    size: int
    mtime_ns: int
    sha256: str | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document with its hash, passages, their unit vectors, shape (passages, dimensions), and its table, if any."""

    document: Document
    hash: str
    passages: Sequence[Passage]
    vectors: npt.NDArray[np.float32]
    table: PreparedTable | None = None


@dataclass(frozen=True, slots=True)
class FileSummary:
    """A file in `jackdaw knowledge list`: its bytes, counts, and whether it was read to its end (`complete`)."""

    path: str
    size: int
    documents: int
    passages: int
    ingested_at: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers of stored folders, files, documents, passages and skipped files."""

    folders: int
    files: int
    documents: int
    passages: int
    skipped: int


@dataclass(frozen=True, slots=True)
class KnowledgeStore(DocumentStore):
    """The knowledge tables of one database. Callers that change several rows hold `database.transaction()`."""

    # Folders and skipped files

    def remember_folder(self, path: bytes) -> None:
        """Store a folder that the user added."""
        self.database.execute("INSERT OR IGNORE INTO folders VALUES (?, ?)", (path, _now()))

    def folders(self) -> list[bytes]:
        """Return the folders that the user added."""
        return [row[0] for row in self.database.execute("SELECT path FROM folders ORDER BY path")]

    def forget_folders(self, path: bytes) -> int:
        """Delete a folder and the folders inside it from the list of folders. Return how many were deleted."""
        ((count,),) = self.database.execute(f"SELECT COUNT(*) FROM folders WHERE {UNDER}", under(path))
        self.database.execute(f"DELETE FROM folders WHERE {UNDER}", under(path))
        return int(count)

    def note_skipped(self, path: bytes, reason: str) -> None:
        """Store the reason why a file could not be read. Contents stored from an older version of it remain."""
        self.database.execute("INSERT OR REPLACE INTO skipped VALUES (?, ?, ?)", (path, reason, _now()))

    def clear_skipped(self, path: bytes) -> None:
        """Delete the stored reasons of skipped files at or under a path."""
        self.database.execute(f"DELETE FROM skipped WHERE {UNDER}", under(path))

    def skipped(self) -> list[tuple[str, str]]:
        """Return (path, reason) of every file that could not be read."""
        return [(show(row["path"]), row["reason"]) for row in self.database.rows("SELECT path, reason FROM skipped")]

    def skipped_for(self, reason: str) -> list[bytes]:
        """Return the paths of the files that could not be read for the given reason."""
        return [row[0] for row in self.database.execute("SELECT path FROM skipped WHERE reason = ?", (reason,))]

    # Files and documents

    def file(self, path: bytes) -> FileState | None:
        """Return the file's state when it was last read, or None if it was never read."""
        rows = self.database.execute("SELECT path, size, mtime_ns, sha256, recipe FROM files WHERE path = ?", (path,))
        return FileState(*rows[0]) if rows else None

    def files_of(self, passages: Collection[int]) -> list[FileState]:
        """Return the states of the files that contain the given passages."""
        sql = "SELECT DISTINCT document_id FROM passages WHERE id IN (SELECT value FROM json_each(?))"
        return self.files_of_documents([row[0] for row in self.database.execute(sql, (json.dumps([*passages]),))])

    def files_of_documents(self, documents: Collection[int]) -> list[FileState]:
        """Return the states of the files that contain the given documents."""
        return self._files("id", documents)

    def files_with(self, kinds: Sequence[str]) -> list[FileState]:
        """Return the states of the files that contain documents of the given kinds."""
        return self._files("kind", kinds)

    def paths_under(self, path: bytes) -> list[bytes]:
        """Return the paths of stored files at or under a path."""
        return [row[0] for row in self.database.execute(f"SELECT path FROM files WHERE {UNDER}", under(path))]

    def touch(self, state: FileState) -> None:
        """Store a new size and modification time for a file whose content is unchanged."""
        self.database.execute(
            "UPDATE files SET size = ?, mtime_ns = ? WHERE path = ?", (state.size, state.mtime_ns, state.path)
        )

    def open_file(self, state: FileState) -> int:
        """Return the id of the file's row, which is created if necessary and marked incomplete."""
        self.clear_skipped(state.path)
        self.database.execute(
            "INSERT INTO files (path, size, mtime_ns, sha256, recipe, ingested_at) VALUES (?, ?, ?, NULL, ?, ?) "
            "ON CONFLICT (path) DO UPDATE SET sha256 = NULL",
            (state.path, state.size, state.mtime_ns, state.fingerprint, _now()),
        )
        return int(self.database.execute("SELECT id FROM files WHERE path = ?", (state.path,))[0][0])

    def document_hashes(self, path: bytes) -> dict[str, str]:
        """Return the hashes of the file's stored documents, by key."""
        hashes = "SELECT key, hash FROM documents JOIN files ON files.id = file_id WHERE path = ?"
        return dict(self.database.execute(hashes, (path,)))

    def hashes_of(self, path: bytes, keys: Sequence[str]) -> dict[str, str]:
        """Return the hashes of the file's stored documents with the given keys, by key."""
        rows = self.database.execute(
            "SELECT key, hash FROM documents JOIN files ON files.id = file_id "
            "WHERE path = ? AND key IN (SELECT value FROM json_each(?))",
            (path, json.dumps(keys)),
        )
        return dict(rows)

    def complete(self, state: FileState) -> None:
        """Mark a file as read to its end, whichever documents it has."""
        self.open_file(state)
        self.database.execute(
            "UPDATE files SET sha256 = ?, recipe = ?, ingested_at = ? WHERE path = ?",
            (state.sha256, state.fingerprint, _now(), state.path),
        )

    def count_documents(self, path: bytes) -> int:
        """Return how many documents of the file are stored."""
        count = "SELECT COUNT(*) FROM documents JOIN files ON files.id = file_id WHERE path = ?"
        return int(self.database.execute(count, (path,))[0][0])

    def vectors_by_text(self, path: bytes, key: str) -> dict[tuple[str, str], bytes]:
        """Return a document's stored vectors by (title, passage text), so that an edit embeds only new passages."""
        rows = self.database.execute(
            "SELECT title, text, vector FROM files JOIN documents ON file_id = files.id "
            "JOIN passages ON document_id = documents.id JOIN vectors ON passage_id = passages.id "
            "WHERE path = ? AND key = ?",
            (path, key),
        )
        return {(title, text): vector for title, text, vector in rows}

    def put(self, file_id: int, prepared: PreparedDocument) -> None:
        """Store a document, replacing any document with the same key.

        An unchanged passage keeps its id, and with it the cached answers and KV states that depend on it.
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
        EventStore(self.database).put(document_id, document.event)
        for passage, vector in zip(prepared.passages, prepared.vectors, strict=True):
            passage_id = kept.get(passage.ordinal) or self.database.insert(
                "INSERT INTO passages (document_id, ordinal, text, line, page) VALUES (?, ?, ?, ?, ?)",
                (document_id, passage.ordinal, passage.text, passage.line, passage.page),
            )
            self.database.execute(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                (passage_id, np.ascontiguousarray(vector, "<f4").tobytes()),
            )
        TableStore(self.database).put(document_id, prepared.table)

    def _keep_passages(self, document_id: int, passages: Sequence[Passage]) -> dict[int, int]:
        """Move unchanged passages to their new ordinals, delete the others, and return the kept ids by ordinal."""
        stored: dict[str, list[int]] = {}
        for identity, text in self.database.execute(
            "SELECT id, text FROM passages WHERE document_id = ? ORDER BY ordinal DESC", (document_id,)
        ):
            stored.setdefault(text, []).append(identity)
        kept = [(passage, stored[passage.text].pop()) for passage in passages if stored.get(passage.text)]
        self.database.execute_many(
            "DELETE FROM passages WHERE id = ?", [(identity,) for ids in stored.values() for identity in ids]
        )
        # Ordinals are unique: move them out of the way first.
        self.database.execute("UPDATE passages SET ordinal = -1 - ordinal WHERE document_id = ?", (document_id,))
        self.database.execute_many(
            "UPDATE passages SET ordinal = ?, line = ?, page = ? WHERE id = ?",
            [(passage.ordinal, passage.line, passage.page, identity) for passage, identity in kept],
        )
        return {passage.ordinal: identity for passage, identity in kept}

    def _files(self, column: str, values: Collection[int] | Sequence[str]) -> list[FileState]:
        """Return the states of the files whose documents have one of the given values in a column."""
        rows = self.database.execute(
            "SELECT path, size, mtime_ns, sha256, recipe FROM files WHERE id IN (SELECT file_id FROM documents "
            f"WHERE {column} IN (SELECT value FROM json_each(?))) ORDER BY path",
            (json.dumps([*values]),),
        )
        return [FileState(*row) for row in rows]

    def close_file(self, file_id: int, state: FileState, keys: Collection[str]) -> None:
        """Mark the file complete and delete its documents whose key is not in `keys`."""
        stored = [row[0] for row in self.database.execute("SELECT key FROM documents WHERE file_id = ?", (file_id,))]
        self.remove_documents(state.path, [key for key in stored if key not in keys])
        self.database.execute(
            "UPDATE files SET size = ?, mtime_ns = ?, sha256 = ?, recipe = ?, ingested_at = ? WHERE id = ?",
            (state.size, state.mtime_ns, state.sha256, state.fingerprint, _now(), file_id),
        )

    def remove_documents(self, path: bytes, keys: Sequence[str]) -> None:
        """Delete the documents of a file with the given keys."""
        file_id = "(SELECT id FROM files WHERE path = ?)"
        self.database.execute_many(
            f"DELETE FROM documents WHERE file_id = {file_id} AND key = ?", [(path, key) for key in keys]
        )

    def remove_file(self, path: bytes) -> None:
        """Delete a file with all its documents."""
        self.database.execute("DELETE FROM files WHERE path = ?", (path,))

    # Totals

    def summaries(self) -> list[FileSummary]:
        """Return a summary of every stored file."""
        rows = self.database.rows(
            "SELECT path, size, COUNT(DISTINCT documents.id) AS documents, COUNT(passages.id) AS passages, "
            "ingested_at, sha256 IS NOT NULL AS complete FROM files LEFT JOIN documents ON file_id = files.id "
            "LEFT JOIN passages ON document_id = documents.id GROUP BY files.id ORDER BY path"
        )
        return [FileSummary(**row | {"path": show(row["path"]), "complete": bool(row["complete"])}) for row in rows]

    def totals(self) -> Totals:
        """Return the totals of the store."""
        tables = ("folders", "files", "documents", "passages", "skipped")
        return Totals(*(self.database.execute(f"SELECT COUNT(*) FROM {table}")[0][0] for table in tables))

    def text_bytes(self) -> int:
        """Return an upper estimate of the bytes of text in all files: their size on disk or, if that is less,
        `_MOST_OF_PASSAGE` for each stored passage.
        """
        size, passages = self.database.execute(
            "SELECT (SELECT COALESCE(SUM(size), 0) FROM files), (SELECT COUNT(*) FROM passages)"
        )[0]
        return min(int(size), int(passages) * _MOST_OF_PASSAGE)


_MOST_OF_PASSAGE = 1000
"""The approximate limit of a passage's text in bytes: the embedder reads 256 tokens of it."""

UNDER = "(path = ? OR substr(path, 1, ?) = ?)"


def under(path: bytes) -> tuple[bytes, int, bytes]:
    folder = path.rstrip(b"/") + b"/"
    return path, len(folder), folder


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
