"""The words of a keyword index that begin with one which is still typed.

FTS5 merges the rows of all such words before it gives the first, and there may be very many: then only so many count.
"""

from storage.database import Database
from storage.keywords import quoted

MOST_WORDS = 200
"""Words that are looked up; of more, the first in the order of the alphabet."""

INDEXED = 3
"""Beginnings of so many letters have an index of their own (storage/migrations.py)."""

_TOKENIZER = "porter unicode61 remove_diacritics 2"
"""That of `turns_fts`."""


def prefix_expression(database: Database, word: str) -> str:
    """An FTS5 expression for what was said with words that begin with this one."""
    whole = f"{quoted(word)}*"
    if len(word) <= INDEXED:
        return whole
    database.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.typed USING fts5(word, tokenize = '{_TOKENIZER}')")
    database.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.typed_words USING fts5vocab(temp, typed, instance)")
    database.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.turns_words USING fts5vocab(main, turns_fts, row)")
    database.execute("DELETE FROM temp.typed")
    database.execute("INSERT INTO temp.typed VALUES (?)", (word,))
    typed = [row[0] for row in database.execute("SELECT term FROM temp.typed_words ORDER BY offset")]
    if not typed or len(typed[-1]) <= INDEXED:
        return whole
    words = database.execute(
        "SELECT term FROM temp.turns_words WHERE term >= ? AND term < ? LIMIT ?",
        (typed[-1], typed[-1] + chr(0x10FFFF), MOST_WORDS + 1),
    )
    if len(words) <= MOST_WORDS:
        return whole
    pattern = " OR ".join(quoted(term) for (term,) in words[:MOST_WORDS])
    return " AND ".join([*map(quoted, typed[:-1]), f"({pattern})"])
