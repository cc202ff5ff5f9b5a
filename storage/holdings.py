"""The stored folders and files, as users see them. Independent of documents."""

from dataclasses import dataclass

from storage.database import Database, folded
from storage.knowledge import UNDER, under

_PASSAGES_OF_FILE = (
    "(SELECT COUNT(*) FROM documents JOIN passages ON document_id = documents.id WHERE file_id = files.id)"
)


def _in_folder(table: str) -> str:
    """Return an SQL condition: the table's path is the folder or lies inside it."""
    return (
        f"({table}.path = folders.path OR folders.path = x'2f' OR (substr({table}.path, 1, length(folders.path)) = "
        f"folders.path AND substr({table}.path, length(folders.path) + 1, 1) = x'2f'))"
    )


@dataclass(frozen=True, slots=True)
class Holding:
    """The totals of the content stored at or under a path: the numbers of `files`, of their `passages`, and of
    `skipped` (unreadable) files. `changed_at` is when the last of the files was read, in ISO 8601; "" without files.
    """

    path: bytes
    files: int
    passages: int
    skipped: int
    changed_at: str
    is_folder: bool


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A stored file, or an unreadable file with the `reason`. `passages` is a count, `at` the time of reading (ISO
    8601, UTC); `complete` says whether the file was read to its end.
    """

    path: bytes
    passages: int
    at: str
    complete: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Holdings:
    """The folders and files of one database."""

    database: Database

    def all(self, words: str = "") -> list[Holding]:
        """Return the folders that the user added, and files outside of them, sorted by path; only those whose path
        contains all the words.
        """
        rows = self.database.execute(
            f"SELECT folders.path, COUNT(files.id), SUM({_PASSAGES_OF_FILE}), "
            f"(SELECT COUNT(*) FROM skipped WHERE {_in_folder('skipped')}), MAX(ingested_at) "
            f"FROM folders LEFT JOIN files ON {_in_folder('files')} GROUP BY folders.path"
        )
        alone = self.database.execute(
            f"SELECT path, 1, {_PASSAGES_OF_FILE}, 0, ingested_at FROM files "
            f"WHERE NOT EXISTS (SELECT 1 FROM folders WHERE {_in_folder('files')}) "
            "UNION ALL SELECT path, 0, 0, 1, '' FROM skipped "
            f"WHERE NOT EXISTS (SELECT 1 FROM folders WHERE {_in_folder('skipped')}) "
            "AND path NOT IN (SELECT path FROM files)"
        )
        holdings = [
            Holding(path, files, held or 0, skipped, at or "", is_folder)
            for is_folder, some in ((True, rows), (False, alone))
            for path, files, held, skipped, at in some
        ]
        parts = folded(words).split()
        held = [holding for holding in holdings if all(word in folded(holding.path) for word in parts)]
        return sorted(held, key=lambda holding: holding.path)

    def files_under(self, path: bytes, limit: int, offset: int = 0, words: str = "") -> list[KnownFile]:
        """Return files at or under a path: unreadable ones first, sorted by reason, then the others; each part sorted
        by path.

        Only files are returned whose path below the given one contains all the words: at most `limit`, without the
        first `offset`.
        """
        parts = folded(words).split()
        whole, length, folder = under(path)
        below = "AND instr(folded(substr(path, ?)), ?) > 0"
        condition = " ".join([UNDER, *[below] * len(parts)])
        parameters = (whole, length, folder, *(part for word in parts for part in (length + 1, word)))
        rows = self.database.execute(
            f"SELECT path, 0, seen_at, 0, reason FROM skipped WHERE {condition} UNION ALL "
            f"SELECT path, {_PASSAGES_OF_FILE}, ingested_at, sha256 IS NOT NULL, NULL FROM files WHERE {condition} "
            "ORDER BY reason DESC, path LIMIT ? OFFSET ?",  # NULL (no reason) sorts last
            (*parameters, *parameters, limit, offset),
        )
        return [KnownFile(path, held, at, bool(whole), reason) for path, held, at, whole, reason in rows]
