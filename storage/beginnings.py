"""FTS5 expressions for words of which the last one is still being typed.

For a prefix, FTS5 merges the rows of all words that begin with it before it returns the first row. As there may be very
many, only some of the words are used.
"""

from storage.database import Database
from storage.keywords import quoted

MOST_WORDS = 200
"""The most words that are looked up for a prefix, in alphabetical order."""

INDEXED = 3
"""The length in characters up to which prefixes have an index of their own (storage/migrations.py)."""

_TOKENIZER = "porter unicode61 remove_diacritics 2"
"""The FTS5 tokenizer of the table `turns_fts`."""


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
