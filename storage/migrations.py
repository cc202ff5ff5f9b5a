"""The migrations from one schema version to the next. A released step is never edited; a change is a new step.

Steps 1 to 5 are SQL (storage/schema.py). From step 6 on, a step is a function of the connection, wrapped by
sqlite-utils. A step runs inside a transaction and must leave it open: `create`, `create_index`, `add_column`,
`insert_all`, `upsert_all`, `query`, `execute` and `executescript` do (tests/storage/test_migrations.py). Steps must not
use `transform`, which drops a table's triggers, nor `enable_fts`, which makes no prefix index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from shared.errors import StoreError
from storage import schema
from storage.wrapping import wrap

if TYPE_CHECKING:
    import sqlite_utils

    Step = str | Callable[[sqlite_utils.Database], object]
    """SQL, or a function that is given the wrapped connection."""


def step_6(database: sqlite_utils.Database) -> None:
    """Add the tables of answers that the user marked wrong. A mark is valid while every source document of the answer
    is unchanged.
    """
    database.executescript(_WRONG)


_WRONG = """
CREATE TABLE wrong_answers (
    id INTEGER PRIMARY KEY,
    conversation_id INTEGER REFERENCES conversations ON DELETE CASCADE,  -- NULL where nobody had asked
    turn_id INTEGER,            -- that showed the answer; it may be gone, as when the question was asked again
    question TEXT NOT NULL,
    scope TEXT NOT NULL,        -- as of qa_entries
    answer TEXT NOT NULL,
    model TEXT NOT NULL,        -- name and hash of what wrote it; empty for what was quoted
    marked_at TEXT NOT NULL
);
CREATE INDEX wrong_answers_by_scope ON wrong_answers (scope);
CREATE INDEX wrong_answers_by_conversation ON wrong_answers (conversation_id);
CREATE TABLE wrong_answer_documents (
    wrong_id INTEGER NOT NULL REFERENCES wrong_answers ON DELETE CASCADE,
    path BLOB NOT NULL,
    key TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (wrong_id, path, key)
) WITHOUT ROWID;
"""


def step_7(database: sqlite_utils.Database) -> None:
    """Add the table of the files' abstract. A sentence is deleted as soon as one of its passages is deleted."""
    database.executescript(_ABSTRACTS)


_ABSTRACTS = """
CREATE TABLE abstracts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL
);
CREATE TABLE abstract_passages (
    abstract_id INTEGER NOT NULL REFERENCES abstracts,
    passage_id INTEGER NOT NULL,
    PRIMARY KEY (abstract_id, passage_id)
) WITHOUT ROWID;
CREATE INDEX abstract_passages_by_passage ON abstract_passages (passage_id);
CREATE TRIGGER abstracts_overtaken AFTER DELETE ON passages BEGIN
    DELETE FROM abstracts WHERE id IN (SELECT abstract_id FROM abstract_passages WHERE passage_id = old.id);
END;
CREATE TRIGGER abstracts_delete BEFORE DELETE ON abstracts BEGIN
    DELETE FROM abstract_passages WHERE abstract_id = old.id;
END;
"""


def step_8(database: sqlite_utils.Database) -> None:
    """Add the tables of people, and of the phone sources that may be read. People are computed again from the
    documents.
    """
    database.executescript(_PEOPLE)


_PEOPLE = """
CREATE TABLE people (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,         -- to show
    is_me INTEGER NOT NULL      -- 1 for the person whose files these are
);
CREATE TABLE person_names (
    person_id INTEGER NOT NULL REFERENCES people ON DELETE CASCADE,
    written TEXT NOT NULL,      -- a name, address or number, or several of them, as documents have it
    source TEXT NOT NULL,       -- the kind of these documents, such as mail; phone:contacts; "you": the person said so
    count INTEGER NOT NULL,     -- of these documents
    PRIMARY KEY (person_id, written, source)
) WITHOUT ROWID;
CREATE TABLE people_read (
    newest_passage INTEGER NOT NULL,  -- what was stored when people were computed, as `removals` and ids count it
    removals INTEGER NOT NULL
);
CREATE TABLE own_names (
    position INTEGER PRIMARY KEY,
    written TEXT NOT NULL       -- a name, address or number of the person whose files these are, as confirmed
);
CREATE TABLE phone_sources (
    name TEXT PRIMARY KEY,      -- messages, contacts, calls: a row is the consent to read them
    allowed_at TEXT NOT NULL,
    progress TEXT NOT NULL,     -- JSON: how far they were read
    read_at TEXT,               -- NULL until they were first read
    failure TEXT                -- why they could not be read the last time; NULL if they could
) WITHOUT ROWID;
"""


