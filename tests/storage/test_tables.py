"""Rows of tables and sheets: stored with their document, found by their cells' words, summed in SQL."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.types import Document, Filters, Passage
from storage.database import Database
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument
from storage.table_parts import Cell, Condition, Group, PreparedRow, PreparedTable, StoredColumn, Table, Totals
from storage.tables import TableStore

COLUMNS = [StoredColumn("shop", 3, 0, 0, 2), StoredColumn("amount", 3, 3, 0, 3), StoredColumn("currency", 3, 0, 0, 2)]
ROWS = [("Luna", 3.5, "EUR"), ("Luna", 1.5, "CHF"), ("Tram", 2.0, "EUR")]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "jackdaw.db")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A database shared by many generated examples, each of which replaces the rows of the one before."""
    return Database(tmp_path_factory.mktemp("shared") / "jackdaw.db")


def _put(database: Database, rows: Sequence[tuple[str, float, str]], key: str = "", title: str = "money") -> None:
    store = KnowledgeStore(database)
    prepared = PreparedTable(
        COLUMNS,
        [
            PreparedRow(line, (shop, str(amount), unit), {"n1": amount})
            for line, (shop, amount, unit) in enumerate(rows, 2)
        ],
        [(shop.lower(), 0, shop) for shop, _, _ in rows],
    )
    document = Document(key, "table", title, ())
    vector = np.ones((1, 2), np.float32)
    with database.transaction():
        file = store.open_file(FileState(b"/money.csv", 1, 1, None, ""))
        store.put(file, PreparedDocument(document, "h", [Passage("text", 0, 2)], vector, prepared))


def _table(database: Database) -> Table:
    (table,) = TableStore(database).tables(Filters())
    return table


def test_totals_by_the_unit_beside_and_by_group(database: Database) -> None:
    _put(database, ROWS)
    store, table = TableStore(database), _table(database)
    assert store.totals(table, [], 1, 2) == [Totals("", "EUR", 2, 5.5, 2.0, 3.5), Totals("", "CHF", 1, 1.5, 1.5, 1.5)]
    assert store.totals(table, [Condition(0, "text", ("Tram",))], 1) == [Totals("", "", 1, 2.0, 2.0, 2.0)]
    assert [(total.group, total.sum) for total in store.totals(table, [], 1, None, Group(0))] == [
        ("Luna", 5.0),
        ("Tram", 2.0),
    ]
    assert store.counts(table, [], Group(0)) == [("Luna", 2), ("Tram", 1)]


def test_conditions_and_order(database: Database) -> None:
    _put(database, ROWS)
    store, table = TableStore(database), _table(database)
    over = Condition(1, "n", (), ((1.9, None),))
    assert store.count(table, [over]) == 2
    assert [row.line for row in store.rows(table, [], 2, ("n1", True))] == [2, 4]
    assert [row.cells[0] for row in store.rows(table, [over, Condition(0, "text", ("Luna",))], 9)] == ["Luna"]


def test_words_find_cells(database: Database) -> None:
    _put(database, ROWS)
    store, table = TableStore(database), _table(database)
    assert store.cells(["luna", "none"]) == {"luna": [Cell(table.documents[0], 0, "Luna")]}
    assert store.words(["luna", "none"], table) == {"luna"}


def test_words_in_sql_are_values(database: Database) -> None:
    _put(database, ROWS)
    store, table = TableStore(database), _table(database)
    hostile = "'); DROP TABLE table_rows; --"
    assert store.cells([hostile]) == {}
    assert store.count(table, [Condition(0, "text", (hostile,))]) == 0
    assert store.count(table, []) == 3


def test_parts_of_a_long_table_are_one_table_and_other_sheets_are_others(database: Database) -> None:
    _put(database, ROWS)
    _put(database, ROWS, "part 2")
    _put(database, ROWS, "other", "money, other")
    tables = TableStore(database).tables(Filters())
    assert [(table.title, len(table.documents), table.columns[1].filled) for table in tables] == [
        ("money", 2, 6),
        ("money, other", 1, 3),
    ]
    assert TableStore(database).count(tables[0], []) == 6


def test_rows_are_replaced_and_deleted_with_their_document(database: Database) -> None:
    _put(database, ROWS)
    _put(database, ROWS[:1])
    assert TableStore(database).count(_table(database), []) == 1
    with database.transaction():
        KnowledgeStore(database).remove_file(b"/money.csv")
    for name in ("tables", "table_rows", "table_words"):
        assert database.execute(f"SELECT COUNT(*) FROM {name}") == [(0,)]
    assert database.problems() == []


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.floats(-1e6, 1e6), st.sampled_from(["", "g"])), min_size=1, max_size=20
    )
)
def test_a_sum_is_that_of_the_rows(shared: Database, rows: list[tuple[str, float, str]]) -> None:
    _put(shared, rows)
    totals = TableStore(shared).totals(_table(shared), [Condition(0, "text", ("a",))], 1, 2)
    for total in totals:
        numbers = [number for shop, number, unit in rows if shop == "a" and unit == total.unit]
        assert (total.count, total.least, total.most) == (len(numbers), min(numbers), max(numbers))
        assert total.sum == pytest.approx(sum(numbers), abs=1e-6)
    assert sum(total.count for total in totals) == sum(shop == "a" for shop, _, _ in rows)
