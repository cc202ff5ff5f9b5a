import csv
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from shared.errors import UnreadableFile
from shared.types import Document, TableRow

Read = Callable[..., list[Document]]


@pytest.fixture(autouse=True)
def field_size_limit() -> Iterator[None]:
    """Restore csv's limit afterwards, which is global in the process."""
    before = csv.field_size_limit()
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_rows_are_told_by_their_columns(read: Read, separator: str) -> None:
    text = "Who;What;When\nPetra;drill;\n\nTomaso;;May\n".replace(";", separator)
    columns = ("Who", "What", "When")
    (table,) = read("lent 2026-03-14.csv", text)
    assert table == Document(
        *("", "table", "lent 2026-03-14"),
        (
            TableRow("Who: Petra; What: drill", 2, None, columns, ("Petra", "drill", "")),
            TableRow("Who: Tomaso; When: May", 4, None, columns, ("Tomaso", "", "May")),
        ),
        datetime(2026, 3, 14),
    )


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1\n", [(2, "a: 1")]),
        ("a,b\n1,2,3,4\n", [(2, "a: 1; b: 2; 3; 4")]),
        ('a,b\n"x\ny",2\nz,3\n', [(2, "a: x y; b: 2"), (4, "a: z; b: 3")]),
        ("a,b\n1\0,2\n", [(2, "a: 1; b: 2")]),
        ("a,b\r1,2\r", [(2, "a: 1; b: 2")]),
        ("\n\na,b\n1,2\n", [(4, "a: 1; b: 2")]),
        ('a,b\n"x"y,2\n', [(2, "a: xy; b: 2")]),
        ('a,b\n1,"open\n', [(2, "a: 1; b: open")]),
        ("only,one,row\n", [(1, "only; one; row")]),
    ],
)
def test_ragged_quoted_and_damaged_rows(read: Read, text: str, rows: list[tuple[int, str]]) -> None:
    (table,) = read("a.csv", text)
    assert [(block.line, block.text) for block in table.blocks] == rows


def test_a_huge_field_is_read(read: Read) -> None:
    (table,) = read("a.csv", "a,b\n" + "x" * 2_000_000 + ",2\n")
    assert len(table.blocks[0].text) > 2_000_000


def test_a_field_beyond_the_limit_is_a_reason(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="broken table"):
        read("a.csv", 'a\n"' + "x\n" * 1000, max_bytes=1000)


def test_a_long_table_comes_in_parts_with_lasting_keys(read: Read) -> None:
    parts = read("a.csv", "n\n" + "".join(f"{number}\n" for number in range(4500)))
    assert [(part.key, len(part.blocks)) for part in parts] == [("", 2000), ("part 2", 2000), ("part 3", 500)]
    assert parts[2].blocks[-1] == TableRow("n: 4499", 4501, None, ("n",), ("4499",))
