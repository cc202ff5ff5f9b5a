"""Interprets a question as one about a table: only if the table explains every word of the question.

A word is explained by a cell, a column's name, the table's name or field (subject), a figure ("on average"), a unit, a
day, or a column's sense: a general meaning such as "who" or "cost". A question is interpreted in several ways if a word
has several explanations. Pure: the caller passes tables and cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from device_app.english.cells import word_key
from device_app.english.table_comparisons import Comparison
from device_app.english.table_senses import ANYWHERE, MEASURES, SENSES, Degree
from device_app.english.table_units import Unit
from device_app.english.table_words import MANY, OTHERWISE, RECURRENT, SPENDING, SPENT, Figure
from device_app.english.terms import plain
from device_app.everyday.table_alignment import Alignment
from device_app.everyday.table_columns import Columns, columns_of
from device_app.everyday.table_conditions import RowConditions
from device_app.everyday.table_guards import is_misread
from device_app.everyday.table_question import Words, parsed
from device_app.everyday.table_request import Request, RequestReader
from device_app.everyday.table_values import CellFinder, Value
from storage.table_parts import Cell, Condition, Group, Table

_MOST_CHARACTERS: Final = 200
_MOST_READINGS: Final = 6
_LEAST_EVIDENCE: Final = 2.0
_EVIDENCE: Final = {
    "cell": 2.0, "part": 1.0, "title": 2.0, "column": 1.5, "field": 1.5, "unit": 1.0, "sense": 0.5, "number": 1.0,
}  # fmt: skip
"""The weight of a word as evidence that the question is about a table, by what explains it."""

_CONTRACTED = re.compile(r"(?<=\w)'(?:ve|ll|re|d|m)\b")
_RUN_OUT = re.compile(r"\b(?:run|runs|ran) out\b", re.IGNORECASE)
_WHATS = re.compile(r"\b(what|who|where|when|how)s\b")
_WHO_IS = re.compile(r"^\W*(?:who|where)(?:'s| is| was| are) (?!paid\b)")
_WHAT_DID = re.compile(r"^\W*what (?:did|do|was|were)\b")
_LIST = re.compile(
    r"^\W*(?:list|show|give me|name|everything|anything|all)\b"
    r"|^\W*what(?: is|'s| are| do (?:we|i) have| have (?:we|i) got) in\b"
    r"|\beverything\b"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """One interpretation of a question as one about a table. If `figure` is None, the question asks for rows.

    Columns are given by index: `column` holds the figure's values, `asked` are the requested columns, and values are
    added up by `group`. `unit` is the requested unit, `limit` the most rows of an extreme. `is_check` questions ask for
    yes or no: whether rows fit, or whether the figure is within `bound`. `alternatives` are two texts of a column, in
    the question's order. `score` orders the interpretations by the words explained by cells, then by names of the table
    and its columns.
    """

    table: Table
    figure: Figure | None
    column: int | None
    asked: tuple[int, ...]
    conditions: tuple[Condition, ...]
    group: Group | None
    unit: Unit | None
    limit: int
    is_check: bool
    bound: Comparison | None
    alternatives: tuple[str, ...]
    score: tuple[float, int]
    may_be_none: bool
    """Whether the answer may be "no row": the question names the table or a cell, and limits days or numbers."""

    is_spent: bool
    """Whether the question asks for what was spent, which some tables write as numbers below zero."""


def read(aligned: Sequence[Alignment], today: date) -> list[list[Reading]]:
    """Return the possible interpretations, grouped by equal score, the best group first; none if no table fits."""
    titles = {word for alignment in aligned for word in alignment.title_words()}
    readings = [
        reading
        for alignment in aligned
        if not titles & alignment.free_words()  # "trips" are those of the table of trips
        for reading in _reader(alignment, today).readings()
    ]
    scores = sorted({reading.score for reading in readings}, reverse=True)
    return [[reading for reading in readings if reading.score == score] for score in scores]


def _reader(aligned: Alignment, today: date) -> _Reader:
    rows = RowConditions(aligned, today)
    return _Reader(aligned, rows, RequestReader(aligned, rows))


def _aligned(words: Words, columns: Columns, cells: Mapping[str, Sequence[Cell]]) -> Alignment:
    return Alignment(words, columns, CellFinder(words, columns, cells))


def _texts(value: Value) -> list[str]:
    return [text for texts in value.texts.values() for text in texts]


def alignments(
    question: str, tables: Sequence[Table], cells: Mapping[str, Sequence[Cell]], today: date
) -> list[Alignment]:
    """Return the question's words aligned with each table; none for a question of a sort that tables do not answer.

    `cells` are the cells that contain a word of the question, by the word's key (`english.cells.key`).
    """
    question = _RUN_OUT.sub("expire", question)
    text = _WHATS.sub(r"\1's", _CONTRACTED.sub("", plain(" ".join(question.split())).replace("’", "'")))
    text = RECURRENT.sub(r"per \g<period>", text)
    if len(text) > _MOST_CHARACTERS or OTHERWISE.search(text):
        return []
    words = parsed(text, today)
    if words.spans is None:
        return []
    return [_aligned(words, columns_of(table), cells) for table in tables]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Interprets one question, whose words are aligned with one table."""

    aligned: Alignment
    rows: RowConditions
    requests: RequestReader

    def readings(self) -> Iterator[Reading]:
        """Yield the interpretations of the question as one about this table."""
        words, aligned = self.aligned.words, self.aligned
        if aligned.unexplained() or self._evidence() < _LEAST_EVIDENCE or self._is_half_read() or is_misread(aligned):
            return
        asked = self.requests.request()
        if asked is None:
            return
        columns = self.requests.asked_columns()
        conditions = self.rows.all(asked.figure, with_comparisons=asked.bound is None)
        if len(conditions) * len(asked.columns) > _MOST_READINGS:
            return
        score = (
            sum(len(value.places) * (1.0 if value.is_exact else 0.5) for value in aligned.values if value.is_whole),
            sum(role in ("column", "title", "part") for role in aligned.roles.values()),
        )
        for column in asked.columns:
            for some in conditions:
                if not self._is_anchored(asked, some) or not self._is_meant(column):
                    continue
                fixed = {each.place for each in some if each.kind == "text" and len(each.texts) == 1}
                shown = tuple(place for place in columns if place not in fixed) or columns
                yield Reading(
                    aligned.columns.table, asked.figure, column, shown, tuple(some), asked.group, aligned.unit,
                    words.limit, words.is_check, asked.bound, asked.alternatives, score,
                    self._may_be_none(some), SPENT.search(words.text) is not None,
                )  # fmt: skip

    def _may_be_none(self, conditions: Sequence[Condition]) -> bool:
        is_named = bool({"cell", "title", "field"} & {*self.aligned.roles.values()})
        return is_named and any(condition.kind != "text" for condition in conditions)

    def _is_meant(self, column: int | None) -> bool:
        """Return whether a figure's column measures what the question asks about: money, a time, an age."""
        aligned = self.aligned
        asked = [aligned.words.keys[place] for place in aligned.senses if aligned.roles[place] == "sense"]
        senses = [[name for name in MEASURES if word in SENSES[name].asked] for word in asked]
        return column not in aligned.columns.numeric() or all(
            column in aligned.in_senses(names) for names in senses if names
        )

    def _has_verb(self) -> bool:
        """Return whether a cell is a verb in the question, such as "work" in "does Kofi work in Vienna?"."""
        values = self.aligned.values
        names = {max(value.places) for value in values if any(text.istitle() for text in _texts(value))}
        return any(
            min(value.places) - 1 in names and len(value.places) == 1 and all(text.islower() for text in _texts(value))
            for value in values
        )

    def _has_measure(self, how: Degree) -> bool:
        """Return whether a column answers "how far" or "how long"; a column of end days answers "how long" as well."""
        return bool(self.aligned.in_senses(how.senses) or self.aligned.columns.later() & {*self.aligned.direct})

    def _is_half_read(self) -> bool:
        """Return whether a part of the question, such as an exception, would be ignored if the table answered it."""
        words, aligned = self.aligned.words, self.aligned
        has_exception = any(value.is_excluded for value in aligned.values)
        return (
            (words.excepted is not None and not has_exception and not (words.denied and aligned.direct))
            or (bool(words.spans) and not aligned.columns.dated())
            or (words.is_check and (self._has_verb() or (bool(words.period) and bool(aligned.comparisons))))
            or (words.how is not None and bool(words.how.senses) and not self._has_measure(words.how))
            or (bool(words.denied) and not has_exception and not self.rows.missing())
            or len([each for each in words.superlatives if not each.is_comparative]) > 1
        )

    # Whether it is asked of this table

    def _evidence(self) -> float:
        """Return the weight of all evidence that the question is about this table."""
        roles = self.aligned.roles
        amount, words = 0.5 * self.aligned.asks_for_money(), self.aligned.words
        is_periodic = bool(words.spans) or (bool(words.period) and SPENDING.search(words.text) is not None)
        limited = 1.0 * is_periodic + 1.0 * bool(self.aligned.comparisons)
        if not set(roles.values()) - {"sense"} and not self.aligned.columns.is_about(word_key("spend")):
            return 0.0
        is_figure = (
            words.denied or words.figures or words.superlatives or MANY.search(words.text) or self.rows.is_valid_asked()
        )
        figure = 0.5 * bool(is_figure)
        vague = sum(role == "column" and words.keys[place] in ANYWHERE for place, role in roles.items())
        return sum(_EVIDENCE[role] for role in roles.values()) - vague + limited + amount + figure

    def _is_anchored(self, asked: Request, conditions: Sequence[Condition]) -> bool:
        """Return whether enough words of the question come from the table that no other source can be meant."""
        roles = set(self.aligned.roles.values())
        if asked.figure is None and _WHO_IS.match(self.aligned.words.text):
            is_place = "cell" in roles and self.aligned.words.text.lstrip().startswith("where")
            return bool(roles & {"column", "title", "field"}) or (is_place and not self.aligned.columns.birthdays())
        if self.aligned.words.is_check and asked.figure is None:
            is_limited = len(conditions) > 1 or bool(roles & {"column", "title", "field", "unit", "sense"})
            is_named = "column" in roles and (
                "part" in roles or bool(self.aligned.words.spans or self.aligned.comparisons)
            )
            return is_limited and (is_named or bool(roles & {"cell", "title"}))
        if asked.figure is None:
            text = self.aligned.words.text
            is_listed = _LIST.search(text) or (_WHAT_DID.search(text) and len(conditions) > 1)
            has_object = bool(self.requests.asked_columns() or roles & {"title", "field"} or is_listed)
            return has_object and bool(conditions)
        if asked.figure == "count" and asked.group is None:
            return bool(conditions or roles & {"title", "field"})
        return True
