"""Answers a question about a table from its reading: by rows, counts of rows, or figures over a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from device_app.everyday.table_figures import MOST_CITED, Figures
from device_app.everyday.table_reading import Reading
from device_app.everyday.table_wording import MOST_SHOWN, Result, Wording
from storage.tables import Condition, TableStore

_MOST_ITEMS: Final = 100


def result(store: TableStore, reading: Reading) -> Result:
    """Return the result of one reading of a question. Raises StoreError."""
    words = Wording(reading)
    rows, figures = _Rows(store, reading, words), Figures(store, reading, words)
    match reading.figure:
        case "distinct":
            return rows.distinct()
        case "latest" | "earliest":
            return rows.at_end()
        case "most" | "least":
            return figures.extreme() if reading.group is None else figures.grouped()
    count = store.count(reading.table, reading.conditions)
    if reading.figure == "count":
        return rows.counted(count)
    if reading.figure is None or (reading.figure == "much" and count == 1):
        return rows.listed(count)
    return figures.computed(count)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Answers a reading by rows of the table."""

    store: TableStore
    reading: Reading
    words: Wording

    def listed(self, count: int) -> Result:
        """Return the `count` rows that meet the conditions, with the requested columns first."""
        reading = self.reading
        rows = self.store.rows(reading.table, reading.conditions, _MOST_ITEMS)
        asked = reading.asked or tuple(place for place in [reading.column] if place is not None)
        what = ", ".join(map(self.words.name, asked)) or "rows"
        understood, items = self.words.understood(what, self.words.counted(count)), self.words.row_items(rows)
        asked_cells = [self.words.cells(row, asked) for row in rows]
        if count == 1:
            lead = f"{asked_cells[0]}.\n\n" if asked_cells[0] else ""
            line = self.words.row(rows[0]).replace("row", "Row", 1).replace(":", f" of {self.words.file}:", 1)
            return Result(f"{lead}{line} [1]", understood, items, rows)
        # Where all rows say the same, it is said once.
        is_same = len(set(asked_cells)) == 1 and bool(asked_cells[0]) and count == len(rows)
        lead = (
            f"{asked_cells[0]}, in each of {self.words.counted(count)}"
            if is_same
            else f"{self.words.counted(count)} fit"
        )
        shown = map(self.words.row, rows)
        lines = [f"- {line} ({row})" if line else f"- {row}" for line, row in zip(asked_cells, shown, strict=True)]
        more = [f"- … and {count - MOST_SHOWN:,} more"] if count > MOST_SHOWN else []
        text = "\n".join([f"{lead}{self.words.where}:", "", *lines[:MOST_SHOWN], *more])
        return Result(text, understood, items, rows[:MOST_CITED], bool(count))

    def counted(self, count: int) -> Result:
        """Return the number of rows that meet the conditions."""
        item = self.words.figure_item("count", "", count, "", count)
        rows = self.store.rows(self.reading.table, self.reading.conditions, MOST_CITED)
        text = f"{self.words.counted(count)}{self.words.where}."
        return Result(text, self.words.understood("number of rows"), [item], rows, bool(count))

    def distinct(self) -> Result:
        """Return the different texts of a column, with the number of rows that have each text."""
        reading, name = self.reading, self.words.name(self.reading.column)
        counts = self.store.counts(reading.table, reading.conditions, reading.column or 0)
        shown = [f"{text} ({count:,})" for text, count in counts[:MOST_SHOWN]]
        more = [f"{len(counts) - MOST_SHOWN:,} more"] if len(counts) > MOST_SHOWN else []
        text = f"{len(counts):,} different values of “{name}” in {self.words.file}{self.words.where}"
        item = self.words.figure_item("distinct", name, len(counts), "", sum(count for _, count in counts))
        rows = self.store.rows(reading.table, reading.conditions, MOST_CITED)
        understood = self.words.understood(f"different values of {name}")
        return Result(f"{text}: {', '.join(shown + more)}.", understood, [item], rows, bool(counts))

    def at_end(self) -> Result:
        """Return the rows with the latest or the earliest day."""
        reading, name, place = self.reading, self.words.name(self.reading.column), self.reading.column or 0
        word, is_latest = str(reading.figure), reading.figure == "latest"
        understood = self.words.understood(f"{word} {name}")
        first = self.store.rows(reading.table, reading.conditions, 1, (f"d{place}", is_latest))
        if not first:
            return self.words.nothing(understood, "day")
        day = str(first[0].values[f"d{place}"])
        same = [*reading.conditions, Condition(place, "d", (), ((day, day),))]
        rows = self.store.rows(reading.table, same, _MOST_ITEMS)
        asked = [other for other in reading.asked if other != place]
        lead = f"{self.words.cells(rows[0], asked)}; " if asked and len(rows) == 1 else ""
        text = f"{lead}{day}: the {word} “{name}” in {self.words.file}{self.words.where}.\n\n{self.words.listed(rows)}"
        return Result(text, understood, self.words.row_items(rows), rows[:MOST_CITED])