def step_9(database: sqlite_utils.Database) -> None:
    """Add the table of calendar events, and mark calendars as incomplete, so that they are read once more."""
    database.executescript(_EVENTS)


_EVENTS = """
CREATE TABLE events (
    document_id INTEGER PRIMARY KEY REFERENCES documents,
    uid TEXT NOT NULL,
    start TEXT NOT NULL,        -- ISO 8601: a day, or a time on the clock in the zone; so are all moments of this row
    seconds INTEGER NOT NULL,   -- how long it lasts
    zone TEXT NOT NULL,         -- a name, the text of a VTIMEZONE, or empty: wherever the device is
    rules TEXT NOT NULL,        -- JSON array of recurrence rules (RFC 5545, 3.3.10), without COUNT
    added TEXT NOT NULL,        -- JSON array of moments beside the rules
    left_out TEXT NOT NULL,     -- JSON array of moments that the rules would give
    last TEXT,                  -- day on which the last occurrence begins; NULL if they never end
    replaces TEXT,              -- moment of the occurrence in whose place this event stands; NULL for none
    revision INTEGER NOT NULL,
    stamped TEXT NOT NULL,
    status TEXT NOT NULL,
    place TEXT NOT NULL
);
CREATE INDEX events_by_uid ON events (uid);
CREATE TRIGGER events_delete BEFORE DELETE ON documents BEGIN
    DELETE FROM events WHERE document_id = old.id;
END;
UPDATE files SET sha256 = NULL WHERE id IN (SELECT file_id FROM documents WHERE kind IN ('event', 'task'));
"""


def step_10(database: sqlite_utils.Database) -> None:
    """Add the table of rows of tables and sheets, whose cells are looked up and summed. Rows are deleted with their
    document.
    """
    database.executescript(_TABLES)


_TABLES = """
CREATE TABLE tables (
    document_id INTEGER PRIMARY KEY REFERENCES documents,
    columns TEXT NOT NULL       -- JSON array of objects: name, and numbers of cells of each sort
);
CREATE TABLE table_rows (
    document_id INTEGER NOT NULL REFERENCES documents,
    ordinal INTEGER NOT NULL,   -- within the document, from 0
    line INTEGER NOT NULL,      -- in the file or sheet, from 1
    cells TEXT NOT NULL,        -- JSON array of texts
    cell_values TEXT NOT NULL,  -- JSON object, by the cell's place from 0: n2 a number, u2 its unit, d2 a day
    PRIMARY KEY (document_id, ordinal)
) WITHOUT ROWID;
CREATE TABLE table_words (
    word TEXT NOT NULL,         -- in the form in which words are compared
    document_id INTEGER NOT NULL REFERENCES documents,
    place INTEGER NOT NULL,     -- of the column, from 0
    cell TEXT NOT NULL,         -- a text of the column that has the word
    PRIMARY KEY (word, document_id, place, cell)
) WITHOUT ROWID;
CREATE INDEX table_words_by_document ON table_words (document_id);
CREATE TRIGGER documents_delete_tables BEFORE DELETE ON documents BEGIN
    DELETE FROM table_words WHERE document_id = old.id;
    DELETE FROM table_rows WHERE document_id = old.id;
    DELETE FROM tables WHERE document_id = old.id;
END;
"""


STEPS: tuple[Step, ...] = (*schema.STEPS, step_6, step_7, step_8, step_9, step_10)


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate the schema to the newest version, each step in its own transaction. Raises StoreError for a newer schema.

    `user_version`, the number of completed steps, is the only record of a store's version.
    """
    while (done := _version(connection)) < len(STEPS):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have migrated meanwhile.
            if (done := _version(connection)) < len(STEPS):
                _take(STEPS[done], connection)
                connection.execute(f"PRAGMA user_version = {done + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    if done > len(STEPS):
        raise StoreError(
            f"The store was written by a newer Jackdaw (schema {done}; this version knows up to "
            f"{len(STEPS)}). Update Jackdaw."
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _take(step: Step, connection: sqlite3.Connection) -> None:
    if not isinstance(step, str):
        step(wrap(connection))
        return
    for statement in statements(step):
        connection.execute(statement)


def statements(script: str) -> Iterator[str]:
    """Split an SQL script into statements, because the standard library's `executescript` would commit the
    transaction.
    """
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
