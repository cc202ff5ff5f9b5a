"""Describes the columns of a table for questions: their names, units, kinds and senses. Pure.

A sense is a general meaning, such as "cost", that columns with different names share. Names are compared by their
comparable words: lower case, without accents and endings (`english.cells.key`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from device_app.english.cells import WORD, key, word_key
from device_app.english.stop_words import STOP_WORDS
from device_app.english.table_senses import (
    BIRTHDAYS,
    CURRENCY_COLUMNS,
    FIELDS,
    LATER,
    QUANTITY,
    SENSES,
    UNIT_COLUMNS,
    Sense,
    SenseName,
)
from device_app.english.table_units import Unit, asked_unit, is_unit, unit_named
from device_app.english.terms import plain
from storage.table_parts import DURATION, Table

_BRACKETED = re.compile(r"\s*[(\[](?P<unit>[^()\[\]]{1,12})[)\]]\s*$")
_LAST_WORD = re.compile(r"[\s_]+(?:in[ _])?(?P<unit>[^\W\d_]{1,12}|[€$£%])$")
_PAYEE = re.compile(r"\bpa(?:id|y|yment|yments) to\b|\b(?:payee|recipient|paid_to)\b")
_PAYER = re.compile(r"\b(?:paid|bought) by\b|\b(?:payer|buyer|who|paid_by)\b")
_PAYEE_KEY = word_key("payee")
_UNADDED: Final[tuple[SenseName, ...]] = ("height", "warmth", "age", "interval")
"""Meanings of columns, such as "height", whose numbers are not added up when several rows fit."""

_NO_SUFFIXES: Final = frozenset("cfkdst")
"""Letters that rather name a variant than a unit behind an underscore, as in "vitamin_c"."""

_RATES = re.compile(r"\b(?:per|each|unit|avg|average|mean|rate|ratio|balance)\b|/|%", re.IGNORECASE)
_NUMBERED = re.compile(r"\b(?:id|no|nr|number|#|year|zip|postcode)\b\.?$", re.IGNORECASE)


def column_unit(table: Table, place: int) -> str:
    """Return the unit that a column's name states for its numbers, as in "climb (m)" or "weight kg"; "" for none."""
    name = table.columns[place].name
    if match := _BRACKETED.search(name):
        return match["unit"]
    if (
        (match := _LAST_WORD.search(name))
        and not _RATES.search(name.replace("_", " "))
        and (name[match.start()] != "_" or plain(match["unit"]) not in _NO_SUFFIXES)
        and asked_unit(plain(match["unit"]), behind_number=True)
    ):
        return match["unit"]
    return name if asked_unit(plain(name)) else ""


def unit_column(table: Table, place: int) -> int | None:
    """Return the index of the column that holds the units of the numbers in column `place`; None if there is none."""
    if column_unit(table, place) or table.columns[place].units:
        return None
    behind = (other for other in range(place + 1, len(table.columns)))
    for other in behind:
        if table.columns[other].numbers:
            return None
        if UNIT_COLUMNS & set(key(table.columns[other].name)):
            return other
    return None


def name_key(table: Table, place: int) -> tuple[str, ...]:
    """Return the comparable words of a column's name, without its unit."""
    name = _BRACKETED.sub("", table.columns[place].name)
    if column_unit(table, place) not in ("", name):
        name = _LAST_WORD.sub("", name) if name == table.columns[place].name else name
    return tuple(key(re.sub(r"[\W_]+", " ", name)))


