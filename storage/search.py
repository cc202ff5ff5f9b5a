"""Full-text search over passages and turns, for the searches that a user makes: it takes bounded time, and marks the
matches in the results.

Takes FTS5 expressions, which `any_of` and `all_of` build from texts; no text is query syntax.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from storage.database import Database
from storage.keywords import quoted
from storage.passages import Ids

MOST_RANKED = 20_000
"""The most matches that are ranked, which takes about 1 µs for each."""

MOST_EXPANDED = 12
"""The most stems that are searched for in place of the beginning of a word; see `FullText.with_prefix`."""

OPENING, CLOSING = "\ufdd0", "\ufdd1"
"""The characters that enclose a match in a marked text; no text should contain them."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A title and a text in which each match is enclosed in OPENING and CLOSING."""

    title: str
    text: str


def any_of(terms: Iterable[str]) -> str:
    """Return an FTS5 expression for texts with any of the terms, each a word or a phrase."""
    return f"({' OR '.join(map(quoted, terms))})"


def all_of(expressions: Iterable[str]) -> str:
    """Return an FTS5 expression for texts that match all of the expressions."""
    return " AND ".join(expressions)


@dataclass(frozen=True, slots=True)
class FullText:
    """A full-text table of a database: its name, and the columns of title and text."""

    database: Database
    table: str = "passages_fts"
    title: int = 0
    text: int = 2

    def held(self, expression: str, most: int) -> int:
        """Return how many rows match, counting only up to `most`."""
        counted = f"SELECT COUNT(*) FROM (SELECT 1 FROM {self.table} WHERE {self.table} MATCH ? LIMIT ?)"
        return int(self.database.execute(counted, (expression, most))[0][0])

    def held_each(self, expressions: Iterable[str], most: int) -> dict[str, int]:
        """Return for each expression how many rows match it, as `held` does, in half of the time that one call of
        `held` for each expression takes.
        """
        counted = f"SELECT COUNT(*) FROM (SELECT 1 FROM {self.table} WHERE {self.table} MATCH each.value LIMIT ?)"
        return dict(
            self.database.execute(
                f"SELECT each.value, ({counted}) FROM json_each(?) AS each", (most, json.dumps([*expressions]))
            )
        )

    def matches(self, expression: str, most: int = -1) -> Ids:
        """Return the sorted ids of the newest `most` rows that match."""
        newest = f"SELECT rowid FROM {self.table} WHERE {self.table} MATCH ? ORDER BY rowid DESC LIMIT ?"
        return np.array([row[0] for row in self.database.execute(newest, (expression, most))], np.int64)[::-1]

    def best(self, terms: Sequence[str], required: Sequence[str], count: int, among: Ids | None = None) -> Ids:
        """Return the ids of the `count` best rows by BM25, best first, that match any of the expressions `terms` and
        all `required` ones.

        `among` restricts the rows. If more than MOST_RANKED match, the most frequent terms are left out; if that is not
        enough, only the newest rows count, or, with `among`, the newest come first.
        """
        rarest = self._rarest(terms) if len(terms) > 1 else list(terms)
        expression = all_of([*required, f"({' OR '.join(rarest)})"] if rarest else required)
        first = self._first_ranked(expression)
        if among is not None and first:
            newest = self.matches(expression)
            return newest[np.isin(newest, among, kind="table")][::-1][:count]
        ranked = self.database.execute(
            f"SELECT rowid FROM {self.table} WHERE {self.table} MATCH ? AND rowid >= ? ORDER BY rank LIMIT ?",
            (expression, first, count if among is None else -1),
        )
        ids = np.array([row[0] for row in ranked], np.int64)
        return ids if among is None else ids[np.isin(ids, among, kind="table")][:count]

    def _first_ranked(self, expression: str) -> int:
        """Return the id of the oldest row among the newest MOST_RANKED; 0 if no more rows match."""
        beyond = self.database.execute(
            f"SELECT rowid FROM {self.table} WHERE {self.table} MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
            (expression, MOST_RANKED),
        )
        return int(beyond[0][0]) + 1 if beyond else 0

    def with_prefix(self, word: str) -> list[str]:
        """Return the MOST_EXPANDED stems in the index that begin with `word` and are in the most documents, the most
        frequent first. `word` has to be in lower case and without accents, as the stems are.
        """
        vocabulary = f"{self.table}_words"
        self.database.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{vocabulary} USING fts5vocab(main, {self.table}, row)"
        )
        rows = self.database.execute(
            f"SELECT term FROM temp.{vocabulary} WHERE term >= ? AND term < ? ORDER BY doc DESC LIMIT ?",
            (word, word + chr(0x10FFFF), MOST_EXPANDED),
        )
        return [row[0] for row in rows]

    def marked(self, expression: str, ids: Sequence[int]) -> dict[int, Marked]:
        """Return the titles and texts of the rows with these ids, by id, with their matches marked; rows without a
        match are left out.
        """
        highlight = f"highlight({self.table}, ?, '{OPENING}', '{CLOSING}')"
        marks = ", ".join("?" * len(ids))
        rows = self.database.execute(
            f"SELECT rowid, {highlight}, {highlight} FROM {self.table} "
            f"WHERE {self.table} MATCH ? AND rowid IN ({marks})",
            (self.title, self.text, expression, *ids),
        )
        return {identity: Marked(title, text) for identity, title, text in rows}

    def _rarest(self, terms: Sequence[str]) -> list[str]:
        """Return the rarest terms, the rarest first: as many as have few enough matches to rank them all, but at least
        one.
        """
        counts = sorted((self.held(term, MOST_RANKED), term) for term in terms)
        kept: list[str] = []
        total = 0
        for count, term in counts:
            total += count
            if kept and count and total > MOST_RANKED:
                break
            kept.append(term)
        return kept


TURNS = ("turns_fts", 0, 1)
"""The full-text table of turns: question and answer."""
