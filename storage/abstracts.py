"""The abstract of the user's files: sentences that a model wrote, each about some passages.

A sentence is deleted in the transaction that deletes one of its passages.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.database import Database


@dataclass(frozen=True, slots=True)
class Abstracts:
    """The table of an abstract's sentences in one database."""

    database: Database

    def add(self, text: str, passages: Sequence[int]) -> bool:
        """Store a sentence about the given passages, replacing any earlier sentence about some of them.

        Returns False, with nothing changed, if a passage is gone.
        """
        marks = ", ".join("?" * len(passages))
        with self.database.transaction():
            ((count,),) = self.database.execute(f"SELECT COUNT(*) FROM passages WHERE id IN ({marks})", passages)
            if count < len(passages):
                return False
            self.database.execute(
                "DELETE FROM abstracts WHERE id IN"
                f" (SELECT abstract_id FROM abstract_passages WHERE passage_id IN ({marks}))",
                passages,
            )
            number = self.database.insert("INSERT INTO abstracts (text) VALUES (?)", (text,))
            self.database.execute_many(
                "INSERT INTO abstract_passages VALUES (?, ?)", [(number, passage) for passage in passages]
            )
        return True

    def about(self, passages: Sequence[int]) -> str | None:
        """Return the sentence about exactly the given passages; None if there is none."""
        rows = self.database.execute(
            "SELECT id, text FROM abstracts JOIN abstract_passages ON abstract_id = id WHERE passage_id = ?",
            (passages[0],),
        )
        return next((text for number, text in rows if self._passages(number) == set(passages)), None)

    def clear(self) -> None:
        """Delete every sentence."""
        self.database.execute("DELETE FROM abstracts")

    def newest(self, count: int) -> list[str]:
        """Return the `count` sentences that were stored last, the oldest of them first."""
        rows = self.database.execute("SELECT text FROM abstracts ORDER BY id DESC LIMIT ?", (count,))
        return [text for (text,) in reversed(rows)]

    def all(self) -> list[str]:
        """Return every sentence, oldest first."""
        return [text for (text,) in self.database.execute("SELECT text FROM abstracts ORDER BY id")]

    def _passages(self, number: int) -> set[int]:
        rows = self.database.execute("SELECT passage_id FROM abstract_passages WHERE abstract_id = ?", (number,))
        return {passage for (passage,) in rows}
