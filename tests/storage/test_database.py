"""Opening, transactions, errors and migrations of the store."""

import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shared.errors import StoreCorrupt, StoreError, StoreFull, StoreLocked
from storage import migrations
from storage.database import Database


def test_a_new_store_is_whole_and_private(tmp_path: Path) -> None:
    database = Database(tmp_path / "deep" / "jackdaw.db")
    database.execute("INSERT INTO folders VALUES (?, ?)", (b"/a", "now"))
    assert database.problems() == []
    for file in (tmp_path / "deep").iterdir():
        assert file.stat().st_mode & 0o077 == 0, file


def test_another_process_that_leaves_takes_nothing_from_one_that_opened_the_store_twice(tmp_path: Path) -> None:
    path = tmp_path / "jackdaw.db"
    first, second = Database(path), Database(path)
    process = multiprocessing.get_context("spawn").Process(target=_come_and_go, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["jackdaw.db", "jackdaw.db-shm", "jackdaw.db-wal"]
    first.execute("INSERT INTO folders VALUES (?, ?)", (b"/a", "now"))
    assert (
        Database(path).execute("SELECT path FROM folders") == second.execute("SELECT path FROM folders") == [(b"/a",)]
    )


def _come_and_go(path: Path) -> None:
    Database(path).close()


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    database = Database(tmp_path / "jackdaw.db")
    with pytest.raises(ZeroDivisionError), database.transaction():
        database.execute("INSERT INTO folders VALUES (?, ?)", (b"/a", "now"))
        raise ZeroDivisionError
    assert database.execute("SELECT * FROM folders") == []


def test_a_process_killed_inside_a_transaction_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "jackdaw.db"
    Database(path).close()
    process = multiprocessing.get_context("spawn").Process(target=_die_inside_a_transaction, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == 9
    database = Database(path)
    assert database.execute("SELECT * FROM folders") == []
    assert database.problems() == []


def _die_inside_a_transaction(path: Path) -> None:
    database = Database(path)
    with database.transaction():
        database.execute("INSERT INTO folders VALUES (?, ?)", (b"/a", "now"))
        os._exit(9)


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be taken for one" * 100, b"\0" * 4096])
def test_a_damaged_store_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "jackdaw.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match=r"jackdaw\.db is damaged"):
        Database(path)
    assert path.read_bytes() == content


def test_damage_in_the_middle_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "jackdaw.db"
    database = Database(path)
    with database.transaction():
        for number in range(2000):
            database.execute("INSERT INTO folders VALUES (?, ?)", (b"/%d" % number, "now" * 20))
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    content = bytearray(path.read_bytes())
    content[-8192:-4096] = b"\xff" * 4096
    path.write_bytes(content)
    assert Database(path).problems() != []


def test_a_store_held_by_another_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "jackdaw.db"
    first, second = Database(path), Database(path, busy_seconds=0.05)
    with first.transaction(), pytest.raises(StoreLocked, match="Another process"), second.transaction():
        pass
    with second.transaction():
        second.execute("INSERT INTO folders VALUES (?, ?)", (b"/a", "now"))
    assert first.execute("SELECT path FROM folders") == [(b"/a",)]


def test_a_full_disk_loses_nothing_stored(tmp_path: Path) -> None:
    database = Database(tmp_path / "jackdaw.db")
    database.execute("INSERT INTO folders VALUES (?, ?)", (b"/kept", "now"))
    (pages,) = database.execute("PRAGMA page_count")[0]
    database.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreFull, match="The disk is full"), database.transaction():
        for number in range(1000):
            database.execute("INSERT INTO folders VALUES (?, ?)", (b"/%d" % number, "x" * 1000))
    assert database.execute("SELECT path FROM folders") == [(b"/kept",)]
    assert database.problems() == []


@pytest.mark.parametrize(("free", "expected"), [(0, StoreFull), (1 << 30, StoreError)])
def test_an_io_error_on_a_full_disk_is_a_full_disk(
    free: int, expected: type[StoreError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(tmp_path / "jackdaw.db")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(1 << 40, 1 << 40, free))
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    assert type(database._ours(error)) is expected


def test_a_folder_in_the_place_of_the_store_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "jackdaw.db").mkdir()
    with pytest.raises(StoreError, match="Cannot"):
        Database(tmp_path / "jackdaw.db")


def test_a_store_from_the_future_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jackdaw.db"
    Database(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(migrations.STEPS) + 1}")
    connection.close()
    with pytest.raises(StoreError, match="newer Jackdaw"):
        Database(path)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, "CREATE TABLE late (x);\nCREATE NONSENSE;\n"))
    with pytest.raises(StoreError, match="reports an error"):
        Database(tmp_path / "jackdaw.db")
    monkeypatch.undo()
    assert Database(tmp_path / "jackdaw.db").execute("SELECT name FROM sqlite_master WHERE name = 'late'") == []


