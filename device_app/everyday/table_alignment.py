"""Aligns a question's words with a table: each word with a cell, a column, a unit or a sense that explains it.

Pure: the caller passes the tables and cells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from device_app.english.cells import key, word_key
from device_app.english.lexicon import NUMBERS
from device_app.english.stop_words import STOP_WORDS
from device_app.english.table_units import Unit, asked_unit, unit_named
from device_app.english.table_words import (
    CONTAINERS,
    CURRENCY_COLUMNS,
    HOW_LONG,
    PAYEE,
    PEOPLE,
    QUANTITY,
    SAYS_NOTHING,
    SENSES,
    SPENDING,
    SPENT,
    UNIT_COLUMNS,
    Sense,
)
from device_app.english.terms import plain
from device_app.everyday.table_question import Words
from storage.tables import DURATION, Cell, Table

_HEADER_UNIT = re.compile(r"[(\[](?P<unit>[^()\[\]]{1,12})[)\]]\s*$|\bin (?P<in>[^\W\d_]{1,12})$")
_LEAST_PART: Final = 3
"""The fewest letters of a word that may stand for a cell of which it is only a part."""


def column_unit(table: Table, place: int) -> str:
    """Return the unit that a column's name states for its numbers, as in "climb (m)" or "euros"; "" for none."""
    name = table.columns[place].name
    if match := _HEADER_UNIT.search(name):
        return match["unit"] or match["in"]
    return name if asked_unit(plain(name)) else ""


def unit_column(table: Table, place: int) -> int | None:
    """Return the index of the column with the units of another column's numbers; None if there is none."""
    if column_unit(table, place) or table.columns[place].units:
        return None
    behind = (other for other in range(place + 1, len(table.columns)))
    for other in behind:
        if table.columns[other].numbers:
            return None
        if UNIT_COLUMNS & set(key(table.columns[other].name)):
            return other
    return None


def _words(name: str) -> frozenset[str]:
    if PAYEE.search(plain(name)):
        return frozenset([word_key("payee")])
    return frozenset(key(_HEADER_UNIT.sub("", name))) - STOP_WORDS


