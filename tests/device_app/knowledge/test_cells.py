"""What the cells of a table hold: numbers with units, days, durations, or texts with words."""

from typing import Any

import pytest

from device_app.knowledge.cells import table_of
from shared.types import Block, Document, TableRow
from storage.table_parts import DURATION, PreparedTable


def _table(*cells: str, name: str = "amount") -> PreparedTable:
    rows = tuple(TableRow(cell, place, None, (name,), (cell,)) for place, cell in enumerate(cells, 2))
    table = table_of(Document("", "table", "t", rows))
    assert table
    return table


def _values(*cells: str) -> list[dict[str, Any]]:
    return [dict(row.values) for row in _table(*cells).rows]


@pytest.mark.parametrize(
    ("cell", "number", "unit"),
    [
        ("12", 12, None),
        ("-3.5", -3.5, None),
        ("(40)", -40, None),
        ("3,50", 3.5, None),
        ("1,234.50", 1234.5, None),
        ("1.234,50", 1234.5, None),
        ("1 234 567", 1234567, None),
        ("1'234.5", 1234.5, None),
        ("3.2 kg", 3.2, "kg"),
        ("16cm", 16, "cm"),
        ("€12.50", 12.5, "€"),
        ("12.50 EUR", 12.5, "EUR"),
        ("CHF 12.50", 12.5, "CHF"),
        ("5%", 5, "%"),
        ("1:52:40", 6760, DURATION),
    ],
)
def test_numbers_and_their_units(cell: str, number: float, unit: str | None) -> None:
    assert _values(cell) == [{"n0": number} | ({"u0": unit} if unit else {})]


@pytest.mark.parametrize(
    "cell", ["0043 664", "007", "555 7740", "B1", "7b", "4x40", "12 34", "1.2.3", "10:30", "a lot", "12345678901234567"]
)
def test_codes_telephone_numbers_and_times_are_texts(cell: str) -> None:
    assert _values(cell) == [{}]


@pytest.mark.parametrize(
    ("cells", "number"),
    [
        (("1,250", "3.50"), 1250),
        (("1,250", "3,50"), 1.25),
        (("1.250", "1.250,00"), 1250),
        (("1.250", "0.5"), 1.25),
    ],
)
def test_a_number_that_could_be_read_in_two_ways_is_read_as_the_others_of_its_table(
    cells: tuple[str, ...], number: float
) -> None:
    assert _values(*cells)[0] == {"n0": number}


def test_where_nothing_tells_it_has_no_value() -> None:
    assert _values("1,250", "300", "20") == [{}, {"n0": 300}, {"n0": 20}]


@pytest.mark.parametrize(
    ("cells", "day"),
    [
        (("2026-03-14",), "2026-03-14"),
        (("2026-03-14 10:30",), "2026-03-14"),
        (("14.3.2026",), "2026-03-14"),
        (("14 March 2026",), "2026-03-14"),
        (("March 14, 2026",), "2026-03-14"),
        (("04/03/2026", "14/03/2026", "15/03/2026"), "2026-03-04"),
        (("04/03/2026", "03/14/2026", "03/15/2026"), "2026-04-03"),
    ],
)
def test_days(cells: tuple[str, ...], day: str) -> None:
    assert _values(*cells)[0] == {"d0": day}


def test_days_whose_order_nothing_tells_have_no_value() -> None:
    assert _values("04/03/2026") == [{}]
    assert _values("2026-02-31", "2026-02-28", "2026-02-27")[0] == {}


def test_a_column_with_a_few_numbers_among_texts_is_of_texts() -> None:
    table = _table("oak", "brass", "3", "paper shade")
    assert table.columns[0].numbers == 0
    assert [row.values for row in table.rows] == [{}] * 4
    assert ("shad", 0, "paper shade") in table.words


def test_addresses_are_texts() -> None:
    assert _table("12 Main", "3 Hill", "4 Mill", "5 Lake", "6 Elm", "7 Bay").columns[0].numbers == 0


def test_prose_has_no_words_to_look_up() -> None:
    assert _table("one two three four five six seven eight nine").words == []


def test_rows_may_be_longer_and_shorter_than_the_columns() -> None:
    rows = (TableRow("", 2, None, ("a",), ("x", "y")), TableRow("", 3, None, ("a",), ()))
    table = table_of(Document("", "table", "t", rows))
    assert table
    assert [row.cells for row in table.rows] == [["x", "y"], ["", ""]]
    assert [column.name for column in table.columns] == ["a", ""]


@pytest.mark.parametrize("name", ["Total", "TOTAL:", "Grand total", "Subtotal", "Summe", "Average"])
def test_a_row_that_sums_up_the_others_is_none_of_them(name: str) -> None:
    cells = [("Luna", "2"), ("Total Bistro", "3"), (name, "5")]
    rows = tuple(TableRow("", place, None, ("shop", "amount"), row) for place, row in enumerate(cells, 2))
    table = table_of(Document("", "table", "t", rows))
    assert table
    assert [row.cells[0] for row in table.rows] == ["Luna", "Total Bistro"]


def test_a_shop_named_like_a_sum_is_a_row() -> None:
    cells = [("Total", "2026-03-01", "40 l"), ("Luna", "2026-03-02", "12 l"), ("Total", "2026-03-09", "38 l")]
    rows = tuple(TableRow("", place, None, ("station", "day", "amount"), row) for place, row in enumerate(cells, 2))
    table = table_of(Document("", "table", "t", rows))
    assert table
    assert len(table.rows) == 3


def test_a_very_wide_table_is_left_to_its_passages() -> None:
    cells = tuple(map(str, range(201)))
    assert table_of(Document("", "table", "t", (TableRow("", 2, None, cells, cells),))) is None


def test_a_document_without_columns_is_no_table() -> None:
    assert table_of(Document("", "table", "t", (Block("x"),))) is None
