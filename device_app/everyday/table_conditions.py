"""Reads the conditions on rows from a question about a table: cells, days, numbers, units, empty cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from math import prod
from typing import Final

from device_app.english.table_comparisons import Comparison
from device_app.english.table_senses import BOOLEANS, NO, YES
from device_app.english.table_units import Unit, asked_unit, names_of, unit_named
from device_app.english.table_words import Figure
from device_app.everyday.table_alignment import Alignment
from device_app.everyday.table_columns import column_unit
from device_app.everyday.table_values import Value
from storage.table_parts import DURATION, Condition

_YEAR = re.compile(r"\b(?:19|20)\d\d\b|\b(?:this|last|next) year\b")
_STILL = re.compile(r"\b(?:still|under|valid|active|covered|within|running)\b")
_OVER = re.compile(r"\b(?:expired|ended|run out|ran out|out of|no longer|lapsed|overdue|past)\b")
_WHEN = re.compile(r"\b(?:when|how long|until)\b")
_EARLIEST_YEAR: Final = 1900
_MOST_CHOICES: Final = 6


@dataclass(frozen=True, slots=True)
class RowConditions:
    """The conditions on rows that the words of a question name, after alignment with a table."""

    aligned: Alignment
    today: date

    def all(self, figure: Figure | None, *, with_comparisons: bool) -> list[list[Condition]]:
        """Return the possible lists of conditions: several if a word fits several columns, [] if a word fits none."""
        parts = [_of_value(value) for value in sorted(self.aligned.values, key=lambda value: min(value.texts))]
        parts += [self._days(figure), self._units(figure), self.missing() or [[]], self._valid(figure)]
        if with_comparisons:
            parts += [self.compared(comparison) for comparison in self.aligned.comparisons]
        if prod(map(len, parts)) > _MOST_CHOICES:
            return []
        return [_joined(choice) for choice in product(*parts)]

    def day_columns(self) -> list[int]:
        """Return the columns of days that the question may mean; columns of future days only if it names them."""
        columns = self.aligned.columns
        usual = columns.dated() - columns.later()
        return self.aligned.narrowed(usual | (columns.dated() & set(self.aligned.direct)) or columns.dated())

    def _days(self, figure: Figure | None) -> list[list[Condition]]:
        spans = self.aligned.words.spans
        if not spans:
            counted = self.aligned.columns.dated() & set(self.aligned.direct) - self.aligned.absent
            is_filled = figure == "count" and counted and not self.aligned.words.denied
            return [[Condition(column, "d", (), ((None, None),)) for column in sorted(counted)] if is_filled else []]
        columns = self.day_columns()
        if all(first > self.today for first, _ in spans):
            columns = [column for column in columns if column in self.aligned.columns.later()]
        return [[self._within(column)] for column in columns]

    def _within(self, column: int) -> Condition:
        """Return the condition on a day; for a birthday named without a year, the day in each year."""
        spans = self.aligned.words.spans or []
        if column in self.aligned.columns.birthdays() and not _YEAR.search(self.aligned.words.text):
            spans = [
                (first.replace(year=year), last.replace(year=year))
                for first, last in spans
                if (first.month, first.day) != (2, 29) and (last.month, last.day) != (2, 29)
                for year in range(_EARLIEST_YEAR, self.today.year + 1)
            ]
        return Condition(column, "d", (), tuple((first.isoformat(), last.isoformat()) for first, last in spans))

    def _units(self, figure: Figure | None) -> list[list[Condition]]:
        """Return the possible conditions for the unit that the question names.

        If another column holds the units, the rows must have that unit in it; otherwise there is no condition, as the
        figure is converted instead. Return [] if rows in a currency are to be counted, but no column has currencies.
        """
        unit = self.aligned.unit
        if unit is None or figure not in (None, "count", "latest", "earliest", "most", "least"):
            return [[]]
        columns = self.aligned.columns
        beside = {other for column in columns.in_unit(unit) if (other := columns.beside.get(column)) is not None}
        if len(beside) == 1 and (unit.is_money or figure not in ("most", "least")):
            return [[Condition(beside.pop(), "text", names_of(unit), (), unit.sign)]]
        return [[]] if figure != "count" or not unit.is_money else []

    def missing(self) -> list[list[Condition]]:
        """Return the conditions that cells are empty or say no, as in "without a phone", "unpaid", "not billed"."""
        aligned = self.aligned
        if answers := self._answers():
            return [answers]
        if aligned.absent:
            return [[Condition(column, "text", ("",)) for column in sorted(aligned.absent)]]
        if not aligned.words.denied or any(value.is_excluded for value in aligned.values):
            return []
        plain = {
            column for place, some in aligned.senses.items() for column in some if aligned.roles[place] == "column"
        }
        return [[Condition(column, "text", ("",))] for column in sorted(set(aligned.direct) or plain)]

    def _answers(self) -> list[Condition]:
        """Return the conditions on columns whose cells say yes or no, as in "which tasks are not billed?"."""
        named = {column for value in self.aligned.values for column in value.texts}
        denied = bool(self.aligned.words.denied)
        texts = {
            column: self.aligned.cells.says(column, NO if denied else YES) + (("",) if denied else ())
            for column in sorted(set(self.aligned.direct) - named)
            if self.aligned.cells.says(column, BOOLEANS)
        }
        return [Condition(column, "text", some or ("yes",)) for column, some in texts.items()]

    def is_valid_asked(self) -> bool:
        """Return whether the question asks what is still valid, or has expired."""
        words = self.aligned.words
        is_asked = bool(_STILL.search(words.text) or _OVER.search(words.text)) and not _WHEN.search(words.text)
        return is_asked and bool(self._ends()) and not (words.spans or words.denied)

    def _ends(self) -> set[int]:
        return self.aligned.columns.later() & {*self.aligned.direct, *set().union(*self.aligned.senses.values())}

    def _valid(self, figure: Figure | None) -> list[list[Condition]]:
        """Return the condition for what is still valid, or has expired, as in "what is under warranty?"."""
        words, columns = self.aligned.words, self._ends()
        if figure not in (None, "count", "sum", "much") or not self.is_valid_asked():
            return [[]]
        if _OVER.search(words.text):
            return [
                [Condition(column, "d", (), ((date.min.isoformat(), (self.today - timedelta(1)).isoformat()),))]
                for column in columns
            ]
        if _STILL.search(words.text):
            return [
                [Condition(column, "d", (), ((self.today.isoformat(), date.max.isoformat()),))] for column in columns
            ]
        return [[]]

    # Comparisons

    def compared(self, comparison: Comparison) -> list[list[Condition]]:
        """Return the conditions that a comparison ("over 50 euros") sets, one for each column that it may be about."""
        return [self.comparison(column, comparison) for column in self.compared_columns(comparison)]

    def compared_columns(self, comparison: Comparison) -> list[int]:
        """Return the columns that a comparison may be about."""
        columns, unit = self.aligned.columns, compared_unit(comparison)
        numeric = columns.numeric()
        if comparison.is_equal and not unit:  # "a rating of 5", but not "a total of 5"
            return sorted(numeric & set(self.aligned.direct))
        if unit:
            numeric &= columns.in_unit(unit)
            # Numbers in several units of one dimension are not compared with a bound in one of them.
            numeric = {column for column in numeric if len(self._factors(column)) < 2}
        if comparison.degree and comparison.degree.senses:
            numeric &= self.aligned.in_senses(comparison.degree.senses) or numeric
        behind = self.aligned.words.places(comparison.end, comparison.end + 24)
        is_said = bool(unit or comparison.degree or self.aligned.columns.quantities())
        near = {column for column, places in self.aligned.direct.items() if places & behind and column in numeric}
        meant = self.aligned.narrowed(near or numeric, unit)
        named = {*self.aligned.direct, *set().union(*self.aligned.senses.values())}
        return meant if near or is_said or len(meant) == 1 or set(meant) <= named else []

    def _factors(self, column: int) -> set[float]:
        units = self.aligned.columns.table.columns[column].units
        return {unit_named(name).factor for name in units if not unit_named(name).is_money}

    def comparison(self, column: int, comparison: Comparison) -> list[Condition]:
        """Return conditions that a column's numbers are within the bounds of a comparison, and in its unit."""
        table, unit = self.aligned.columns.table, compared_unit(comparison)
        least, most = comparison.least, comparison.most
        header, beside = column_unit(table, column), self.aligned.columns.beside.get(column)
        written = header or next(iter(table.columns[column].units), "")
        factor = unit_factor(written)
        if unit and factor and beside is None:
            least, most = (None if bound is None else bound * unit.factor / factor for bound in (least, most))
        tiny = max((abs(bound) * 1e-12 + 1e-12 for bound in (least, most) if bound is not None), default=0.0)
        if comparison.is_strict:
            least = None if least is None else least + tiny
            most = None if most is None else most - tiny
        conditions = [Condition(column, "n", (), ((least, most),))]
        if unit and beside is not None:
            conditions.append(Condition(beside, "text", names_of(unit), (), unit.sign))
        return conditions


