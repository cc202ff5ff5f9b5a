"""Answers that the user marked wrong, each with its source documents. It does not decide which texts are equal."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from storage.database import Database


@dataclass(frozen=True, slots=True)
class Mark:
    """An answer that the user marked wrong. `scope` is the question's filters and days, `model` the model that wrote
    the answer.

    `holds`: the answer's source documents are unchanged, so that the mark is still valid. `turn_id` is the turn that
    showed the answer, which may have been deleted; None if the answer was prepared ahead and shown in no turn.
    `marked_at` is ISO 8601, UTC.
    """

    id: int
    turn_id: int | None
    question: str
    scope: str
    answer: str
    model: str
    marked_at: str
    holds: bool


@dataclass(frozen=True, slots=True)
class WrongAnswers:
    """The tables of wrong answers of one database. A mark is deleted with the conversation that showed the answer."""

    database: Database

    def mark(
        self,
        question: str,
        scope: str,
        answer: str,
        model: str,
        passages: Collection[int],
        drop: Iterable[int],
        turn_id: int | None = None,
    ) -> int | None:
        """Mark an answer as wrong, which was written from the given passages, and delete the given entries of the QA
        bank. Return the mark's id.

        Returns None, without a mark, if a passage is gone: its file has changed since, so that the mark would not be
        valid.
        """
        ids = tuple(set(passages))
        marks = ", ".join("?" * len(ids))
        with self.database.transaction():
            self.database.execute_many("DELETE FROM qa_entries WHERE id = ?", [(entry,) for entry in drop])
            ((count,),) = self.database.execute(f"SELECT COUNT(*) FROM passages WHERE id IN ({marks})", ids)
            if count < len(ids):
                return None
            self.database.execute(
                f"DELETE FROM wrong_answers WHERE question = ? AND scope = ? AND answer = ? AND model = ? AND {_HOLDS}",
                (question, scope, answer, model),
            )
            mark = self.database.insert(
                "INSERT INTO wrong_answers (conversation_id, turn_id, question, scope, answer, model, marked_at) "
                "VALUES ((SELECT conversation_id FROM turns WHERE id = ?), ?, ?, ?, ?, ?, ?)",
                (turn_id, turn_id, question, scope, answer, model, _now()),
            )
            self.database.execute(
                "INSERT INTO wrong_answer_documents SELECT DISTINCT ?, path, key, hash FROM passages "
                "JOIN documents ON documents.id = document_id JOIN files ON files.id = file_id "
                f"WHERE passages.id IN ({marks})",
                (mark, *ids),
            )
            self.database.execute(
                "UPDATE turns SET record = json_set(record, '$.wrong', json('true')) WHERE id = ?", (turn_id,)
            )
        return mark

    def holding(self, scope: str) -> list[Mark]:
        """Return the marks, of answers to questions with the given scope (`Mark.scope`), that are still valid."""
        return [
            _mark((*row, True)) for row in self.database.execute(f"{_SELECT} WHERE scope = ? AND {_HOLDS}", (scope,))
        ]

    def all(self) -> list[Mark]:
        """Return every mark, latest first."""
        rows = self.database.execute(f"SELECT {_COLUMNS}, {_HOLDS} FROM wrong_answers ORDER BY id DESC")
        return [_mark(row) for row in rows]

    def take_back(self, mark: Mark) -> None:
        """Delete the mark of a wrong answer."""
        with self.database.transaction():
            self.database.execute("DELETE FROM wrong_answers WHERE id = ?", (mark.id,))
            self.database.execute(
                "UPDATE turns SET record = json_remove(record, '$.wrong') WHERE id = ?", (mark.turn_id,)
            )

    def prune(self) -> None:
        """Delete the marks that are no longer valid, as their source documents have changed or are gone: a mark
        contains the answer's text, which repeats those documents.
        """
        self.database.execute(f"DELETE FROM wrong_answers WHERE NOT {_HOLDS}")


_COLUMNS = "id, turn_id, question, scope, answer, model, marked_at"
_SELECT = f"SELECT {_COLUMNS} FROM wrong_answers"
_HOLDS = (
    "NOT EXISTS (SELECT 1 FROM wrong_answer_documents AS was WHERE was.wrong_id = wrong_answers.id AND NOT EXISTS "
    "(SELECT 1 FROM files JOIN documents ON file_id = files.id "
    "WHERE files.path = was.path AND documents.key = was.key AND documents.hash = was.hash))"
)


def _mark(row: tuple[Any, ...]) -> Mark:
    identity, turn_id, question, scope, answer, model, marked_at, holds = row
    return Mark(identity, turn_id, question, scope, answer, model, marked_at, bool(holds))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
