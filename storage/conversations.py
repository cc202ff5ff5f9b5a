"""The tables of conversations: questions and answers. Independent of their display."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from storage import beginnings
from storage.database import Database, folded
from storage.keywords import quoted
from storage.passages import Ids

WITH_FILES = "complete AND NOT COALESCE(json_extract(record, '$.model_only'), 0)"
"""The SQL condition for turns (a question with its answer) that were answered with files; other turns do not help to
predict the next question.
"""

MOST_RANKED = 1_000
"""The most matches that are ranked: ranking reads the index for each match, and to rank more matches would hardly
improve the result.
"""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation: `turns` is how many turns it has. Times are ISO 8601, UTC."""

    id: int
    title: str
    created_at: str
    updated_at: str
    turns: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer. `record` is the output of `ask --json`; `complete` is False for an interrupted
    answer, whose record contains at most the egress (what was sent from the device) and, if no files were used,
    `model_only` and the reason in the trace.
    """

    id: int
    conversation_id: int
    question: str
    answer: str
    complete: bool
    record: dict[str, Any]
    asked_at: str


@dataclass(frozen=True, slots=True)
class ConversationStore:
    """The conversation tables of one database."""

    database: Database

    def begin(self, question: str, conversation_id: int | None = None) -> Turn:
        """Store a question that is not answered yet, in the given conversation if it exists, else in a new one."""
        now = _now()
        with self.database.transaction():
            known = self.database.execute("SELECT 1 FROM conversations WHERE id = ?", (conversation_id,))
            if conversation_id is None or not known:
                conversation_id = self.database.insert(
                    "INSERT INTO conversations (title, created_at, updated_at) VALUES (?, ?, ?)",
                    (_title(question), now, now),
                )
            turn_id = self.database.insert(
                "INSERT INTO turns (conversation_id, question, answer, complete, record, asked_at) "
                "VALUES (?, ?, '', 0, '{}', ?)",
                (conversation_id, question, now),
            )
            self.database.execute("UPDATE conversations SET updated_at = ? WHERE id = ?", (now, conversation_id))
        return Turn(turn_id, conversation_id, question, "", False, {}, now)

    def write(
        self,
        turn_id: int,
        answer: str,
        record: dict[str, Any] | None = None,
        *,
        so_far: dict[str, Any] | None = None,
    ) -> None:
        """Store the answer of a turn: a complete one with its `record`; without a record, the part written so far, with
        the record `so_far`.
        """
        kept = (so_far or {}) if record is None else record
        self.database.execute(
            "UPDATE turns SET answer = ?, complete = ?, record = ? WHERE id = ?",
            (answer, record is not None, json.dumps(kept, ensure_ascii=False), turn_id),
        )

    def replace(self, first: int, turn: Turn) -> None:
        """Delete the turns that `turn` replaces: those of the conversation from the id `first` on, up to `turn`."""
        self.database.execute(
            "DELETE FROM turns WHERE conversation_id = ? AND id >= ? AND id < ?",
            (turn.conversation_id, first, turn.id),
        )

    def take_back(self, turn: Turn) -> None:
        """Delete a turn that got no answer."""
        self.database.execute("DELETE FROM turns WHERE id = ?", (turn.id,))

    def latest(self) -> int | None:
        """Return the id of the conversation with the latest turn; None if there is no conversation."""
        rows = self.database.execute("SELECT id FROM conversations ORDER BY updated_at DESC, id DESC LIMIT 1")
        return rows[0][0] if rows else None

    def recent(self, limit: int = 50, offset: int = 0) -> list[Conversation]:
        """Return at most `limit` conversations, the latest first, without the `offset` latest ones."""
        rows = self.database.execute(
            "SELECT id, title, created_at, updated_at, (SELECT COUNT(*) FROM turns WHERE conversation_id = c.id) "
            "FROM conversations c ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?",
            (limit, offset),
        )
        return [Conversation(*row) for row in rows]

    def count(self) -> int:
        """Return the number of conversations."""
        return int(self.database.execute("SELECT COUNT(*) FROM conversations")[0][0])

    def questions(self, limit: int) -> list[tuple[int, str]]:
        """Return the turn ids and questions of the last `limit` turns that were answered with files, latest last."""
        rows = self.database.execute(
            f"SELECT id, question FROM turns WHERE {WITH_FILES} ORDER BY id DESC LIMIT ?", (limit,)
        )
        return [(turn, question) for turn, question in reversed(rows)]

    def turns(self, conversation_id: int) -> list[Turn]:
        """Return a conversation's turns in order; empty if there is no such conversation."""
        return [
            _turn(row)
            for row in self.database.execute(
                f"SELECT {_COLUMNS} FROM turns WHERE conversation_id = ? ORDER BY id", (conversation_id,)
            )
        ]

    def last_asked(self, question: str) -> Turn | None:
        """Return the last complete turn with the given question, ignoring case; None if there is none."""
        rows = self.database.execute(
            f"SELECT {_COLUMNS} FROM turns WHERE complete AND folded(trim(question)) = ? ORDER BY id DESC LIMIT 1",
            (folded(question.strip()),),
        )
        return _turn(rows[0]) if rows else None

    def turn_ids(self, conversation_id: int) -> list[int]:
        """Return the ids of a conversation's turns, in order."""
        rows = self.database.execute("SELECT id FROM turns WHERE conversation_id = ? ORDER BY id", (conversation_id,))
        return [row[0] for row in rows]

    def turns_with(self, ids: Sequence[int]) -> list[Turn]:
        """Return the turns with these ids, the lowest id first; ids without a turn are left out."""
        marks = ", ".join("?" * len(ids))
        rows = self.database.execute(f"SELECT {_COLUMNS} FROM turns WHERE id IN ({marks}) ORDER BY id", tuple(ids))
        return [_turn(row) for row in rows]

    def asked_between(self, first: str | None, end: str | None) -> Ids | None:
        """Return the sorted ids of the turns asked from `first` on and before `end` (ISO 8601, UTC; None: no bound);
        None if both are None.
        """
        if first is None and end is None:
            return None
        rows = self.database.execute(
            "SELECT id FROM turns WHERE asked_at >= ? AND asked_at < ? ORDER BY id", (first or "", end or "~")
        )
        return np.array([row[0] for row in rows], np.int64)

    def search(self, words: str, limit: int = 20, *, prefix: bool = False) -> list[Turn]:
        """Return turns whose question or answer contains all the words, best match first, then latest.

        With `prefix`, the last word also matches longer words that begin with it, up to a limit of such words. If more
        than MOST_RANKED turns match (or `limit`, if greater), only the latest are searched, and the latest come first.
        """
        typed = words.split()
        if not typed:
            return []
        terms = [quoted(word) for word in typed]
        if prefix:
            terms[-1] = beginnings.prefix_expression(self.database, typed[-1])
        match, most = " AND ".join(terms), max(limit, MOST_RANKED)
        newest = self.database.execute(
            "SELECT rowid FROM turns_fts WHERE turns_fts MATCH ? ORDER BY rowid DESC LIMIT ?", (match, most + 1)
        )
        order = "rank, id DESC" if len(newest) <= most else "id DESC"
        return [
            _turn(row)
            for row in self.database.execute(
                f"SELECT {_COLUMNS} FROM turns JOIN (SELECT rowid AS match, rank FROM turns_fts "
                f"WHERE turns_fts MATCH ? AND rowid >= ?) ON id = match ORDER BY {order} LIMIT ?",
                (match, newest[-1][0] if newest else 0, limit),
            )
        ]

    def egress(self) -> tuple[int, int]:
        """Return the number of complete answers, and the bytes sent from the device for all answers, interrupted ones
        included.
        """
        rows = self.database.execute(
            "SELECT TOTAL(complete), COALESCE(SUM(json_extract(record, '$.egress.bytes')), 0) FROM turns"
        )
        return int(rows[0][0]), int(rows[0][1])

    def delete(self, conversation_id: int) -> bool:
        """Delete a conversation with its turns. Return whether it existed."""
        with self.database.transaction():
            rows = self.database.execute("SELECT 1 FROM conversations WHERE id = ?", (conversation_id,))
            # Turns first: their trigger updates the keyword index.
            self.database.execute("DELETE FROM turns WHERE conversation_id = ?", (conversation_id,))
            self.database.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))
        return bool(rows)


_COLUMNS = "id, conversation_id, question, answer, complete, record, asked_at"


def _turn(row: tuple[Any, ...]) -> Turn:
    turn_id, conversation_id, question, answer, complete, record, asked_at = row
    return Turn(turn_id, conversation_id, question, answer, bool(complete), json.loads(record), asked_at)


def _title(question: str) -> str:
    line = " ".join(question.split())
    return line if len(line) <= 80 else line[:79] + "…"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
