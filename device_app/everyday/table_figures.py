"""Computes figures over a column of a table with SQLite: sums, averages, extremes, and sums by group.

Numbers in units of one dimension are added and compared after conversion, and the text says so. Other units and
currencies are listed separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from device_app.english.cells import key
from device_app.english.table_senses import COST
from device_app.english.table_units import Unit, asked_unit, unit_named
from device_app.everyday.rule import Item
from device_app.everyday.table_columns import column_unit, unit_column
from device_app.everyday.table_reading import Reading
from device_app.everyday.table_wording import MOST_SHOWN, Result, Wording, amount, kinds
from shared.printable import counted
from storage.table_parts import Condition, Group, StoredRow, Totals
from storage.tables import TableStore

MOST_CITED: Final = 3
"""The most rows that are cited for a figure over many rows."""

_MOST_TIES: Final = 100
_SAMPLED: Final = 50
"""The number of rows from which the number of decimals in a column is determined."""

_MOST_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class Figures:
    """Computes the figures (sums, averages, extremes) that a question asks for, as `reading` interprets it."""

    store: TableStore
    reading: Reading
    words: Wording

    def computed(self, count: int) -> Result:
        """Return the sum or the average over the `count` rows that meet the conditions."""
        figure = "average" if self.reading.figure == "average" else "sum"
        name, beside = self.words.name(self.place), self.currencies()
        totals = self.totals(units_of=beside)
        understood = self.words.understood(f"{figure} of {name}", self.words.counted(count))
        if not totals:
            return self.words.nothing(understood, "number")
        items = [self.item(total, figure) for total in totals]
        summed = sum(total.count for total in totals)
        of = f"the {figure} of “{name}” in {self.words.counted(summed)}{self.words.where}"
        left = count - summed
        missing = f" {counted(left, 'row')} without a number {'is' if left == 1 else 'are'} left out." if left else ""
        parts = [f"{self.amount(total, figure)} in {counted(total.count, 'row')}" for total in totals]
        each = " and ".join(parts)
        if joined := together(totals, self.reading.unit):
            mixed = f"; the rows are written in mixed units: {each}" if len(totals) > 1 else ""
            text = f"{self.amount(joined, figure)}: {of}{mixed}.{missing}"
        elif asked := together([total for total in totals if is_in(total, self.reading.unit)], self.reading.unit):
            others = [part for part, total in zip(parts, totals, strict=True) if not is_in(total, self.reading.unit)]
            of = f"the {figure} of “{name}” in {self.words.counted(asked.count)}{self.words.where}"
            text = f"{self.amount(asked, figure)}: {of}; without {' and '.join(others)}.{missing}"
        else:
            text = f"{each}: {of}. They are in different {kinds(totals)}, so there is no single {figure}.{missing}"
            text += f" The currencies are those of “{self.words.name(beside)}”." if beside is not None else ""
        rows = self.store.rows(self.reading.table, self.reading.conditions, MOST_CITED)
        if count <= (MOST_SHOWN if self.reading.figure == "much" else MOST_CITED):
            rows = self.store.rows(self.reading.table, self.reading.conditions, MOST_SHOWN)
            text += f"\n\n{self.words.listed(rows)}"
        return Result(text, understood, items, rows[:MOST_CITED])

    def within(self, count: int) -> Result:
        """Return whether the sum or the average is within the bound in the question."""
        bound, computed = self.reading.bound, self.computed(count)
        unit = asked_unit(bound.unit, behind_number=True) if bound else None
        joined = together(self.totals(units_of=self.currencies()), unit)
        if bound is None or joined is None:
            return replace(computed, fits=False)
        factor = unit_named(joined.unit).factor
        if unit and joined.unit and unit.dimension != unit_named(joined.unit).dimension:
            return replace(computed, fits=False)
        value = _value(joined, str(self.reading.figure)) * spending_sign(self.reading, [joined])
        is_within = bound.holds(value, unit.factor / factor if unit and joined.unit else 1.0)
        return replace(computed, text=f"{'Yes' if is_within else 'No'}: {computed.text}")

    def extreme(self) -> Result:
        """Return the rows with the greatest or the least number, separately for each dimension."""
        is_most = self.reading.figure == "most"
        best: dict[str, Totals] = {}
        for total in self.compared():
            other = best.get(total_of := unit_named(total.unit).dimension)
            if other is None or _exceeds(total, other, is_most=is_most):
                best[total_of] = total
        word, name = "greatest" if is_most else "least", self.words.name(self.place)
        understood = self.words.understood(f"{word} {name}")
        if not best:
            return self.words.nothing(understood, "number")
        parts, rows = [], list[StoredRow]()
        for total in best.values():
            ties = self._with_value(total.most if is_most else total.least, total.unit)
            rows += ties
            shown = amount(total.most if is_most else total.least, total.unit, self.decimals())
            of = f"the {word} “{name}” in {self.words.file}{self.words.where}"
            named = self._named(ties)
            lead = f"{named}: {shown}, {of}" if named else f"{shown}: {of}"
            parts.append(f"{lead}.\n\n{self.words.listed(ties)}")
        note = f"In different {kinds(best.values())}, which are not compared:\n\n" if len(best) > 1 else ""
        return Result(note + "\n\n".join(parts), understood, self.words.row_items(rows), rows[:MOST_CITED])

    @property
    def place(self) -> int:
        """The index of the column over which the figure is computed."""
        return self.reading.column or 0

    def currencies(self) -> int | None:
        """Return the column that has the currencies of sums without a unit; None if there is only one currency."""
        table = self.reading.table
        is_money = bool(COST.named & set(key(self.words.name(self.place))))
        has_unit = table.columns[self.place].units or column_unit(table, self.place)
        if not is_money or has_unit or unit_column(table, self.place) is not None:
            return None
        for other, column in enumerate(table.columns):
            units = {unit_named(unit) for unit in column.units}
            if len(units) > 1 and all(unit.is_money for unit in units):
                named = {total.unit for total in self.totals(units_of=other)}
                return other if len(named - {""}) > 1 else None
        return None

    def totals(self, group: Group | None = None, units_of: int | None = None) -> list[Totals]:
        """Return the figures over the column; cells without a unit get the unit in the column's name."""
        table = self.reading.table
        beside, header = unit_column(table, self.place), column_unit(table, self.place)
        totals = self.store.totals(table, self.reading.conditions, self.place, beside, group, units_of)
        return _merged(replace(total, unit=total.unit or header) for total in totals)

    def compared(self, group: Group | None = None, units_of: int | None = None) -> list[Totals]:
        """Return the figures whose unit converts into the requested unit; if there are none, those in all units."""
        totals = self.totals(group, units_of)
        return [total for total in totals if is_in(total, self.reading.unit)] or totals

    def _with_value(self, value: float, unit: str) -> list[StoredRow]:
        """Return the rows with this number, in the given unit, in the figure's column."""
        table, tiny = self.reading.table, abs(value) * 1e-12
        conditions = [*self.reading.conditions, Condition(self.place, "n", (), ((value - tiny, value + tiny),))]
        beside, header = unit_column(table, self.place), column_unit(table, self.place)
        rows = self.store.rows(table, conditions, _MOST_TIES)
        if beside is not None:
            return [row for row in rows if unit_named(row.cells[beside]) == unit_named(unit)]
        written = f"u{self.place}"
        return [row for row in rows if unit_named(str(row.values.get(written, header))) == unit_named(unit)]

    def _named(self, rows: Sequence[StoredRow]) -> str:
        """Return the requested texts of a few rows, such as the boats for "Which boat is longest?"; "" for none."""
        columns = self.reading.table.columns
        asked = [place for place in self.reading.asked if not (columns[place].numbers or columns[place].days)]
        asked = [place for place in asked if place != unit_column(self.reading.table, self.place)]
        names = dict.fromkeys(" ".join(filter(None, (row.cells[place] for place in asked))) for row in rows)
        return " and ".join(filter(None, names)) if len(rows) <= MOST_CITED else ""

    def item(self, total: Totals, figure: str) -> Item:
        """Return a figure as an entry of `items` of `ask --json`."""
        name = "" if figure == "count" else self.words.name(self.place)
        return self.words.figure_item(figure, name, _value(total, figure), total.unit, total.count, total.group)

    def amount(self, total: Totals, figure: str) -> str:
        """Return the sum or the average in words, with its unit."""
        decimals = self.decimals()
        return amount(_value(total, figure), total.unit, max(decimals, 2) if figure == "average" else decimals)

    def decimals(self) -> int:
        """Return the number of decimals with which the first rows write the column's numbers."""
        rows = self.store.rows(self.reading.table, self.reading.conditions, _SAMPLED)
        written = [f"{row.values[value]:.10g}" for row in rows if (value := f"n{self.place}") in row.values]
        cells = [row.cells[self.place] for row in rows if f"n{self.place}" in row.values]
        as_money = any(cell.strip("€$£¥ ")[-3:-2] in (".", ",") for cell in cells)
        return min(max([len(text.partition(".")[2]) for text in written] + [2 * as_money]), _MOST_DECIMALS)


