"""BM25 search over passages with SQLite's FTS5. The caller chooses the search terms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storage.database import Database
from storage.passages import Ids


@dataclass(frozen=True, slots=True)
class KeywordIndex:
    """The keyword index of one database, over titles, people and texts."""

    database: Database

    def search(self, terms: Sequence[str], count: int, *, among: Ids | None = None) -> Ids:
        """Return the ids of the `count` best passages by BM25 that match any of the terms, best first; with `among`,
        only of these passages.
        """
        if not terms or (among is not None and not len(among)):
            return np.empty(0, np.int64)
        # A restriction may have too many ids for SQL, so that it is applied to all matches.
        rows = self.database.execute(
            "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(map(quoted, terms)), count if among is None else -1),
        )
        ids = np.array([row[0] for row in rows], np.int64)
        return ids if among is None else ids[np.isin(ids, among, kind="table")][:count]

    def some(self, term: str, most: int) -> Ids:
        """Return the ids of up to `most` passages that match the term, unranked."""
        matching = "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? LIMIT ?"
        return np.array([row[0] for row in self.database.execute(matching, (quoted(term), most))], np.int64)

    def names(self, term: str) -> bool:
        """Return whether the term, in any form, is part of the name or address of a person in a document."""
        matching = "SELECT 1 FROM passages_fts WHERE passages_fts MATCH ? LIMIT 1"
        return bool(self.database.execute(matching, (f"people : {quoted(term)}",)))

    def held(self, term: str, most: int) -> int:
        """Return how many passages match the term, counting only up to `most`."""
        counted = "SELECT COUNT(*) FROM (SELECT 1 FROM passages_fts WHERE passages_fts MATCH ? LIMIT ?)"
        return int(self.database.execute(counted, (quoted(term), most))[0][0])

    def total(self) -> int:
        """Return the number of all passages."""
        return int(self.database.execute("SELECT COUNT(*) FROM passages")[0][0])


def quoted(term: str) -> str:
    """Return the term quoted as an FTS5 string, so that nothing in it is query syntax."""
    return '"' + term.replace('"', '""').replace("\0", " ") + '"'
