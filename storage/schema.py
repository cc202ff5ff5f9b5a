"""The first five migration steps, as SQL. They have been released and stay unchanged, byte for byte."""

# Folders, files, their documents, passages, vectors and keywords. Paths are bytes: file names need not be UTF-8.
# Deletion cascades by triggers, not by foreign keys, because the keyword index needs a passage's title and people while
# the document still exists.
_KNOWLEDGE = """
CREATE TABLE folders (
    path BLOB PRIMARY KEY,
    added_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    sha256 TEXT,                -- NULL until all its documents are stored
    recipe TEXT NOT NULL,       -- reader version, passage length, embedder: another recipe, read again
    ingested_at TEXT NOT NULL
);

CREATE TABLE skipped (
    path BLOB PRIMARY KEY,
    reason TEXT NOT NULL,
    seen_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id INTEGER NOT NULL REFERENCES files,
    key TEXT NOT NULL,
    hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    date TEXT,
    people TEXT NOT NULL,       -- JSON array of names
    UNIQUE (file_id, key)
);
CREATE INDEX documents_by_date ON documents (date);

CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents,
    ordinal INTEGER NOT NULL,
    text TEXT NOT NULL,
    line INTEGER,
    page INTEGER,
    UNIQUE (document_id, ordinal)
);

CREATE TABLE vectors (
    passage_id INTEGER PRIMARY KEY REFERENCES passages,
    vector BLOB NOT NULL        -- float32, little-endian, unit length
);

CREATE VIEW passage_texts AS
    SELECT passages.id AS id, title, people, text
    FROM passages JOIN documents ON documents.id = document_id;

CREATE VIRTUAL TABLE passages_fts USING fts5(
    title, people, text,
    content = 'passage_texts', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TRIGGER passages_insert AFTER INSERT ON passages BEGIN
    INSERT INTO passages_fts (rowid, title, people, text)
        SELECT id, title, people, text FROM passage_texts WHERE id = new.id;
END;
CREATE TRIGGER passages_delete BEFORE DELETE ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, people, text)
        SELECT 'delete', id, title, people, text FROM passage_texts WHERE id = old.id;
    DELETE FROM vectors WHERE passage_id = old.id;
END;
CREATE TRIGGER documents_delete BEFORE DELETE ON documents BEGIN
    DELETE FROM passages WHERE document_id = old.id;
END;
CREATE TRIGGER files_delete BEFORE DELETE ON files BEGIN
    DELETE FROM documents WHERE file_id = old.id;
END;
"""


# Questions and answers.
_CONVERSATIONS = """
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX conversations_by_update ON conversations (updated_at);

CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    complete INTEGER NOT NULL,  -- 0 while the answer is being written
    record TEXT NOT NULL,       -- JSON: sources, trace, model, as `ask --json` prints them
    asked_at TEXT NOT NULL
);
CREATE INDEX turns_by_conversation ON turns (conversation_id, id);

CREATE VIRTUAL TABLE turns_fts USING fts5(
    question, answer,
    content = 'turns', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER turns_insert AFTER INSERT ON turns BEGIN
    INSERT INTO turns_fts (rowid, question, answer) VALUES (new.id, new.question, new.answer);
END;
CREATE TRIGGER turns_update AFTER UPDATE OF question, answer ON turns BEGIN
    INSERT INTO turns_fts (turns_fts, rowid, question, answer)
        VALUES ('delete', old.id, old.question, old.answer);
    INSERT INTO turns_fts (rowid, question, answer) VALUES (new.id, new.question, new.answer);
END;
CREATE TRIGGER turns_delete BEFORE DELETE ON turns BEGIN
    INSERT INTO turns_fts (turns_fts, rowid, question, answer)
        VALUES ('delete', old.id, old.question, old.answer);
END;
"""


