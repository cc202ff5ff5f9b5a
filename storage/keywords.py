"""BM25 over passages, through SQLite's FTS5. Knows how to match terms, not which terms matter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.database import Database


@dataclass(frozen=True, slots=True)
class KeywordIndex:
    """The keyword side of one database. `weights` are those of the columns title, people, text."""

    database: Database
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def search(
        self, terms: Sequence[str], count: int, *, among: npt.NDArray[np.int64] | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The `count` passages that match any of the terms best, and their BM25 scores (higher is better), best first.

        `among` (sorted ids) restricts the search.
        """
        if not terms or (among is not None and not len(among)):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        limit = "" if among is None else f"AND rowid IN ({', '.join(map(str, among.tolist()))})"
        rows = self.database.execute(
            f"SELECT rowid, bm25(passages_fts, ?, ?, ?) AS score FROM passages_fts WHERE passages_fts MATCH ? {limit} "
            "ORDER BY score LIMIT ?",
            (*self.weights, " OR ".join(map(quoted, terms)), count),
        )
        return np.array([row[0] for row in rows], np.int64), np.array([-row[1] for row in rows], np.float32)


def quoted(term: str) -> str:
    """The term as an FTS5 string: whatever it holds, it is not query syntax."""
    return '"' + term.replace('"', '""').replace("\0", " ") + '"'