def test_a_list_is_read_on_the_same_connection_with_errors_of_ours(tmp_path: Path) -> None:
    database = Database(tmp_path / "jackdaw.db")
    with database.transaction():
        database.execute("INSERT INTO folders VALUES (?, ?)", (b"/a", "now"))
        listed = database.rows("SELECT path, folded(added_at) AS at FROM folders WHERE path = ?", (b"/a",))
        assert listed == [{"path": b"/a", "at": "now"}]
        with pytest.raises(StoreError, match="reports an error: no such table: nonsense"):
            database.rows("SELECT * FROM nonsense")
    assert Database(tmp_path / "jackdaw.db").rows("SELECT path FROM folders") == [{"path": b"/a"}]
    with ThreadPoolExecutor(1) as pool, pytest.raises(StoreError, match="thread"):
        pool.submit(database.rows, "SELECT 1").result()


def test_a_list_of_a_damaged_store_says_so(tmp_path: Path) -> None:
    path = tmp_path / "jackdaw.db"
    database = Database(path)
    with database.transaction():
        for number in range(2000):
            database.execute("INSERT INTO folders VALUES (?, ?)", (b"/%d" % number, "now" * 20))
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    content = bytearray(path.read_bytes())
    content[-40960:] = b"\xff" * 40960
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="is damaged"):
        Database(path).rows("SELECT path, added_at FROM folders ORDER BY added_at")


def test_the_version_changes_with_every_writer(tmp_path: Path) -> None:
    mine, theirs = Database(tmp_path / "jackdaw.db"), Database(tmp_path / "jackdaw.db")
    seen = [mine.version()]
    for writer in (mine, theirs, mine):
        writer.execute("INSERT INTO folders VALUES (?, ?)", (os.urandom(4), "now"))
        seen.append(mine.version())
    assert len(set(seen)) == 4
    assert mine.version() == seen[-1]


def test_only_the_thread_that_opened_it_may_use_it(tmp_path: Path) -> None:
    database = Database(tmp_path / "jackdaw.db")
    with ThreadPoolExecutor(1) as pool, pytest.raises(StoreError, match="thread"):
        pool.submit(database.execute, "SELECT 1").result()


def test_another_process_that_closes_leaves_the_log_that_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "jackdaw.db"
    first, second = Database(path), Database(path)  # as two threads of a process have them
    for number in range(3):
        first.execute("INSERT INTO folders VALUES (?, ?)", (b"%d" % number, "now"))
        process = multiprocessing.get_context("spawn").Process(target=_see, args=(path, number + 1))
        process.start()
        process.join()
        assert process.exitcode == 0
    second.close()
    first.close()


def _see(path: Path, count: int) -> None:
    database = Database(path)
    seen = database.execute("SELECT COUNT(*) FROM folders")
    database.close()
    raise SystemExit(seen != [(count,)])


def test_nothing_is_written_to_a_store_that_was_taken_away(tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    database = Database(home / "jackdaw.db")
    home.rename(away)
    with pytest.raises(StoreError, match="is gone: its folder or disk was removed"), database.transaction():
        pass
    away.rename(home)
    with database.transaction():
        database.execute("INSERT INTO folders VALUES (?, ?)", (b"/a", "now"))
    assert database.is_here()
    database.close()


@pytest.mark.long
def test_several_processes_open_a_new_store_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from storage.database import Database\n"
        "sys.stdin.readline()\n"
        "for number in range(20):\n"
        "    while time.time() < float(sys.argv[2]) + number / 20: pass\n"
        "    Database(Path(sys.argv[1]) / f'{number}.db').close()\n"
    )
    start = time.time() + 3.0
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(start)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.close()
    for process in processes:
        assert process.stdout
        process.stdout.read()
        process.stdout.close()
        process.wait(60)
    assert [process.returncode for process in processes] == [0, 0, 0]
