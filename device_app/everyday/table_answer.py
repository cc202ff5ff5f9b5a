"""Answers a question about a table, once it has been interpreted: by rows, counts of rows, or figures over a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from device_app.everyday.table_columns import unit_column
from device_app.everyday.table_figures import MOST_CITED, Figures
from device_app.everyday.table_groups import Groups
from device_app.everyday.table_reading import Reading
from device_app.everyday.table_returns import Returns, with_returns, without_returns
from device_app.everyday.table_wording import MOST_SHOWN, Result, Wording
from storage.table_parts import Condition, Group, StoredRow
from storage.tables import TableStore

_MOST_ITEMS: Final = 100


def result(store: TableStore, reading: Reading) -> Result:
    """Return the answer to a question as `reading` interprets it. Raises StoreError."""
    is_extreme = reading.figure in ("most", "least") and reading.group is None
    returns = without_returns(store, reading) if is_extreme else with_returns(store, reading)
    reading, note, words = returns.reading, returns.note, Wording(returns.reading)
    rows, figures = _Rows(store, reading, words), Figures(store, reading, words)
    if reading.group is not None:
        return _noted(Groups(store, reading, words, reading.group, returns.owners).result(), note)
    end = {
        "distinct": rows.distinct,
        "latest": rows.at_end,
        "earliest": rows.at_end,
        "most": figures.extreme if reading.limit == 1 else rows.ranked,
        "least": figures.extreme if reading.limit == 1 else rows.ranked,
    }.get(reading.figure or "")
    if end:
        return _noted(end(), note)
    answer = _noted(_counted(rows, figures, store.count(reading.table, reading.conditions)), note)
    return _with_each(store, returns, words, answer) if reading.alternatives and answer.fits else answer


def _noted(answer: Result, note: str) -> Result:
    return replace(answer, text=f"{answer.text}\n\n{note}") if note and answer.text else answer


def _with_each(store: TableStore, returns: Returns, words: Wording, answer: Result) -> Result:
    """Return the answer, with the figure for each of two texts of a column: "how much for paint and screws?"."""
    reading, owners = returns.reading, returns.owners
    sought = set(reading.alternatives)
    column = next((each.place for each in reading.conditions if sought == {*each.texts} - owners.keys()), None)
    if column is None:
        return answer
    each = Groups(store, reading, words, Group(column), owners).all().text.partition("\n\n")[2]
    return replace(answer, text=f"{answer.text}\n\n{each}")


def _counted(rows: _Rows, figures: Figures, count: int) -> Result:
    """Return the answer by rows, by their number or by a figure, as the question asks; `count` rows meet the
    conditions.
    """
    reading = rows.reading
    if reading.is_check:
        if reading.figure == "count":
            return rows.within(count)
        return figures.within(count) if reading.bound else rows.checked(count)
    if reading.figure == "count":
        return rows.counted(count)
    if reading.figure is None or (reading.figure == "much" and count == 1):
        return rows.listed(count)
    return figures.computed(count)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Answers a question, as `reading` interprets it, with rows of the table or with their number."""

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
        if not count:
            return self.words.no_row(understood)
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
        counts = self.store.counts(reading.table, reading.conditions, Group(reading.column or 0))
        shown = [f"{text} ({count:,})" for text, count in counts[:MOST_SHOWN]]
        more = [f"{len(counts) - MOST_SHOWN:,} more"] if len(counts) > MOST_SHOWN else []
        text = f"{len(counts):,} different values of “{name}” in {self.words.file}{self.words.where}"
        item = self.words.figure_item("distinct", name, len(counts), "", sum(count for _, count in counts))
        rows = self.store.rows(reading.table, reading.conditions, MOST_CITED)
        understood = self.words.understood(f"different values of {name}")
        return Result(f"{text}: {', '.join(shown + more)}.", understood, [item], rows, bool(counts))

    def within(self, count: int) -> Result:
        """Return whether the number of rows is within the bound in the question."""
        bound = self.reading.bound
        is_within = bound is not None and bound.holds(count)
        counted = self.counted(count)
        return replace(counted, text=f"{'Yes' if is_within else 'No'}: {counted.text}", fits=True)

    def checked(self, count: int) -> Result:
        """Return whether any row meets the conditions; if none does, show the rows that meet the first condition."""
        if count:
            listed = self.listed(count)
            if without := self._without_day(listed.rows):
                text = (
                    f"No: “{self.words.name(without)}” is empty{self.words.where}.\n\n{self.words.listed(listed.rows)}"
                )
                return replace(listed, text=text)
            return replace(
                listed, text=f"Yes: {listed.text[:1].lower() if count > 1 else listed.text[:1]}{listed.text[1:]}"
            )
        reading, first = self.reading, self.reading.conditions[:1]
        rows = self.store.rows(reading.table, first, MOST_CITED)
        near = (
            f"\n\nRows{Wording(replace(reading, conditions=first)).where}:\n\n{self.words.listed(rows)}" if rows else ""
        )
        text = f"No: no row of {self.words.file} fits{self.words.where}.{near}"
        return Result(text, self.words.understood("any row"), self.words.row_items(rows), rows, fits=False)

    def _without_day(self, rows: Sequence[StoredRow]) -> int | None:
        """Return the requested column of days that is empty in all rows, as for "Has the client paid?"."""
        reading = self.reading
        limited = {condition.place for condition in reading.conditions}
        for place in reading.asked:
            if reading.table.columns[place].days and place not in limited and not any(row.cells[place] for row in rows):
                return place
        return None

    def ranked(self) -> Result:
        """Return the requested number of rows with the greatest or the least numbers, in order."""
        reading, place = self.reading, self.reading.column or 0
        name, word = self.words.name(place), "greatest" if reading.figure == "most" else "least"
        rows = self.store.rows(
            reading.table, reading.conditions, reading.limit, (f"n{place}", reading.figure == "most")
        )
        return self._in_order(rows, f"{word} “{name}”", f"{word} {name}")

    def _in_order(self, rows: Sequence[StoredRow], which: str, understood: str) -> Result:
        place = self.reading.column or 0
        shown = [
            f"{number}. {self.words.cells(row, [place])} ({self.words.row(row)})" for number, row in enumerate(rows, 1)
        ]
        text = "\n".join([f"The {len(rows)} rows with the {which} of {self.words.file}{self.words.where}:", "", *shown])
        # Numbers in different units stand in no order.
        units = {str(row.values.get(f"u{place}", "")) for row in rows} | {""}
        beside = unit_column(self.reading.table, place)
        units |= {row.cells[beside] for row in rows} if beside is not None else set()
        fits = bool(rows) and len(units) <= 2
        return Result(text, self.words.understood(understood), self.words.row_items(rows), rows[:MOST_CITED], fits)

    def at_end(self) -> Result:
        """Return the rows with the latest or the earliest day."""
        reading, name, place = self.reading, self.words.name(self.reading.column), self.reading.column or 0
        word, is_latest = str(reading.figure), reading.figure == "latest"
        understood = self.words.understood(f"{word} {name}")
        first = self.store.rows(reading.table, reading.conditions, 1, (f"d{place}", is_latest))
        if not first:
            return self.words.nothing(understood, "day")
        if reading.limit > 1:
            rows = self.store.rows(reading.table, reading.conditions, reading.limit, (f"d{place}", is_latest))
            return self._in_order(rows, f"{word} “{name}”", f"{word} {name}")
        day = str(first[0].values[f"d{place}"])
        same = [*reading.conditions, Condition(place, "d", (), ((day, day),))]
        rows = self.store.rows(reading.table, same, _MOST_ITEMS)
        asked = [other for other in reading.asked if other != place]
        lead = f"{self.words.cells(rows[0], asked)}; " if asked and len(rows) == 1 else ""
        text = f"{lead}{day}: the {word} “{name}” in {self.words.file}{self.words.where}.\n\n{self.words.listed(rows)}"
        return Result(text, understood, self.words.row_items(rows), rows[:MOST_CITED])
