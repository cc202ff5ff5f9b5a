"""FTS5 expressions for words of which the last is still being typed.

FTS5 merges the rows of all words with a prefix before it returns the first. As there may be very many, only some words
count.
"""

from storage.database import Database
from storage.keywords import quoted

MOST_WORDS = 200
"""The most words looked up for a prefix, in alphabetical order."""

INDEXED = 3
"""Prefixes up to this length have an index of their own (storage/migrations.py)."""

_TOKENIZER = "porter unicode61 remove_diacritics 2"
"""The tokenizer of `turns_fts`."""


def prefix_expression(database: Database, word: str) -> str:
    """Return an FTS5 expression that matches turns with words that begin with `word`."""
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