@dataclass(slots=True)
class Alignment:
    """A question's words, aligned with a table.

    `roles` gives, by the index of each explained word, what explains it: cell, part (of a cell), column, title, unit or
    sense. `values` are the cells that the question names: texts by column, with several columns if it is open which one
    is meant. `direct` are the columns that it names, with the words; `senses` the columns that fit a word such as
    "cost"; `unit` is the unit that it names.
    """

    words: Words
    table: Table
    cells: Mapping[str, Sequence[Cell]]
    roles: dict[int, str] = field(default_factory=dict)
    values: list[dict[int, set[str]]] = field(default_factory=list)
    direct: dict[int, set[str]] = field(default_factory=dict)
    senses: list[set[int]] = field(default_factory=list)
    unit: Unit | None = None
    _names: Sequence[frozenset[str]] = ()

    def __post_init__(self) -> None:
        self._names = [_words(column.name) for column in self.table.columns]
        self._find_whole_cells()
        self._find_columns()
        self._find_senses()
        self._find_parts_of_cells()

    def _find_whole_cells(self) -> None:
        keys = self.words.keys
        units = {place for place in range(len(self.table.columns)) if self.names(place) & UNIT_COLUMNS}
        own: dict[tuple[str, ...], dict[int, set[str]]] = {}
        for word in dict.fromkeys(keys):
            for cell in self.cells.get(word, ()):
                if cell.document in self.table.documents and cell.place not in units:
                    own.setdefault(tuple(key(cell.text)), {}).setdefault(cell.place, set()).add(cell.text)
        for sought in sorted(own, key=len, reverse=True):
            for start in range(len(keys) - len(sought) + 1):
                places = range(start, start + len(sought))
                if keys[start : start + len(sought)] != sought or any(place in self.roles for place in places):
                    continue
                if len(sought) == 1 and not self._may_be_value(start):
                    continue
                self.roles |= dict.fromkeys(places, "cell")
                self.values.append(own[sought])

    def _may_be_value(self, place: int) -> bool:
        used = self.words.dated | self.words.compared | frozenset().union(*self.words.figures.values())
        return self.words.forms[place] not in STOP_WORDS and place not in used | self.words.verbs

    def _find_columns(self) -> None:
        title = set(key(re.sub(r"[\W_]+", " ", self.table.title))) - STOP_WORDS
        for place, word in enumerate(self.words.keys):
            if place in self.roles or place in self.words.costs or self.words.forms[place] in STOP_WORDS:
                continue
            for column in range(len(self.table.columns)):
                if word in self.names(column):
                    self.direct.setdefault(column, set()).add(word)
                    self.roles[place] = "column"
            is_named = word in title and not word[0].isdigit() and self.words.forms[place] not in CONTAINERS
            if place not in self.roles and (is_named or (word in SPENT and title & SPENDING)):
                self.roles[place] = "title"
        self._leave_figures()
        best = list(self.direct.values())
        self.direct = {column: said for column, said in self.direct.items() if not any(said < other for other in best)}

    def _leave_figures(self) -> None:
        """Treat the word of a figure as no column's name if another column fits: "total" in "the total of the fees"."""
        figures = {place: self.words.keys[place] for place in frozenset().union(*self.words.figures.values())}
        only_figures = {
            column
            for column, said in self.direct.items()
            if said <= set(figures.values()) and said < self.names(column)
        }
        if set(self.direct) - only_figures:
            self.direct = {column: said for column, said in self.direct.items() if column not in only_figures}
        for place in figures:
            if self.roles.get(place) == "column" and not any(
                self.words.keys[place] in self.direct[column] for column in set(self.direct) - only_figures
            ):
                self.roles.pop(place, None)

    def names(self, column: int) -> frozenset[str]:
        """Return the comparable words of a column's name, without its unit."""
        return self._names[column]

    def _find_senses(self) -> None:
        for place, (form, word) in enumerate(zip(self.words.forms, self.words.keys, strict=True)):
            if self.roles.get(place) == "cell" or place in self.words.dated | self.words.compared:
                continue
            if form == "time" and place in self.words.figures.get("latest", ()):
                continue
            if (unit := asked_unit(form)) and self._has_unit(unit):
                self.unit, self.roles[place] = unit, "unit"
                continue
            is_duration = form == "long" and HOW_LONG.search(self.words.text)
            meant = word_key("duration") if is_duration else word
            fitting = {column for sense in SENSES if meant in sense.asked for column in self._in_sense(sense)}
            if place in self.words.payers:
                fitting = {column for column in fitting if word_key("payee") not in self.names(column)}
            if fitting:
                self.senses.append(fitting)
                self.roles.setdefault(place, "sense")

    def _in_sense(self, sense: Sense) -> set[int]:
        """Return the columns that fit a sense, by their names or else by their units, or because they hold days."""
        columns = range(len(self.table.columns))
        if sense.days:
            return {column for column in columns if self.table.columns[column].days}
        named = {column for column in columns if sense.named & self.names(column) and self._may_measure(column, sense)}
        return named or {column for column in columns if self._measures(column, sense)}

    def _measures(self, column: int, sense: Sense) -> bool:
        """Return whether the unit of a column's numbers is, or may be, one that measures the sense."""
        beside = unit_column(self.table, column) if self.table.columns[column].numbers else None
        has_units = beside is not None and not self.names(beside) & CURRENCY_COLUMNS and "mass" in sense.dimensions
        return has_units or bool(self._dimensions(column) & set(sense.dimensions))

    def _may_measure(self, column: int, sense: Sense) -> bool:
        """Return whether a column has no units, or units that measure the sense."""
        beside, dimensions = unit_column(self.table, column), self._dimensions(column)
        is_currency = beside is None or bool(self.names(beside) & CURRENCY_COLUMNS)
        fits = not dimensions or bool(dimensions & set(sense.dimensions))
        return not sense.dimensions or (fits and ("money" not in sense.dimensions or is_currency))

    def _dimensions(self, column: int) -> set[str]:
        names = [*self.table.columns[column].units, *filter(None, [column_unit(self.table, column)])]
        return {"time" if name == DURATION else unit_named(name).quantity for name in names}

    def _has_unit(self, unit: Unit) -> bool:
        return any(self.is_in(column, unit) for column in range(len(self.table.columns)))

    def is_in(self, column: int, unit: Unit) -> bool:
        """Return whether the numbers of a column are, or may be, in a unit of the same dimension as this unit."""
        return unit.quantity in self._dimensions(column) or (
            self.table.columns[column].numbers > 0 and unit_column(self.table, column) is not None
        )

    def _find_parts_of_cells(self) -> None:
        parts: dict[int, set[str]] | None = None
        for place in self.unexplained():
            form = self.words.forms[place]
            if len(form) < _LEAST_PART or form in NUMBERS or place in self.words.verbs | self.words.amount:
                continue
            matching: dict[int, set[str]] = {}
            for cell in self.cells.get(self.words.keys[place], ()):
                if cell.document in self.table.documents:
                    matching.setdefault(cell.place, set()).add(cell.text)
            if parts is not None:
                both = {column: texts & parts.get(column, set()) for column, texts in matching.items()}
                matching = {column: texts for column, texts in both.items() if texts}
            if matching:
                self.roles[place] = "part"
                parts = matching
        if parts:
            self.values.append(parts)

    def unexplained(self) -> list[int]:
        """Return the indexes of the words that nothing explains."""
        ends = frozenset().union(*(self.words.figures.get(figure, ()) for figure in ("most", "least")))
        # "heaviest" needs a column of weights, "highest" any.
        sensible = {place for place in ends if any(self.words.keys[place] in sense.asked for sense in SENSES)}
        used = self.words.dated | self.words.compared | frozenset().union(*self.words.figures.values()) - sensible
        return [
            place
            for place, form in enumerate(self.words.forms)
            if not (place in self.roles or place in used or form in STOP_WORDS or form in SAYS_NOTHING)
            or (place in self.words.counted and not self._counts(form))
            or (place in self.words.payers and place not in self.roles)
        ]

    def _counts(self, form: str) -> bool:
        """Return whether the table has rows or numbers that "how many people" or "how many times" may count."""
        if form == "times":
            return bool(self.dated())
        return bool(self.vocabulary() & PEOPLE or self.quantities())

    def numeric(self) -> set[int]:
        """Return the indexes of the columns of numbers."""
        return {place for place, column in enumerate(self.table.columns) if column.numbers}

    def dated(self) -> set[int]:
        """Return the indexes of the columns of days."""
        return {place for place, column in enumerate(self.table.columns) if column.days}

    def is_categorical(self, place: int) -> bool:
        """Return whether a column's texts are categories: each occurs in two or more rows on average."""
        column = self.table.columns[place]
        return not (column.numbers or column.days) and column.distinct * 2 <= column.filled

    def vocabulary(self) -> set[str]:
        """Return the comparable words of the names of the table and its columns."""
        named = {word for column in range(len(self.table.columns)) for word in self.names(column)}
        return named | set(key(re.sub(r"[\W_]+", " ", self.table.title)))

    def quantities(self) -> set[int]:
        """Return the columns of quantities of the things that rows are about; amounts of money are none."""
        table = self.table
        named = {column for column in self.numeric() if self.names(column) & QUANTITY}
        beside = {column: unit_column(table, column) for column in named}
        return {
            column
            for column, other in beside.items()
            if not any(unit_named(name).is_money for name in table.columns[column].units)
            and not (other is not None and self.names(other) & CURRENCY_COLUMNS)
        }

    def measured_in(self, unit: Unit) -> set[int]:
        """Return the columns of numbers in this unit; if there are none, those in another unit of its dimension."""
        fitting = {column for column in self.numeric() if self.is_in(column, unit)}
        same = {column for column in fitting if unit_named(column_unit(self.table, column)) == unit}
        return same or fitting

    def narrowed(self, columns: set[int]) -> list[int]:
        """Return the columns that the question means, by their names, unit and senses; all if none of these decides."""
        left = columns
        for named in (set(self.direct), self.measured_in(self.unit) if self.unit else set(), *self.senses):
            left = (left & named) or left
        if left == columns and len(left) > 1:
            dated = {column for column in left if self.names(column) == {"date"}}
            left = dated or (left & self.quantities()) or left
        return sorted(left)