# The caches: answers (the QA bank) and KV states (the QKV tree, whose states are files). Cache entries drawn from a
# passage are removed in the transaction that deletes the passage: an asked question waits for a new answer, a predicted
# one is deleted.
_CACHE = """
CREATE TABLE removals (
    name TEXT PRIMARY KEY,
    count INTEGER NOT NULL      -- rows ever deleted: who holds vectors in memory sees whether any of them is gone
) WITHOUT ROWID;
INSERT INTO removals VALUES ('passages', 0), ('qa_entries', 0);

CREATE TABLE qa_entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    question TEXT NOT NULL,     -- without its filters
    scope TEXT NOT NULL,        -- JSON: its filters and days
    recipe TEXT NOT NULL,       -- model, prompt, sampling: another recipe, another answer
    origin TEXT NOT NULL,       -- asked or predicted
    answer TEXT,                -- NULL while it waits to be decoded
    record TEXT NOT NULL,       -- JSON, as `ask --json` prints it
    stale INTEGER NOT NULL DEFAULT 0,
    newest_passage INTEGER NOT NULL,  -- the newest there was when it was answered
    cost_ms REAL NOT NULL,      -- what answering took, and a hit saves
    bytes INTEGER NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0,
    answered_at TEXT NOT NULL,
    used_at TEXT NOT NULL,
    UNIQUE (question, scope, recipe)
);
CREATE TABLE qa_vectors (
    entry_id INTEGER PRIMARY KEY REFERENCES qa_entries,
    vector BLOB NOT NULL        -- float32, little-endian, unit length
);
CREATE TABLE qa_sources (
    entry_id INTEGER NOT NULL REFERENCES qa_entries,
    passage_id INTEGER NOT NULL,
    PRIMARY KEY (entry_id, passage_id)
) WITHOUT ROWID;
CREATE INDEX qa_sources_by_passage ON qa_sources (passage_id);

CREATE TABLE kv_slices (
    name TEXT PRIMARY KEY,      -- names the file: hash of model, setting and every text from the root on
    parent TEXT,                -- NULL for the root
    kv_key TEXT NOT NULL,
    passage_id INTEGER,         -- NULL for the root
    tokens INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    used_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX kv_slices_by_parent ON kv_slices (parent);

CREATE TABLE cache_counters (
    name TEXT PRIMARY KEY,
    value REAL NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER qa_entries_stale AFTER DELETE ON passages BEGIN
    DELETE FROM qa_entries
        WHERE origin = 'predicted' AND id IN (SELECT entry_id FROM qa_sources WHERE passage_id = old.id);
    UPDATE qa_entries SET stale = 1, answer = NULL, record = '{}'
        WHERE id IN (SELECT entry_id FROM qa_sources WHERE passage_id = old.id);
    UPDATE removals SET count = count + 1 WHERE name = 'passages';
END;
CREATE TRIGGER qa_entries_delete BEFORE DELETE ON qa_entries BEGIN
    DELETE FROM qa_vectors WHERE entry_id = old.id;
    DELETE FROM qa_sources WHERE entry_id = old.id;
    UPDATE removals SET count = count + 1 WHERE name = 'qa_entries';
END;
"""


# Search of conversations while typing: prefixes of words get an index of their own.
_TYPING = """
DROP TABLE turns_fts;
CREATE VIRTUAL TABLE turns_fts USING fts5(
    question, answer,
    content = 'turns', content_rowid = 'id', prefix = '1 2 3',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO turns_fts (turns_fts) VALUES ('rebuild');
"""


# Daily cache statistics, which are kept even if the questions and answers they count are deleted.
_DAYS = """
CREATE TABLE cache_days (
    day TEXT NOT NULL,          -- local, YYYY-MM-DD
    name TEXT NOT NULL,         -- of a counter
    value REAL NOT NULL,
    PRIMARY KEY (day, name)
) WITHOUT ROWID;
"""


STEPS = (_KNOWLEDGE, _CONVERSATIONS, _CACHE, _TYPING, _DAYS)