def compared_unit(comparison: Comparison) -> Unit | None:
    """Return the unit of a comparison; None if it has no known unit."""
    return asked_unit(comparison.unit, behind_number=True)


def unit_factor(name: str) -> float:
    """Return the factor that converts a unit into the basic unit of its dimension; 1 for durations, stored in seconds;
    0 for no unit.
    """
    return (1.0 if name == DURATION else unit_named(name).factor) if name else 0.0


def _of_value(value: Value) -> list[list[Condition]]:
    return [
        [Condition(place, "text", tuple(sorted(texts)), is_excluded=value.is_excluded)]
        for place, texts in sorted(value.texts.items())
    ]


def _joined(choice: Sequence[Sequence[Condition]]) -> list[Condition]:
    """Return the conditions of all parts in one list, with the conditions on texts of the same column merged."""
    joined: list[Condition] = []
    texts: dict[tuple[int, bool], Condition] = {}
    for condition in (condition for conditions in choice for condition in conditions):
        at = (condition.place, condition.is_excluded)
        if condition.kind != "text" or condition.texts == ("",):
            joined.append(condition)
        elif at in texts:
            both = tuple(sorted({*texts[at].texts, *condition.texts}))
            texts[at] = Condition(condition.place, "text", both, is_excluded=condition.is_excluded)
        else:
            texts[at] = condition
    return [*texts.values(), *joined]
