"""The parts of tables and sheets: columns, rows and cells as they are stored; and the conditions, groups and totals of
queries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

DURATION: Final = "h:m:s"
"""The unit of durations, which are stored as numbers of seconds."""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column: its name; how many of its cells are filled, are numbers, are days, and are different.

    `units` are the units with which its numbers are written.
    """

    name: str
    filled: int
    numbers: int
    days: int
    distinct: int
    units: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedRow:
    """A row to store: its line, its cells, and the cells' values by kind and column.

    In the values, n2 is the number in column 2, u2 that number's unit, and d2 the day in column 2.
    """

    line: int
    cells: Sequence[str]
    values: Mapping[str, str | float]


@dataclass(frozen=True, slots=True)
class PreparedTable:
    """A table to store.

    `words` lists each word of the cells: (word, number of the column, text of the cell that contains the word).
    """

    columns: Sequence[StoredColumn]
    rows: Sequence[PreparedRow]
    words: Sequence[tuple[str, int, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A stored table: the documents that hold its rows, in order. `path` is printable, `title` names file and sheet."""

    documents: tuple[int, ...]
    title: str
    path: str
    columns: tuple[StoredColumn, ...]

    @property
    def rows(self) -> int:
        """The number of rows, counted by the column with the most filled cells."""
        return max((column.filled for column in self.columns), default=0)


@dataclass(frozen=True, slots=True)
class Cell:
    """A text that one or several rows have in the column number `place`, in the part of a table that
    `document` holds.
    """

    document: int
    place: int
    text: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a row's cell in the column at `place`: it is one of the given texts, or its value lies in one of
    the given spans.

    `kind` is "n" for numbers and "d" for days; a span's ends are inclusive, None where it is open. `shown` names the
    texts for the user, if they are many spellings of the same word. With `is_excluded`, the cell must be none of the
    texts.
    """

    place: int
    kind: Literal["text", "n", "d"]
    texts: tuple[str, ...] = ()
    spans: tuple[tuple[str | float | None, str | float | None], ...] = ()
    shown: str = ""
    is_excluded: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The criterion by which rows are grouped: the texts of a column or, with `period`, its years, months, weeks or
    days. A week is written as "week of" its Monday.
    """

    place: int
    period: Literal["", "year", "month", "week", "day"] = ""

    @property
    def sql(self) -> str:
        """The SQL for a row's group; its parameter is `path`."""
        if self.period == "week":
            return "('week of ' || date(substr(json_extract(cell_values, ?), 1, 10), 'weekday 0', '-6 days'))"
        return f"substr(json_extract(cell_values, ?), 1, {_LENGTHS[self.period]})" if self.period else CELL

    @property
    def path(self) -> str:
        """The path of the column in the JSON that `sql` reads."""
        return f"$.d{self.place}" if self.period else f"$[{self.place}]"


CELL: Final = "json_extract(cells, ?)"
"""The SQL for the text of a row's cell; its parameter is the path of the column."""

_LENGTHS: Final = {"year": 4, "month": 7, "day": 10}


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row: the document that holds it, its line in the file or sheet, its cells and their values."""

    document: int
    line: int
    cells: tuple[str, ...]
    values: Mapping[str, str | float]


@dataclass(frozen=True, slots=True)
class Totals:
    """The count, sum, least and greatest of the numbers of a column that have one unit ("" for none), in one group of
    rows ("" for all rows).
    """

    group: str
    unit: str
    count: int
    sum: float
    least: float
    most: float