@dataclass(frozen=True)
class Columns:
    """The columns of a table, by index: what they hold, and the words and senses (such as "cost") of their names."""

    table: Table

    @cached_property
    def whole(self) -> Sequence[tuple[str, ...]]:
        """The comparable words of each column's name, in order."""
        return [name_key(self.table, place) for place in self.all()]

    @cached_property
    def names(self) -> Sequence[frozenset[str]]:
        """The comparable words of each column's name, without stop words."""
        return [
            frozenset([_PAYEE_KEY])
            if _PAYEE.search(plain(self.table.columns[place].name))
            else frozenset(self.whole[place]) - STOP_WORDS or frozenset(self.whole[place])
            for place in self.all()
        ]

    @cached_property
    def by_word(self) -> Mapping[str, Sequence[int]]:
        """The columns by each word of their names, and by the noun of their numbers: "tablets" for "54 tablets"."""
        columns: dict[str, list[int]] = {}
        for place in self.all():
            nouns = {word_key(unit) for unit in self.table.columns[place].units if not is_unit(unit)}
            for word in self.names[place] | nouns:
                columns.setdefault(word, []).append(place)
        return columns

    @cached_property
    def title(self) -> frozenset[str]:
        """The comparable words of the table's name."""
        return frozenset(key(re.sub(r"[\W_]+", " ", self.table.title))) - STOP_WORDS

    @cached_property
    def beside(self) -> Mapping[int, int | None]:
        """For each column of numbers, the index of the column that holds their units, or None."""
        return {place: unit_column(self.table, place) for place in self.all() if self.table.columns[place].numbers}

    @cached_property
    def _numeric(self) -> frozenset[int]:
        return frozenset(place for place, column in enumerate(self.table.columns) if column.numbers)

    @cached_property
    def _fields(self) -> frozenset[str]:
        known = self.title.union(*(self.names[place] for place in self.all() if place not in self._numeric))
        return frozenset().union(*(fields for fields in FIELDS if fields & known))

    def all(self) -> range:
        """Return the indexes of all columns."""
        return range(len(self.table.columns))

    def numeric(self) -> set[int]:
        """Return the indexes of the columns of numbers."""
        return {*self._numeric}

    def dated(self) -> set[int]:
        """Return the indexes of the columns of days."""
        return {place for place, column in enumerate(self.table.columns) if column.days}

    def additive(self) -> set[int]:
        """Return the columns whose numbers may be added up; rates, unit prices and identifiers are left out."""
        return {
            place
            for place in self.numeric()
            if not _RATES.search(self.table.columns[place].name)
            and not _NUMBERED.search(self.table.columns[place].name)
        }

    def summed(self) -> set[int]:
        """Return the columns whose numbers are added up when several rows fit; heights and ages are left out."""
        return self.additive().difference(*map(self.in_sense, _UNADDED))

    def is_categorical(self, place: int) -> bool:
        """Return whether a column's texts are categories: each occurs in two or more rows on average."""
        column = self.table.columns[place]
        return not (column.numbers or column.days) and 0 < column.distinct * 2 <= column.filled

    def is_text(self, place: int) -> bool:
        """Return whether a column holds texts."""
        return not (self.table.columns[place].numbers or self.table.columns[place].days)

    def in_sense(self, name: SenseName) -> set[int]:
        """Return the columns with a sense (a general meaning such as "cost"): by their names or else their units, or
        because they hold days.
        """
        sense = SENSES[name]
        if sense.days:
            return self.dated()
        if name == "quantity":
            return self.quantities()
        payers = self.payers() if name == "person" else set()
        named = {column for column in self.all() if self._is_named(column, sense) and self._may_measure(column, sense)}
        if name in ("birth", "age"):
            named &= self.dated() | (self.numeric() if name == "age" else set())
        return named | payers or {column for column in self.numeric() if self._measures(column, sense)}

    def _is_named(self, column: int, sense: Sense) -> bool:
        """Return whether a column's name has one of the words that mark the sense ("price" for "cost"), not just a word
        of the same stem.
        """
        name = plain(self.table.columns[column].name)
        said = {word_key(word) for word in WORD.findall(re.sub(r"_", " ", name)) if not sense.has(word)}
        return bool(sense.named & self.names[column] - said)

    def dimensions(self, column: int) -> set[str]:
        """Return the dimensions of a column's units, such as "length" or "money"."""
        names = [*self.table.columns[column].units, *filter(None, [column_unit(self.table, column)])]
        return {"time" if name == DURATION else unit_named(name).quantity for name in names}

    def _measures(self, column: int, sense: Sense) -> bool:
        """Return whether the unit of a column's numbers fits, or may fit, the sense: euros fit "cost"."""
        beside = self.beside.get(column)
        has_units = beside is not None and not self.names[beside] & CURRENCY_COLUMNS and "mass" in sense.dimensions
        return has_units or bool(self.dimensions(column) & set(sense.dimensions))

    def _may_measure(self, column: int, sense: Sense) -> bool:
        """Return whether a column has no units, or units that fit the sense, such as euros for "cost"."""
        if not sense.dimensions:
            return True
        beside, dimensions = self.beside.get(column), self.dimensions(column)
        is_currency = beside is None or bool(self.names[beside] & CURRENCY_COLUMNS)
        fits = not dimensions or bool(dimensions & set(sense.dimensions))
        is_number = column in self.numeric() or not self.table.columns[column].filled
        return is_number and fits and ("money" not in sense.dimensions or is_currency)

    def in_unit(self, unit: Unit) -> set[int]:
        """Return the columns whose numbers are, or may be, in a unit of the same dimension as this unit."""
        return (
            {
                column
                for column in self.numeric()
                if unit.quantity in self.dimensions(column) or self.beside.get(column) is not None
            }
            if not unit.is_money
            else {column for column in self.numeric() if self._is_in_currency(column, unit)}
        )

    def _is_in_currency(self, column: int, unit: Unit) -> bool:
        """Return whether the amounts of a column are in this currency, or in an unknown currency."""
        names = [*self.table.columns[column].units, *filter(None, [column_unit(self.table, column)])]
        if names or self.beside.get(column) is not None:
            return self.beside.get(column) is not None or unit in map(unit_named, names)
        return bool(SENSES["money"].named & self.names[column])

    def in_same_unit(self, unit: Unit) -> set[int]:
        """Return the columns of numbers whose names state exactly this unit."""
        return {column for column in self.in_unit(unit) if unit_named(column_unit(self.table, column)) == unit}

    def quantities(self) -> set[int]:
        """Return the columns with quantities of the things that rows are about, but not those with amounts of money."""
        named = {column for column in self.numeric() if self.names[column] & QUANTITY}
        return {
            column
            for column in named
            if "money" not in self.dimensions(column)
            and not ((other := self.beside[column]) is not None and self.names[other] & CURRENCY_COLUMNS)
        }

    def later(self) -> set[int]:
        """Return the columns of days that may lie in the future, such as due dates."""
        return {place for place in self.dated() if self.names[place] & LATER}

    def payees(self) -> set[int]:
        """Return the columns of payees."""
        return {place for place in self.all() if self.names[place] == {_PAYEE_KEY}}

    def payers(self) -> set[int]:
        """Return the columns of payers."""
        return {place for place in self.all() if _PAYER.search(plain(self.table.columns[place].name))}

    def birthdays(self) -> set[int]:
        """Return the columns of birthdays."""
        return {place for place in self.dated() if self.names[place] & BIRTHDAYS}

    def vocabulary(self) -> set[str]:
        """Return the comparable words of the names of the table and its columns."""
        return {word for name in self.names for word in name} | set(self.title)

    def is_about(self, word: str) -> bool:
        """Return whether a word belongs to the same subject as the table's name or the names of its non-numeric
        columns.
        """
        if any(len(word) > _LEAST_TAIL and other.endswith(word) for other in self.title):
            return True
        return word in self._fields


_LEAST_TAIL: Final = 3


@lru_cache(maxsize=64)
def columns_of(table: Table) -> Columns:
    """Return the columns of a table, cached for the next question."""
    return Columns(table)
