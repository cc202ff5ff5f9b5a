"""Reads a question as one to a table: every word of it has to be explained by the table, or it is none.

A word is explained by a cell, by a column's name, by the table's name, as a figure ("on average"), a unit, a day, or a
sense that a column has ("who", "cost"). Pure: tables and cells are given. What fits twice gives several readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from typing import TYPE_CHECKING, Final

from device_app.english import dates
from device_app.english.cells import WORD
from device_app.english.stop_words import STOP_WORDS
from device_app.english.table_units import Unit, asked_unit, unit_named
from device_app.english.table_words import (
    AFTER,
    AT_LEAST,
    AT_MOST,
    BEFORE,
    BELOW,
    BIRTHDAYS,
    CURRENCY_COLUMNS,
    LATER,
    MANY,
    OTHERWISE,
    QUANTITY,
    RANGE,
    Figure,
)
from device_app.english.terms import plain
from device_app.english.words import denies
from device_app.everyday.table_alignment import Alignment, parsed, unit_column
from storage.tables import Cell, Condition, Table

if TYPE_CHECKING:
    from device_app.english.dates import Span

_MOST_CHARACTERS: Final = 200
_MOST_READINGS: Final = 6
_HEADER_UNIT = re.compile(r"[(\[](?P<unit>[^()\[\]]{1,12})[)\]]\s*$|\bin (?P<in>[^\W\d_]{1,12})$")
_BY_GROUP = re.compile(r"\b(?:most|least|more|less|fewest)\b(?! expensive)")
_WHO = re.compile(r"\bwho\b")
_WHO_IS = re.compile(r"^\W*who(?:'s| is| was| are) ")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b|\b(?:this|last|next) ")
_EARLIEST_YEAR: Final = 1900
_LEAST_PART: Final = 3
"""The letters from which a word that is only part of a cell finds it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as one to a table. `figure` None asks for the rows themselves.

    `column` is the place of the column of the figure's values, `asked` those of the columns that are asked for, `group`
    that of the column by whose texts values are added up. `unit` is what the figure is asked in. `score` orders the
    readings: the words that cells explain, then those of the names of table and columns.
    """

    table: Table
    figure: Figure | None
    column: int | None
    asked: tuple[int, ...]
    conditions: tuple[Condition, ...]
    group: int | None
    unit: Unit | None
    score: tuple[int, int]


def read(
    question: str, today: date, tables: Sequence[Table], cells: Mapping[str, Sequence[Cell]]
) -> list[list[Reading]]:
    """Return the readings, the best first, those that are equally good together; none if no table explains it.

    `cells` are the cells that the question's words stand in, by `english.cells.key`.
    """
    aligned = alignments(question, tables, cells)
    found = [reading for alignment in aligned for reading in _Reader(alignment, today).readings()]
    scores = sorted({reading.score for reading in found}, reverse=True)
    return [[reading for reading in found if reading.score == score] for score in scores]


def alignments(question: str, tables: Sequence[Table], cells: Mapping[str, Sequence[Cell]]) -> list[Alignment]:
    """Return the question's words aligned with each table; none for a question that tables do not answer."""
    text = plain(" ".join(question.split()))
    if len(text) > _MOST_CHARACTERS or OTHERWISE.search(text) or denies(text):
        return []
    words = parsed(text)
    return [Alignment(words, table, cells) for table in tables]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads aligned words."""

    found: Alignment
    today: date

    def readings(self) -> Iterator[Reading]:
        """Yield the readings of the question for this table."""
        if self.found.unexplained():
            return
        figure = self._figure()
        group = self._group(figure)
        columns: Sequence[int | None] = self._columns(figure, group)
        asked = self._asked()
        if not self._is_anchored(figure, asked):
            return
        spans = self._days()
        day_columns: Sequence[int | None] = self._day_columns() if spans else [None]
        compared: Sequence[int | None] = self._compared()
        choices = list(product(columns, day_columns, compared, *map(sorted, self.found.values)))
        if not choices or len(choices) > _MOST_READINGS:
            return
        score = (
            sum(role == "cell" for role in self.found.roles.values()),
            sum(role in ("column", "title") for role in self.found.roles.values()),
        )
        for column, day_column, compared_column, *places in choices:
            conditions = self._conditions(places)
            if day_column is not None:
                conditions.append(Condition(day_column, "d", (), self._spans(spans, day_column)))
            if compared_column is not None:
                conditions.append(self._comparison(compared_column))
            shown = tuple(place for place in asked if place not in places) or asked
            yield Reading(self.found.table, figure, column, shown, tuple(conditions), group, self.found.unit, score)

    # What is asked for

    def _figure(self) -> Figure | None:
        said: Figure | None = next(iter(self.found.words.figures), None)
        if said in ("sum", "much", None) and (many := MANY.search(self.found.words.text)):
            return self._many(many.end())
        return said

    def _many(self, end: int) -> Figure:
        """Return what "how many" asks for: a sum of what is measured or counted in a column, else a count of rows."""
        before = len(WORD.findall(self.found.words.text[:end]))
        behind = (
            place
            for place in range(before, len(self.found.words.forms))
            if self.found.words.forms[place] not in STOP_WORDS
        )
        first = next(behind, None)
        role = self.found.roles.get(first, "") if first is not None else ""
        if role == "unit" or (role in ("cell", "part") and self._quantities()):
            return "sum"
        if role == "column" and first is not None:
            columns = [
                column for column in self.found.direct if self.found.words.keys[first] in self.found.names(column)
            ]
            if any(self.found.table.columns[column].numbers for column in columns):
                return "sum"
            return "distinct" if any(map(self.found.is_categorical, columns)) else "count"
        return "count"

    def _quantities(self) -> set[int]:
        """Return the columns that say how many there are of what a row is about; an amount of money does not."""
        table = self.found.table
        named = {column for column in self.found.numeric() if self.found.names(column) & QUANTITY}
        beside = {column: unit_column(table, column) for column in named}
        return {
            column
            for column, other in beside.items()
            if not any(unit_named(name).is_money for name in table.columns[column].units)
            and not (other is not None and self.found.names(other) & CURRENCY_COLUMNS)
        }

    def _group(self, figure: Figure | None) -> int | None:
        """Return the column by whose texts the values are added up: "Which shop did we spend the most at?"."""
        if figure not in ("most", "least") or not _BY_GROUP.search(self.found.words.text):
            return None
        named = list(filter(self.found.is_categorical, self.found.direct))
        if not named and _WHO.search(self.found.words.text):
            named = sorted(
                {column for columns in self.found.senses for column in columns if self.found.is_categorical(column)}
            )
        return named[0] if len(named) == 1 else None

    def _columns(self, figure: Figure | None, group: int | None) -> Sequence[int | None]:
        """Return the columns that the figure may be over; several where the question does not tell."""
        if figure in (None, "count"):
            return [None]
        if figure == "distinct":
            return [column for column in self.found.direct if not self.found.table.columns[column].numbers][:1]
        if group is not None and re.search(r"\boften\b", self.found.words.text):
            return [None]
        if figure in ("latest", "earliest"):
            return self._day_columns()
        columns = self._narrowed(self.found.numeric())
        return [None] if group is not None and len(columns) > 1 and not self.found.senses else columns

    def _narrowed(self, columns: set[int]) -> list[int]:
        in_unit = {column for column in columns if self.found.unit and self.found.is_in(column, self.found.unit)}
        left = columns
        for named in (set(self.found.direct), in_unit, *self.found.senses):
            left = (left & named) or left
        if left == columns and len(left) > 1:
            dated = {column for column in left if self.found.names(column) == {"date"}}
            left = dated or (left & self._quantities()) or left
        return sorted(left)

    def _asked(self) -> tuple[int, ...]:
        """Return the columns that are asked for, in the order of the table."""
        groups = [{column} for column in self.found.direct]
        for columns in self.found.senses:
            if any(group & columns for group in groups):
                groups = [group & columns or group for group in groups]
            else:
                groups.append(set(columns))
        return tuple(sorted(set().union(*groups)))

    def _is_anchored(self, figure: Figure | None, asked: tuple[int, ...]) -> bool:
        """Return whether enough of the question is the table's own that no other source can be meant."""
        roles = set(self.found.roles.values())
        is_limited = bool(self._days() or self.found.words.comparisons)
        if figure == "much" and not roles & {"cell", "part"}:
            return bool(self.found.senses) and is_limited
        if figure is None and _WHO_IS.match(self.found.words.text):
            return bool(roles & {"column", "title"})
        if figure is None:
            return (bool(roles & {"cell", "part"}) and bool(asked or "title" in roles)) or (
                is_limited and bool(roles & {"column", "title"})
            )
        if figure == "count":
            return bool(roles & {"cell", "title"}) or (is_limited and bool(self.found.direct or self.found.senses))
        return bool(roles & {"cell", "part", "title", "column"}) or bool(self.found.senses and self._days())

    # Which rows

    def _conditions(self, places: Sequence[int | None]) -> list[Condition]:
        texts: dict[int, set[str]] = {}
        for value, place in zip(self.found.values, places, strict=True):
            if place is not None:
                texts.setdefault(place, set()).update(value[place])
        return [Condition(place, "text", tuple(sorted(some))) for place, some in sorted(texts.items())]

    def _days(self) -> list[Span]:
        """Return the days that the question names; the past where a day has no year."""
        text = self.found.words.text
        for said in set().union(*self.found.direct.values()) if self.found.direct else ():
            if said in self.found.words.keys and self.found.words.keys.index(said) in self.found.words.dated:
                text = text.replace(self.found.words.forms[self.found.words.keys.index(said)], " ")
        spans = dates.named(RANGE.sub(r"in \g<first> in", text), self.today)
        spans = [span for span in spans if span[0] <= self.today] or spans
        if len(spans) == 2 and RANGE.search(text):
            return [(min(spans)[0], max(span[1] for span in spans))]
        if len(spans) == 1 and BEFORE.search(text):
            return [(date.min, spans[0][0] - timedelta(1))]
        if len(spans) == 1 and (after := AFTER.search(text)):
            return [(spans[0][0] if after[0] == "since" else spans[0][1] + timedelta(1), date.max)]
        return spans

    def _day_columns(self) -> list[int]:
        days = {place for place, column in enumerate(self.found.table.columns) if column.days}
        return self._narrowed(
            {place for place in days if place in self.found.direct or not self.found.names(place) & LATER} or days
        )

    def _spans(self, spans: Sequence[Span], column: int) -> tuple[tuple[str, str], ...]:
        """Return the days as the store compares them. A birthday is asked for without its year."""
        if self.found.names(column) & BIRTHDAYS and not _YEAR.search(self.found.words.text):
            spans = [
                (first.replace(year=year), last.replace(year=year))
                for first, last in spans
                if (first.month, first.day) != (2, 29) and (last.month, last.day) != (2, 29)
                for year in range(_EARLIEST_YEAR, self.today.year + 1)
            ]
        return tuple((first.isoformat(), last.isoformat()) for first, last in spans)

    def _compared(self) -> Sequence[int | None]:
        """Return the columns that a comparison may be about; [None] without one, none if none fits."""
        matches = self.found.words.comparisons
        if not matches:
            return [None]
        name = matches[0]["unit"] or matches[0]["before"] or ""
        unit = asked_unit(name)
        columns = {column for column in self.found.numeric() if unit is None or self.found.is_in(column, unit)}
        return self._narrowed(columns) if len(matches) == 1 else []

    def _comparison(self, column: int) -> Condition:
        match = self.found.words.comparisons[0]
        number, sort = float(match["number"].replace(",", ".")), match["sort"]
        tiny = abs(number) * 1e-12 + 1e-12
        if sort in AT_MOST | BELOW:
            return Condition(column, "n", (), ((None, number if sort in AT_MOST else number - tiny),))
        return Condition(column, "n", (), ((number if sort in AT_LEAST else number + tiny, None),))
