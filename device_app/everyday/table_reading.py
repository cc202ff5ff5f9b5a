"""Reads a question as one about a table: only if the table explains every word of the question.

A word is explained by a cell, a column's name, the table's name, a figure ("on average"), a unit, a day, or a sense
that a column has ("who", "cost"). Words with several explanations give several readings. Pure: the caller passes tables
and cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import Final

from device_app.english.cells import WORD
from device_app.english.stop_words import STOP_WORDS
from device_app.english.table_units import Unit
from device_app.english.table_words import (
    BARE,
    MANY,
    OTHERWISE,
    RATES,
    Figure,
)
from device_app.english.terms import plain
from device_app.english.words import denies
from device_app.everyday.table_alignment import Alignment
from device_app.everyday.table_conditions import RowConditions
from device_app.everyday.table_question import parsed
from storage.tables import Cell, Condition, Table

_MOST_CHARACTERS: Final = 200
_MOST_READINGS: Final = 6
_NUMBER_OF = re.compile(r"\bnumber of\b")
_OFTEN = re.compile(r"\boften\b")
_WHO = re.compile(r"\bwho\b")
_WHO_IS = re.compile(r"^\W*who(?:'s| is| was| are) (?!paid\b)")


@dataclass(frozen=True, slots=True)
class Reading:
    """A question read as one about a table. If `figure` is None, the question asks for rows.

    Columns are given by index: `column` holds the figure's values, `asked` are the requested columns, and values are
    added up by the texts of `group`. `unit` is the requested unit. `score` orders the readings by the number of words
    explained by cells, then by names of the table and its columns.
    """

    table: Table
    figure: Figure | None
    column: int | None
    asked: tuple[int, ...]
    conditions: tuple[Condition, ...]
    group: int | None
    unit: Unit | None
    score: tuple[int, int]


def read(aligned: Sequence[Alignment], today: date) -> list[list[Reading]]:
    """Return the possible readings, those with equal scores grouped, the best group first; none if no table fits."""
    readings = [
        reading for alignment in aligned for reading in _Reader(alignment, RowConditions(alignment, today)).readings()
    ]
    scores = sorted({reading.score for reading in readings}, reverse=True)
    return [[reading for reading in readings if reading.score == score] for score in scores]


def alignments(question: str, tables: Sequence[Table], cells: Mapping[str, Sequence[Cell]]) -> list[Alignment]:
    """Return the question's words aligned with each table; none for a question of a sort that tables do not answer.

    `cells` are the cells that contain a word of the question, by the word's key (`english.cells.key`).
    """
    text = plain(" ".join(question.split()))
    if len(text) > _MOST_CHARACTERS or OTHERWISE.search(text) or denies(text):
        return []
    words = parsed(text)
    return [Alignment(words, table, cells) for table in tables]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one question, after alignment with a table."""

    aligned: Alignment
    rows: RowConditions

    def readings(self) -> Iterator[Reading]:
        """Yield the readings of the question for this table."""
        if self.aligned.unexplained():
            return
        figure = self._figure()
        group = self._group(figure)
        columns: Sequence[int | None] = self._columns(figure, group)
        asked = self._asked()
        if not self._is_anchored(figure, asked, group):
            return
        spans = self.rows.days()
        if not spans and any(place not in self.aligned.roles for place in self.aligned.words.dated):
            return
        unit_places = self.rows.units(figure)
        if unit_places is None:
            return
        day_columns: Sequence[int | None] = self.rows.day_columns() if spans else [None]
        compared: Sequence[int | None] = self.rows.compared()
        choices = list(product(columns, day_columns, compared, *map(sorted, self.aligned.values)))
        if not choices or len(choices) > _MOST_READINGS:
            return
        score = (
            sum(role == "cell" for role in self.aligned.roles.values()),
            sum(role in ("column", "title") for role in self.aligned.roles.values()),
        )
        for column, day_column, compared_column, *places in choices:
            conditions = self.rows.texts(places)
            if day_column is None:
                conditions += self.rows.filled(figure)
            else:
                conditions.append(Condition(day_column, "d", (), self.rows.spans(spans, day_column)))
            conditions += unit_places
            if compared_column is not None:
                conditions += self.rows.comparison(compared_column)
            shown = tuple(place for place in asked if place not in places) or asked
            yield Reading(self.aligned.table, figure, column, shown, tuple(conditions), group, self.aligned.unit, score)

    # What is asked for

    def _figure(self) -> Figure | None:
        said: Figure | None = next(iter(self.aligned.words.figures), None)
        if said == "count" and (number := _NUMBER_OF.search(self.aligned.words.text)) and self.aligned.senses:
            # The telephone number of somebody.
            before = len(WORD.findall(self.aligned.words.text[: number.end()]))
            said = None if self.aligned.roles.get(before) == "cell" else said
        if said in ("sum", "much", None) and (many := MANY.search(self.aligned.words.text)):
            return self._many(many.end())
        return said

    def _many(self, end: int) -> Figure:
        """Return the figure that "how many" asks for: a sum over a column of quantities, else a count of rows."""
        before = len(WORD.findall(self.aligned.words.text[:end]))
        behind = (
            place
            for place in range(before, len(self.aligned.words.forms))
            if self.aligned.words.forms[place] not in STOP_WORDS
        )
        first = next(behind, None)
        role = self.aligned.roles.get(first, "") if first is not None else ""
        if role == "unit" or (role in ("cell", "part") and self.aligned.quantities()):
            return "sum"
        if role == "column" and first is not None:
            columns = [
                column for column in self.aligned.direct if self.aligned.words.keys[first] in self.aligned.names(column)
            ]
            if any(self.aligned.table.columns[column].numbers for column in columns):
                return "sum"
            return "distinct" if any(map(self.aligned.is_categorical, columns)) else "count"
        return "count"

    def _has_column(self) -> bool:
        """Return whether the question says which quantity is greatest or least, or allows any."""
        text, named = self.aligned.words.text, self.aligned.numeric() & set(self.aligned.direct)
        is_told = bool(self.aligned.senses or self.aligned.unit or named or not BARE.search(text))
        return is_told and not _OFTEN.search(text)

    def _group(self, figure: Figure | None) -> int | None:
        """Return the column by whose texts values are added up: shops for "Which shop did we spend the most at?"."""
        text = self.aligned.words.text
        if figure not in ("most", "least") or not (BARE.search(text) or _OFTEN.search(text)):
            return None
        named = list(filter(self.aligned.is_categorical, self.aligned.direct))
        if not named and _WHO.search(self.aligned.words.text):
            named = sorted(
                {column for columns in self.aligned.senses for column in columns if self.aligned.is_categorical(column)}
            )
        return named[0] if len(named) == 1 else None

    def _columns(self, figure: Figure | None, group: int | None) -> Sequence[int | None]:
        """Return the columns over which the figure may be computed, several if the question does not decide."""
        if figure in (None, "count"):
            return [None]
        if figure == "distinct":
            return [column for column in self.aligned.direct if not self.aligned.table.columns[column].numbers][:1]
        if group is not None and _OFTEN.search(self.aligned.words.text):
            return [None]
        if figure in ("latest", "earliest"):
            return self.rows.day_columns()
        numeric = self.aligned.numeric()
        if figure in ("sum", "much"):
            names = self.aligned.table.columns
            numeric = {column for column in numeric if not RATES.search(names[column].name)} or numeric
        columns = self.aligned.narrowed(numeric)
        return [None] if group is not None and len(columns) > 1 and not self.aligned.senses else columns

    def _asked(self) -> tuple[int, ...]:
        """Return the requested columns, in the order of the table."""
        groups = [{column} for column in self.aligned.direct]
        for columns in self.aligned.senses:
            if any(group & columns for group in groups):
                groups = [group & columns or group for group in groups]
            else:
                groups.append(set(columns))
        return tuple(sorted(set().union(*groups)))

    def _is_anchored(self, figure: Figure | None, asked: tuple[int, ...], group: int | None) -> bool:
        """Return whether enough words of the question come from the table that no other source can be meant."""
        roles = set(self.aligned.roles.values())
        is_limited = bool(self.rows.days() or self.aligned.words.comparisons)
        if figure == "much" and not roles & {"cell", "part"}:
            return bool(self.aligned.senses) and is_limited
        if figure is None and _WHO_IS.match(self.aligned.words.text):
            return bool(roles & {"column", "title"})
        if figure is None:
            return (bool(roles & {"cell", "part"}) and bool(asked or "title" in roles)) or (
                is_limited and bool(roles & {"column", "title"})
            )
        if figure in ("most", "least") and group is None and not self._has_column():
            return False
        if figure == "count":
            is_compared = bool(self.aligned.words.comparisons and self.aligned.senses)
            return bool(roles & {"cell", "title"}) or is_compared or (is_limited and bool(self.aligned.direct))
        return bool(roles & {"cell", "part", "title", "column"}) or bool(self.aligned.senses and self.rows.days())
