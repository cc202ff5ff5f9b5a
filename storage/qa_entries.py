"""The database tables of the QA bank, a cache of questions and their answers. It does not decide which entries are kept
or served.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from storage.database import Database

if TYPE_CHECKING:  # numpy is large, and this module is used before anything large is loaded
    import numpy as np
    import numpy.typing as npt

Origin = Literal["asked", "predicted"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A cached question and its answer. `answer` is None while the question waits to be answered, and if answering
    failed.

    `scope`: the question's filters and dates. `fingerprint` (column `recipe`): identifies the model, prompt and
    sampling. `record`: details of the answer, as JSON. `stale`: newer passages may change the answer. `newest_passage`:
    the newest passage id against which the answer was checked. `cost_ms`: the time that answering took. `bytes`: its
    estimated size in the database. `uses`: how often its answer was served. Times are ISO 8601, UTC.
    """

    id: int
    question: str
    scope: str
    fingerprint: str
    origin: Origin
    answer: str | None
    record: dict[str, Any]
    stale: bool
    newest_passage: int
    cost_ms: float
    bytes: int
    uses: int
    answered_at: str
    used_at: str

    @property
    def failed(self) -> str | None:
        """The reason why answering failed; None if the question was answered, or still waits."""
        return self.record.get("failed")

    @property
    def lacks(self) -> str:
        """The part of the question that the source files do not answer; "" if they answer all of it."""
        return str(self.record.get("lacks", ""))

    @property
    def is_public(self) -> bool:
        """Whether the answer uses passages of a companion server."""
        return any(source["side"] == "server" for source in self.record.get("sources", ()))


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers of entries, in total and by state, and their total size in bytes."""

    entries: int
    answered: int
    waiting: int
    failed: int
    stale: int
    predicted: int
    bytes: int


@dataclass(frozen=True, slots=True)
class QAEntries:
    """The QA bank's tables in one database."""

    database: Database

    def wait(self, question: str, scope: str, fingerprint: str, vector: npt.NDArray[np.float32], origin: Origin) -> int:
        """Store a question to be answered later, unless it is stored already. Return its entry's id.

        `vector`: the question's embedding, shape (dimensions,).
        """
        with self.database.transaction():
            return self._open(question, scope, fingerprint, vector, origin)

    def put(
        self,
        question: str,
        scope: str,
        fingerprint: str,
        vector: npt.NDArray[np.float32],
        origin: Origin,
        *,
        answer: str | None,
        record: dict[str, Any],
        sources: Iterable[int],
        newest_passage: int,
        cost_ms: float,
    ) -> int:
        """Store an answer, replacing an earlier answer to the same question. Return the entry's id.

        `vector`: the question's embedding, shape (dimensions,). `sources`: ids of the answer's source passages. If the
        sources contain no answer, `answer` is None and `record` holds the reason as `failed`. If a source passage has
        been deleted since the answer was generated, the answer is dropped and the question waits for a new one.
        """
        with self.database.transaction():
            entry = self._open(question, scope, fingerprint, vector, origin)
            packed = json.dumps(record, ensure_ascii=False)
            size = _bytes(question, answer or "", packed, vector)
            self.database.execute("DELETE FROM qa_sources WHERE entry_id = ?", (entry,))
            self.database.execute_many(
                "INSERT OR IGNORE INTO qa_sources VALUES (?, ?)", [(entry, passage) for passage in sources]
            )
            self.database.execute(
                "UPDATE qa_entries SET answer = ?, record = ?, stale = 0, newest_passage = ?, cost_ms = ?, bytes = ?, "
                "answered_at = ? WHERE id = ?",
                (answer, packed, newest_passage, cost_ms, size, _now(), entry),
            )
            self.database.execute(
                "UPDATE qa_entries SET answer = NULL, record = '{}', stale = 1 WHERE id = ? AND EXISTS "
                "(SELECT 1 FROM qa_sources WHERE entry_id = ? AND passage_id NOT IN (SELECT id FROM passages))",
                (entry, entry),
            )
        return entry

    def get(self, ids: Sequence[int]) -> dict[int, Entry]:
        """Return the entries with the given ids, by id; ids without an entry are left out."""
        marks = ", ".join("?" * len(ids))
        rows = self.database.execute(f"SELECT {_COLUMNS} FROM qa_entries WHERE id IN ({marks})", ids)
        return {row[0]: _entry(row) for row in rows}

    def answers(self, question: str) -> bool:
        """Return whether a current answer to exactly the given question is stored, whatever its filters and
        fingerprint.
        """
        return bool(
            self.database.execute(
                "SELECT 1 FROM qa_entries WHERE question = ? AND answer IS NOT NULL AND NOT stale LIMIT 1", (question,)
            )
        )

    def all(self) -> list[Entry]:
        """Return every entry, most used first."""
        return [
            _entry(row) for row in self.database.execute(f"SELECT {_COLUMNS} FROM qa_entries ORDER BY uses DESC, id")
        ]

    def unanswered(self, fingerprint: str) -> list[Entry]:
        """Return the waiting and stale entries with the given fingerprint: asked questions before predicted ones."""
        rows = self.database.execute(
            f"SELECT {_COLUMNS} FROM qa_entries WHERE recipe = ? AND ((answer IS NULL AND record = '{{}}') OR stale) "
            "ORDER BY origin = 'predicted', uses DESC, id",
            (fingerprint,),
        )
        return [_entry(row) for row in rows]

    def with_fingerprint(self, fingerprint: str, ids: Sequence[int]) -> list[int]:
        """Return which of the given entry ids belong to entries with the given fingerprint."""
        marks = ", ".join("?" * len(ids))
        rows = self.database.execute(
            f"SELECT id FROM qa_entries WHERE recipe = ? AND id IN ({marks})", (fingerprint, *ids)
        )
        return [row[0] for row in rows]

    def of_others(self, fingerprint: str, after: int) -> list[Entry]:
        """Return the entries with another fingerprint and an id greater than `after`, most used first."""
        rows = self.database.execute(
            f"SELECT {_COLUMNS} FROM qa_entries WHERE recipe != ? AND id > ? ORDER BY uses DESC, id",
            (fingerprint, after),
        )
        return [_entry(row) for row in rows]

    def replaced(self, fingerprint: str, unused_since: str) -> list[int]:
        """Return the ids of outdated entries: those with another fingerprint, unused since `unused_since`, whose
        question has an answer with `fingerprint`.
        """
        rows = self.database.execute(
            "SELECT id FROM qa_entries AS old WHERE recipe != ? AND used_at < ? AND EXISTS (SELECT 1 FROM qa_entries "
            "WHERE question = old.question AND scope = old.scope AND recipe = ? AND answer IS NOT NULL)",
            (fingerprint, unused_since, fingerprint),
        )
        return [row[0] for row in rows]

    def fail(self, entry: int, why: str, newest_passage: int) -> None:
        """Store the reason why a waiting or stale question could not be answered; the question no longer waits."""
        self.database.execute(
            "UPDATE qa_entries SET answer = NULL, record = ?, stale = 0, newest_passage = ? "
            "WHERE id = ? AND (answer IS NULL OR stale)",
            (json.dumps({"failed": why}, ensure_ascii=False), newest_passage, entry),
        )

    def unchecked(self, newest_passage: int) -> list[Entry]:
        """Return answered and failed entries that were not checked against passages up to id `newest_passage` yet."""
        rows = self.database.execute(
            f"SELECT {_COLUMNS} FROM qa_entries WHERE (answer IS NOT NULL OR record != '{{}}') AND NOT stale "
            "AND newest_passage < ?",
            (newest_passage,),
        )
        return [_entry(row) for row in rows]

    def check(self, entry: int, newest_passage: int, *, stale: bool) -> None:
        """Record that the entry was checked against passages up to id `newest_passage`, and whether it is stale now.

        A stale entry whose answering had failed waits for an answer again.
        """
        self.database.execute(
            "UPDATE qa_entries SET newest_passage = ?, stale = ?, "
            "record = CASE WHEN ? AND answer IS NULL THEN '{}' ELSE record END WHERE id = ?",
            (newest_passage, stale, stale, entry),
        )

    def sources(self, entry: int) -> list[int]:
        """Return the ids of the source passages of the entry's answer."""
        rows = self.database.execute("SELECT passage_id FROM qa_sources WHERE entry_id = ?", (entry,))
        return [row[0] for row in rows]

    def used(self, entry: int) -> None:
        """Add one to the entry's uses, and set the time of its last use to now."""
        self.database.execute("UPDATE qa_entries SET uses = uses + 1, used_at = ? WHERE id = ?", (_now(), entry))

    def delete(self, ids: Iterable[int]) -> None:
        """Delete the entries with the given ids."""
        with self.database.transaction():
            self.database.execute_many("DELETE FROM qa_entries WHERE id = ?", [(identity,) for identity in ids])

    def totals(self) -> Totals:
        """Return the numbers of all entries by state, and their bytes."""
        (row,) = self.database.execute(
            "SELECT COUNT(*), COUNT(answer), COUNT(*) FILTER (WHERE answer IS NULL AND record = '{}'), "
            "COUNT(*) FILTER (WHERE answer IS NULL AND record != '{}'), COUNT(*) FILTER (WHERE stale), "
            "COUNT(*) FILTER (WHERE origin = 'predicted'), COALESCE(SUM(bytes), 0) FROM qa_entries"
        )
        return Totals(*row)

    def bytes(self) -> int:
        """Return the estimated total size of all entries in bytes."""
        return int(self.database.execute("SELECT COALESCE(SUM(bytes), 0) FROM qa_entries")[0][0])

    def _open(
        self, question: str, scope: str, fingerprint: str, vector: npt.NDArray[np.float32], origin: Origin
    ) -> int:
        now = _now()
        key = (question, scope, fingerprint)
        self.database.execute(
            "INSERT INTO qa_entries (question, scope, recipe, origin, record, newest_passage, cost_ms, bytes, "
            "answered_at, used_at) VALUES (?, ?, ?, ?, '{}', 0, 0, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            # An asked question takes precedence over a predicted one.
            "origin = CASE WHEN excluded.origin = 'asked' THEN 'asked' ELSE origin END",
            (*key, origin, _bytes(question, "", "{}", vector), now, now),
        )
        ((entry,),) = self.database.execute(
            "SELECT id FROM qa_entries WHERE question = ? AND scope = ? AND recipe = ?", key
        )
        self.database.execute("INSERT OR IGNORE INTO qa_vectors VALUES (?, ?)", (entry, vector.astype("<f4").tobytes()))
        return int(entry)


_COLUMNS = (
    "id, question, scope, recipe, origin, answer, record, stale, newest_passage, cost_ms, bytes, uses, "
    "answered_at, used_at"
)
_ROW_BYTES = 400
"""The bytes that SQLite stores for an entry beside its texts and vector: three rows and their index entries."""


def _bytes(question: str, answer: str, record: str, vector: npt.NDArray[np.float32]) -> int:
    return 2 * len(question.encode()) + len(answer.encode()) + len(record.encode()) + vector.nbytes + _ROW_BYTES


def _entry(row: tuple[Any, ...]) -> Entry:
    identity, question, scope, fingerprint, origin, answer, record, stale, *rest = row
    return Entry(identity, question, scope, fingerprint, origin, answer, json.loads(record), bool(stale), *rest)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
