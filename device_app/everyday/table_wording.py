"""Puts the rows, figures and conditions of tables into words, and into the `items` of `ask --json`."""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import ClassVar, Final

from device_app.english.table_units import unit_named
from device_app.everyday.rule import Item
from device_app.everyday.table_columns import unit_column
from device_app.everyday.table_reading import Reading
from shared.printable import counted
from storage.table_parts import DURATION, Condition, StoredRow, Table, Totals

MOST_SHOWN: Final = 10
"""The most rows or groups in a text; `--json` has up to 100."""


@dataclass(frozen=True, slots=True)
class RowItem(Item):
    """A row of a table: its file, the table's title, the row's number, and its filled cells by column."""

    TYPE: ClassVar[str] = "row"
    path: str
    table: str
    row: int
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class FigureItem(Item):
    """A figure over a column, as an entry of `ask --json`: its name, its value with a unit ("" for none), the number of
    rows, and the group.
    """

    TYPE: ClassVar[str] = "figure"
    path: str
    table: str
    figure: str
    column: str
    value: float
    unit: str
    rows: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a question about a table: its text, how the question was interpreted, its `--json` items and its
    rows.

    `fits` is whether any row meets the conditions.
    """

    text: str
    understood: str
    items: Sequence[Item] = ()
    rows: Sequence[StoredRow] = ()
    fits: bool = True


@dataclass(frozen=True, slots=True)
class Wording:
    """Puts the answer to a question into words, as `reading` interprets the question."""

    reading: Reading

    @property
    def file(self) -> str:
        """The table's name: the name of its file, and of its sheet if it has one."""
        table = self.reading.table
        file = Path(table.path)
        sheet = "" if table.title == file.stem else table.title.rpartition(", ")[2]
        return f"{file.name} ({sheet})" if sheet else file.name

    @property
    def where(self) -> str:
        """The conditions as a clause: ", where shop is City Tram"; "" if there are none."""
        conditions = [self._condition(condition, " is ") for condition in self.reading.conditions]
        return f", where {' and '.join(conditions)}" if conditions else ""

    def understood(self, *figure: str) -> str:
        """Return how the question was interpreted: the figure, the conditions, and the table or its rows."""
        first, *last = figure
        conditions = [self._condition(condition, " ") for condition in self.reading.conditions]
        return " · ".join(filter(None, [first, *conditions, *(last or [self.file])]))

    def name(self, place: int | None) -> str:
        """Return the name of a column."""
        return self.reading.table.columns[place or 0].name or f"column {(place or 0) + 1}"

    def counted(self, count: int) -> str:
        """Return a number of rows of the table: "3 rows of expenses.csv"."""
        return f"{counted(count, 'row')} of {self.file}"

    def nothing(self, understood: str, what: str) -> Result:
        """Return the answer that no row meeting the conditions has a value in the figure's column."""
        text = f"None: no row of {self.file} has a {what} in “{self.name(self.reading.column)}”{self.where}."
        return Result(text, understood, fits=False)

    def no_row(self, understood: str) -> Result:
        """Return the answer that no row meets the conditions."""
        return Result(f"None: no row of {self.file} fits{self.where}.", understood, fits=False)

    def cells(self, row: StoredRow, places: Iterable[int]) -> str:
        """Return some cells of a row, with the names of their columns and the units of numbers."""
        return "; ".join(f"{self.name(place)}: {self._cell(row, place) or 'empty'}" for place in places)

    def _cell(self, row: StoredRow, place: int) -> str:
        cell = row.cells[place] if place < len(row.cells) else ""
        beside = unit_column(self.reading.table, place) if f"n{place}" in row.values else None
        return f"{cell} {row.cells[beside]}".strip() if beside is not None else cell

    def row(self, row: StoredRow) -> str:
        """Return a row with its number and all its filled cells."""
        filled = "; ".join(f"{self.name(place)}: {cell}" for place, cell in enumerate(row.cells) if cell)
        return f"row {row.line}: {filled}"

    def listed(self, rows: Sequence[StoredRow]) -> str:
        """Return a list of the first rows."""
        return "\n".join(f"- {self.row(row)}" for row in rows[:MOST_SHOWN])

    def row_items(self, rows: Iterable[StoredRow]) -> list[Item]:
        """Return rows as entries of `items` of `ask --json`."""
        return [
            RowItem(
                self.reading.table.path,
                self.reading.table.title,
                row.line,
                {self.name(place): cell for place, cell in enumerate(row.cells) if cell},
            )
            for row in rows
        ]

    def figure_item(self, figure: str, column: str, value: float, unit: str, rows: int, group: str = "") -> FigureItem:
        """Return a figure as an entry of `items` of `ask --json`."""
        table: Table = self.reading.table
        return FigureItem(table.path, table.title, figure, column, value, unit, rows, group)

    def _condition(self, condition: Condition, verb: str) -> str:
        name = self.name(condition.place)
        if condition.kind == "text":
            sign = f"{verb.rstrip() or ' ='} "
            if condition.texts == ("",):
                return f"{name}{verb}empty"
            texts = condition.shown or " or ".join(text or "empty" for text in condition.texts[:MOST_SHOWN])
            return f"{name}{sign}not {texts}" if condition.is_excluded else f"{name}{sign}{texts}"
        if condition.spans == ((None, None),):
            return f"{name}{verb}filled"
        if condition.kind == "d":
            days = dict.fromkeys(_days(*span) for span in condition.spans[-2:])
            return f"{name}{verb}{' or '.join(days)}"
        is_duration = self.reading.table.columns[condition.place].units == (DURATION,)
        least, most = (_short(bound, is_duration=is_duration) for bound in condition.spans[0])
        if least and most:
            return f"{name}{verb}{most if least == most else f'{least} to {most}'}"
        return f"{name}{verb}{f'over {least}' if least else f'under {most}'}"


def amount(value: float, unit: str, decimals: int) -> str:
    """Return a number with its unit, written as the table writes numbers, so that both can be compared."""
    if unit == DURATION:
        seconds = round(value)
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    known = unit_named(unit)
    if value == round(value) and not known.is_money:
        decimals = 0
    elif abs(round(value, decimals) - value) > 1e-9 * max(1.0, abs(value)):
        decimals = max(decimals, 2)
    return f"{value:.{decimals}f} {known.sign if known.is_money else unit}".strip()


def kinds(totals: Iterable[Totals]) -> str:
    """Return the noun for the units of some figures: "currencies" or "units"."""
    return "currencies" if all(unit_named(total.unit).is_money for total in totals) else "units"


def _days(first: str | float | None, last: str | float | None) -> str:
    """Return a span of days in words: a day, a month, a year, or two days."""
    begin, end = date.fromisoformat(str(first)), date.fromisoformat(str(last))
    if begin == date.min:
        return f"until {end}"
    if end == date.max:
        return f"from {begin}"
    if begin == end:
        return f"on {begin}"
    if (begin.month, begin.day, end.month, end.day) == (1, 1, 12, 31) and begin.year == end.year:
        return f"in {begin.year}"
    whole = calendar.monthrange(begin.year, begin.month)[1]
    if (begin.year, begin.month, begin.day, whole) == (end.year, end.month, 1, end.day):
        return f"in {begin:%B %Y}"
    return f"from {begin} to {end}"


def _short(value: str | float | None, *, is_duration: bool) -> str:
    if value is None:
        return ""
    return amount(float(value), DURATION, 0) if is_duration else f"{float(value):.10g}"
