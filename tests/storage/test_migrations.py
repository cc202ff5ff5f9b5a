"""Schema migrations: released steps are unchanged, every older store gets the newest schema, and a killed migration
continues.
"""

import hashlib
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from storage import migrations
from storage import schema as sql_steps
from storage.conversations import ConversationStore
from storage.database import Database
from storage.knowledge import KnowledgeStore, Totals
from storage.wrapping import wrap
from tests.older_homes import make_store, schema, write_notes

NEWEST = len(migrations.STEPS)


@pytest.fixture
def newest(tmp_path: Path) -> list[tuple[str, str, str, str | None]]:
    """The schema of a new store."""
    Database(tmp_path / "newest.db").close()
    return schema(tmp_path / "newest.db")


def test_the_released_sql_steps_are_the_same_byte_for_byte() -> None:
    assert [hashlib.sha256(step.encode()).hexdigest() for step in sql_steps.STEPS] == [
        "d6ec0381e4483fee6a36864097ad411e155cb7f7e5ba41c9699632e05cc991db",
        "aacb4efc3058e73e9bc4485100dbbf0a6df69694f31339b2f7efdb9eaf0dc251",
        "9d53a8ccde2b901f8f22491f85bdf12e3ef6094630e543d9f211f17424f47152",
        "a5d314fa77ab7008de6078bdcbada747ca526b326acd9de27866b45a90509d4b",
        "86567aad3027261de9609d9894d5ce3a8c2bad70a5504c53a078f99368276d89",
    ]


def test_step_6_makes_what_it_made_when_it_was_sql(tmp_path: Path) -> None:
    make_store(tmp_path / "jackdaw.db", 6)
    # What SQLite makes by itself for a keyword index may differ between its versions.
    own = [row for row in schema(tmp_path / "jackdaw.db") if "_fts_" not in row[1]]
    assert (
        hashlib.sha256(repr(own).encode()).hexdigest()
        == "8b47e71b2d24b75acbc667751e7e37fcae614d75373df16a6fee0ffa1de2bb20"
    )


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_a_store_of_each_earlier_schema_ends_as_a_new_one(
    version: int, tmp_path: Path, newest: list[tuple[str, str, str, str | None]]
) -> None:
    path, notes = tmp_path / "jackdaw.db", tmp_path / "notes"
    write_notes(notes)
    make_store(path, version, notes)
    database = Database(path)
    assert schema(path) == newest
    assert database.execute("PRAGMA user_version") == [(NEWEST,)]
    assert database.problems() == []
    if version >= 1:
        assert KnowledgeStore(database).totals() == Totals(folders=1, files=2, documents=2, passages=2, skipped=1)
    if version >= 2:
        assert [turn.id for turn in ConversationStore(database).search("drill")] == [2, 1]
        assert [turn.id for turn in ConversationStore(database).search("mil", prefix=True)] == [3]
    database.close()


@pytest.mark.parametrize("statement", [3, "COMMIT"])
@pytest.mark.parametrize("version", range(NEWEST))
def test_a_process_killed_inside_a_step_leaves_the_schema_before_it(
    version: int, statement: int | str, tmp_path: Path, newest: list[tuple[str, str, str, str | None]]
) -> None:
    path = tmp_path / "jackdaw.db"
    make_store(path, version)
    before = schema(path)
    done = subprocess.run([sys.executable, "-c", MIGRATE_AND_DIE, str(path), str(statement)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert schema(path) == before
    database = Database(path)
    assert schema(path) == newest
    assert database.problems() == []
    database.close()


# The process is killed before it executes that statement of the first step that it takes.
MIGRATE_AND_DIE = """
import os, signal, sqlite3, sys
from storage.migrations import migrate

seen = 0

def die(statement):
    global seen
    seen += connection.in_transaction
    if sys.argv[2] in (statement, str(seen)):
        os.kill(os.getpid(), signal.SIGKILL)

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA cache_size = 1")  # pages go to the disk before the end
connection.set_trace_callback(die)
migrate(connection)
"""


@pytest.mark.parametrize("how", ["error", "kill"])
def test_what_a_step_may_call_of_sqlite_utils_stays_inside_our_transaction(how: str, tmp_path: Path) -> None:
    path = tmp_path / "jackdaw.db"
    make_store(path, NEWEST)
    before = schema(path)
    done = subprocess.run([sys.executable, "-c", TAKE_A_WIDE_STEP, str(path), how], check=False)
    assert done.returncode == (3 if how == "error" else -signal.SIGKILL)
    assert schema(path) == before
    database = Database(path)
    assert database.execute("SELECT COUNT(*) FROM folders") == [(0,)]
    database.close()


TAKE_A_WIDE_STEP = """
import os, signal, sys
from pathlib import Path
from storage import migrations
from storage.database import Database

def step(database):
    table = database.table("late")
    table.create({"id": int, "path": bytes, "note": str}, pk="id", not_null=("path",))
    table.create_index(["path"])
    table.insert_all({"id": number, "path": b"/%d" % number, "note": "x" * 100} for number in range(500))
    table.add_column("more", str)
    table.upsert_all([{"id": 1, "path": b"/1", "more": "y"}], pk="id")
    database.execute("INSERT INTO folders VALUES (?, ?)", (b"/a", "now"))
    database.executescript("CREATE TABLE later (x);\\nINSERT INTO later VALUES (1);\\n")
    assert list(database.query("SELECT more FROM late WHERE id = 1")) == [{"more": "y"}]
    assert table.count == 500
    assert database.conn.in_transaction
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(3)

migrations.STEPS = (*migrations.STEPS, step)
Database(Path(sys.argv[1]))
"""


def test_a_wrapped_connection_is_as_it_was(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "jackdaw.db", isolation_level=None)
    before = connection.execute("PRAGMA recursive_triggers").fetchall(), connection.isolation_level
    wrap(connection)
    assert (connection.execute("PRAGMA recursive_triggers").fetchall(), connection.isolation_level) == before


def test_two_processes_that_migrate_at_once_end_as_one(
    tmp_path: Path, newest: list[tuple[str, str, str, str | None]]
) -> None:
    paths = [tmp_path / f"{version}-{number}.db" for version in range(NEWEST) for number in range(3)]
    for path in paths:
        make_store(path, int(path.name[0]))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_EACH, *map(str, paths)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for path in paths:
        for process in processes:
            assert process.stdin and process.stdout
            process.stdin.write(b"open\n")
            process.stdin.flush()
        for process in processes:
            assert process.stdout and process.stdout.readline() == b"opened\n", path
    for process in processes:
        process.communicate()
    assert [path.name for path in paths if schema(path) != newest] == []


OPEN_EACH = """
import sys
from pathlib import Path
from storage.database import Database

for path in sys.argv[1:]:
    sys.stdin.readline()
    Database(Path(path)).close()
    print("opened", flush=True)
"""


def test_a_store_that_is_up_to_date_opens_without_sqlite_utils(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database(tmp_path / "jackdaw.db").close()
    monkeypatch.setitem(sys.modules, "sqlite_utils", None)
    Database(tmp_path / "jackdaw.db").close()
