"""BM25 over passages, through SQLite's FTS5. Knows how to match terms, not which terms matter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storage.database import Database
from storage.knowledge import Ids


@dataclass(frozen=True, slots=True)
class KeywordIndex:
    """The keyword side of one database: titles, people and texts."""

    database: Database

    def search(self, terms: Sequence[str], count: int, *, among: Ids | None = None) -> Ids:
        """The `count` passages that match any of the terms best by BM25, best first. `among` restricts the search."""
        if not terms or (among is not None and not len(among)):
            return np.empty(0, np.int64)
        # The plus sign hides the ids from FTS5, which would search the whole index once for each of them.
        limit = "" if among is None else f"AND +rowid IN ({', '.join(map(str, among.tolist()))})"
        rows = self.database.execute(
            f"SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? {limit} ORDER BY rank LIMIT ?",
            (" OR ".join(map(quoted, terms)), count),
        )
        return np.array([row[0] for row in rows], np.int64)


def quoted(term: str) -> str:
    """The term as an FTS5 string: whatever it holds, it is not query syntax."""
    return '"' + term.replace('"', '""').replace("\0", " ") + '"'
