"""BM25 over passages, through SQLite's FTS5. Knows how to match terms, not which terms matter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storage.database import Database
from storage.passages import Ids


@dataclass(frozen=True, slots=True)
class KeywordIndex:
    """The keyword side of one database: titles, people and texts."""

    database: Database

    def search(self, terms: Sequence[str], count: int, *, among: Ids | None = None) -> Ids:
        """The `count` passages that match any of the terms best by BM25, best first. `among` restricts the search."""
        if not terms or (among is not None and not len(among)):
            return np.empty(0, np.int64)
        # A restriction may be half of the store, and too long for SQL: it is applied to all that match.
        rows = self.database.execute(
            "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(map(quoted, terms)), count if among is None else -1),
        )
        ids = np.array([row[0] for row in rows], np.int64)
        return ids if among is None else ids[np.isin(ids, among, kind="table")][:count]

    def held(self, term: str, most: int) -> int:
        """How many passages match the term, counted up to `most`: they need not be ranked for that."""
        counted = "SELECT COUNT(*) FROM (SELECT 1 FROM passages_fts WHERE passages_fts MATCH ? LIMIT ?)"
        return int(self.database.execute(counted, (quoted(term), most))[0][0])


def quoted(term: str) -> str:
    """The term as an FTS5 string: whatever it holds, it is not query syntax."""
    return '"' + term.replace('"', '""').replace("\0", " ") + '"'