def _merged(totals: Iterable[Totals]) -> list[Totals]:
    """Return the figures with equal units merged, such as "€" and "EUR", for each group."""
    merged: dict[tuple[str, Unit], Totals] = {}
    for total in totals:
        of = (total.group, unit_named(total.unit))
        other = merged.get(of)
        merged[of] = total if other is None else _added(other, total)
    return sorted(merged.values(), key=lambda total: -total.count)


def _added(total: Totals, other: Totals) -> Totals:
    return replace(
        total,
        count=total.count + other.count,
        sum=total.sum + other.sum,
        least=min(total.least, other.least),
        most=max(total.most, other.most),
    )


def _value(total: Totals, figure: str) -> float:
    return total.sum / total.count if figure == "average" else total.sum


def is_in(total: Totals, unit: Unit | None) -> bool:
    """Return whether the figures are in a unit that converts into `unit`."""
    return unit is not None and unit_named(total.unit).dimension == unit.dimension


def _exceeds(total: Totals, other: Totals, *, is_most: bool) -> bool:
    mine, theirs = ((each.most if is_most else each.least) * unit_named(each.unit).factor for each in (total, other))
    return mine > theirs if is_most else mine < theirs


def spending_sign(reading: Reading, totals: Sequence[Totals]) -> int:
    """Return -1 if the totals are what was spent, written as numbers below zero, so that the least is the most spent;
    else 1.
    """
    return -1 if reading.is_spent and totals and all(total.sum < 0 for total in totals) else 1


def together(totals: Sequence[Totals], asked: Unit | None) -> Totals | None:
    """Return the sum of all figures, in the requested unit or the most frequent one; None if units do not convert."""
    units = [unit_named(total.unit) for total in totals]
    if len({unit.dimension for unit in units}) != 1:
        return None
    if len(totals) == 1 and (asked is None or asked.sign == units[0].sign):
        return totals[0]
    into = usual(totals)
    if asked and asked.dimension == into.dimension:
        into = asked
    value = sum(total.sum * unit.factor / into.factor for total, unit in zip(totals, units, strict=True))
    return Totals("", into.sign, sum(total.count for total in totals), round(value, 9), 0, 0)


def usual(totals: Sequence[Totals]) -> Unit:
    """Return the unit of most rows; of two equally frequent units, the larger one."""
    rows = Counter[Unit]()
    for total in totals:
        rows[unit_named(total.unit)] += total.count
    return max(rows, key=lambda unit: (rows[unit], unit.factor))
