"""Makes data folders as earlier revisions left them."""

import os
import sqlite3
from pathlib import Path

from storage import migrations
from storage.wrapping import wrap

ROWS = Path(__file__).parent / "storage" / "home_of_schema_6.sql"
NOTES = {
    "cat.md": "# The cat\n\nThe cat takes five milligrams of medicine.\n",
    "drill.md": "# Things lent\n\nPetra has borrowed the blue drill.\n",
}
READ_AT = 1_700_000_000


def write_notes(folder: Path) -> None:
    """Write the files that the data folder's store has read, with the modification time that the store recorded."""
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (READ_AT, READ_AT))


def make_store(path: Path, version: int, notes: Path | None = None) -> None:
    """Make a store with the schema `version`, and insert the rows of a home that has read `notes`, as far as the schema
    has their tables.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    for step in migrations.STEPS[:version]:
        if isinstance(step, str):
            connection.executescript(step)
        else:
            step(wrap(connection))
    connection.execute(f"PRAGMA user_version = {version}")
    if notes is not None:
        rows = ROWS.read_text().replace("{notes}", str(notes)).replace("4E4F544553", os.fsencode(notes).hex())
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        for statement in migrations.statements(rows):
            if statement.partition("INTO ")[2].partition(" ")[0] in tables:
                connection.execute(statement)
    connection.close()


def schema(path: Path) -> list[tuple[str, str, str, str | None]]:
    """Return the store's tables and indexes, as SQLite lists them."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()
    connection.close()
    return rows
