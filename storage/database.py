"""One SQLite file: opens it safely, runs transactions, and converts SQLite's errors. Independent of the tables.

Uses the standard library's driver directly wherever a question is answered: importing sqlite-utils
(storage/wrapping.py) takes 0.05 to 0.15 s.
"""

import os
import shutil
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shared.errors import StoreCorrupt, StoreError, StoreFull, StoreLocked
from storage.migrations import migrate
from storage.wrapping import wrap

BUSY_SECONDS = 10.0
_LEAST_FREE = 1 << 20

_opening = threading.Lock()
"""A lock that a thread holds while it creates the file, so that no other thread has the file open."""


class Database:
    """A connection to the store, migrated to the newest schema. For use by the thread that opened it.

    Its SQL has the function `folded`.

    Raises StoreCorrupt, StoreLocked, StoreFull or StoreError instead of sqlite3's errors.
    """

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        with self._translated():
            with _opening:
                _create_private(path)
                self._connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
            try:
                self._connection.create_function("folded", 1, folded, deterministic=True)
                _use_wal(self._connection, busy_seconds)
                # NORMAL with WAL: a power cut may lose the last transactions, but never consistency.
                for pragma in (
                    "synchronous = NORMAL",
                    "foreign_keys = ON",
                    "temp_store = MEMORY",
                    "cache_size = -32000",  # KB; a search reads pages all over the keyword index
                ):
                    self._connection.execute(f"PRAGMA {pragma}")
                migrate(self._connection)
                self._file = _identity(path)
            except BaseException:
                self._connection.close()
                raise

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows."""
        with self._translated():
            return self._connection.execute(sql, parameters).fetchall()

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Return a query's rows as dictionaries by column name, through sqlite-utils.

        Only for listings of the command line: the first call in a process imports sqlite-utils.
        """
        with self._translated():
            return list(wrap(self._connection).query(sql, parameters))

    def insert(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run one INSERT and return the new row's id."""
        with self._translated():
            return int(self._connection.execute(sql, parameters).lastrowid or 0)

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row of parameters."""
        with self._translated():
            self._connection.executemany(sql, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block as one transaction, which is atomic even if the process is killed. Waits for other writers.
        Does not nest.
        """
        with self._translated():
            if not self.is_here():  # writes to a removed file would be lost without an error
                raise StoreError(
                    f"The store {self.path} is gone: its folder or disk was removed. Put the store "
                    "back, or start Jackdaw again to begin with an empty store."
                )
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # A full disk may have caused a rollback already.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let the block read one state of the store, whatever other connections write meanwhile. Does not nest."""
        self.execute("BEGIN")
        try:
            yield
        finally:
            self.execute("COMMIT")

    def is_here(self) -> bool:
        """Return whether the store's file is still in place, neither removed nor replaced."""
        return _identity(self.path) == self._file

    def version(self) -> tuple[int, int]:
        """Return a value that changes whenever any connection, including this one, changes the store."""
        with self._translated():
            (theirs,) = self._connection.execute("PRAGMA data_version").fetchone()
            return int(theirs), self._connection.total_changes

    def problems(self) -> list[str]:
        """Return the problems found by SQLite's own checks; empty if there are none. Takes time proportional to the
        store's size.
        """
        faults = []
        # First: newer SQLites check these tables in `quick_check`, too, but by what this connection read before another
        # process wrote, until the table is used again.
        for table in ("passages_fts", "turns_fts"):
            try:
                self.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
            except StoreError as error:
                faults.append(f"keyword index {table}: {error}")
        try:
            faults += [str(row[0]) for row in self.execute("PRAGMA quick_check") if row[0] != "ok"]
            orphans = self.execute("PRAGMA foreign_key_check")
        except StoreCorrupt as error:
            return [str(error)]
        return faults + [f"{table} row {row} points to a missing {parent}" for table, row, parent, _ in orphans]

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._ours(error) from error
        except OSError as error:
            raise StoreError(
                f"Cannot open the store {self.path}: {error.strerror}. Check the folder's permissions."
            ) from error

    def _ours(self, error: sqlite3.Error) -> StoreError:
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return StoreCorrupt(
                f"The store {self.path} is damaged ({error}). Your own files are untouched: "
                "move the store away and run `jackdaw add` on your folders again."
            )
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreLocked(f"Another process is writing to {self.path}. Try again when that process has finished.")
        if primary == sqlite3.SQLITE_FULL or (primary == sqlite3.SQLITE_IOERR and self._disk_is_full()):
            return StoreFull(f"The disk is full. No stored data is lost. Free some space on the disk of {self.path}.")
        if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return StoreError(
                f"Cannot write to the store {self.path} ({error}). Check the file's permissions and the disk."
            )
        return StoreError(f"The store {self.path} reports an error: {error}. To check the store: jackdaw doctor")

    def _disk_is_full(self) -> bool:
        # SQLite maps a file for memory shared between processes; without room for it, SQLite reports an I/O error.
        return shutil.disk_usage(self.path.parent).free < _LEAST_FREE


def _use_wal(connection: sqlite3.Connection, seconds: float) -> None:
    """Switch to write-ahead logging. SQLite does not wait if another process switches at the same moment, so this
    retries.

    Raises sqlite3.OperationalError after `seconds`.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
            time.sleep(0.01)
        else:
            return


def _create_private(path: Path) -> None:
    """Create the database file if it is missing; SQLite gives its -wal and -shm files the same mode.

    Never opens an existing file: closing it would release all POSIX locks of this process on it, and another process
    could then remove the -wal file under active writers.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the file's device and inode; None if there is no file."""
    try:
        current = path.stat()
    except OSError:
        return None
    return current.st_dev, current.st_ino


def folded(name: str | bytes) -> str:
    """Return a name or path normalised for comparison, ignoring case, encoding and the composition of accents.

    SQLite's own lower() handles only ASCII, and macOS stores accents separately from letters in file names.
    """
    text = os.fsdecode(name)
    if text.isascii():  # as most are; 100,000 titles may be compared for a search
        return text.lower()
    text = text.encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", text).casefold()
