"""The table of KV slices (the cached attention states of parts of prompts): their order in prompts, size and uses. The
states themselves are in files.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from storage.database import Database


@dataclass(frozen=True, slots=True)
class SliceRow:
    """The row of a slice, which is the cached attention state of one part of a prompt.

    `name` is its file's name; `parent` is the name of the slice that it follows in a prompt, None for the first part of
    a prompt; `passage_id` is None for a slice without a passage; `tokens` is a count. Times are ISO 8601, UTC.
    """

    name: str
    parent: str | None
    kv_key: str
    passage_id: int | None
    tokens: int
    bytes: int
    uses: int
    created_at: str
    used_at: str


@dataclass(frozen=True, slots=True)
class KVSlices:
    """The table of slices of one database."""

    database: Database

    def known(self, names: Sequence[str]) -> set[str]:
        """Return which of the given names have a slice."""
        marks = ", ".join("?" * len(names))
        return {row[0] for row in self.database.execute(f"SELECT name FROM kv_slices WHERE name IN ({marks})", names)}

    def put(self, name: str, parent: str | None, kv_key: str, passage_id: int | None, tokens: int, size: int) -> None:
        """Store the row of a slice whose file exists; if there is a row, update its size and its passage."""
        now = _now()
        self.database.execute(
            "INSERT INTO kv_slices VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?) ON CONFLICT DO UPDATE SET "
            "bytes = excluded.bytes, passage_id = excluded.passage_id",
            (name, parent, kv_key, passage_id, tokens, size, now, now),
        )

    def used(self, names: Iterable[str]) -> None:
        """Count a use of each of the given slices."""
        self.database.execute_many(
            "UPDATE kv_slices SET uses = uses + 1, used_at = ? WHERE name = ?", [(_now(), name) for name in names]
        )

    def forget(self, names: Iterable[str]) -> None:
        """Delete rows of slices. Callers delete the files after that, never before: a row is trusted to have a file."""
        with self.database.transaction():
            self.database.execute_many("DELETE FROM kv_slices WHERE name = ?", [(name,) for name in names])

    def all(self) -> list[SliceRow]:
        """Return every slice, most used first."""
        rows = self.database.execute(
            "SELECT name, parent, kv_key, passage_id, tokens, bytes, uses, created_at, used_at FROM kv_slices "
            "ORDER BY uses DESC, created_at, name"
        )
        return [SliceRow(*row) for row in rows]

    def of_missing_passages(self) -> list[str]:
        """Return the names of the slices of passages that no longer exist."""
        rows = self.database.execute(
            "SELECT name FROM kv_slices WHERE passage_id IS NOT NULL AND passage_id NOT IN (SELECT id FROM passages)"
        )
        return [row[0] for row in rows]

    def bytes(self) -> int:
        """Return the total bytes of all slices."""
        return int(self.database.execute("SELECT COALESCE(SUM(bytes), 0) FROM kv_slices")[0][0])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
