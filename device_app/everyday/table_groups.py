"""Computes figures by groups of rows: by the texts of a column, or by year, month or day; and compares groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from device_app.english.table_units import unit_named
from device_app.everyday.rule import Item
from device_app.everyday.table_figures import MOST_CITED, Figures, spending_sign, together, usual
from device_app.everyday.table_reading import Reading
from device_app.everyday.table_wording import MOST_SHOWN, Result, Wording, kinds
from shared.printable import counted
from storage.table_parts import Group, Totals
from storage.tables import TableStore

_MOST_PERIODS: Final = 36
"""The most groups that an answer lists if the question asks for all groups, such as all months."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Computes the figures by group of rows that a question asks for, as `reading` interprets the question."""

    store: TableStore
    reading: Reading
    words: Wording
    group: Group
    owners: Mapping[str, str] = field(default_factory=dict)
    """The names to whose groups some groups belong, by their texts: Rewe for "Rewe (return)"."""

    def result(self) -> Result:
        """Return the answer: the difference of two groups, the groups in order, or all groups."""
        if self.reading.figure == "difference":
            return self.difference()
        return self.ranked() if self.reading.figure in ("most", "least") else self.all()

    def ranked(self) -> Result:
        """Return the groups of rows, ordered by their sum or by their number of rows."""
        is_most, totals = self.reading.figure == "most", self._totals()
        parts, items = [], list[Item]()
        of = f"{self._what} {self._by} in {self.words.file}{self.words.where}"
        for same in self._by_dimension(totals):
            ranked = _ranked(same, is_most=is_most)
            if spending_sign(self.reading, ranked) < 0:
                ranked.reverse()
            first = " and ".join(total.group for total in ranked if total.sum == ranked[0].sum)
            lead = f"{first}: the {'greatest' if is_most else 'least'} {of}."
            parts.append("\n".join([lead, "", *map(self._line, ranked[:MOST_SHOWN])]))
            items += map(self._item, ranked)
        return self._result(parts, items, totals)

    def all(self) -> Result:
        """Return all groups: periods in order of time, others ordered by their figures; above them the sum of a period
        on average, if that is asked for.
        """
        totals = self._totals()
        parts, items = [], list[Item]()
        figure = "average" if self.reading.figure == "average" else "sum"
        for same in self._by_dimension(totals):
            listed = _ranked(same, is_most=True)
            if self.group.period:
                listed.sort(key=lambda total: total.group)
            elif figure == "average":
                listed.sort(key=lambda total: -total.sum / total.count)
            left = len(listed) - _MOST_PERIODS
            more = [f"- … and {left:,} more"] if left > 0 else []
            lead = f"The {self._what} {self._by} in {self.words.file}{self.words.where}:"
            if self.reading.figure == "mean" and (whole := together(listed, None)):
                mean = replace(whole, count=len(listed))
                periods = counted(len(listed), self.group.period)
                lead = f"{self._figures.amount(mean, 'average')} on average over the {periods} with rows.\n\n{lead}"
                items.append(self._figures.item(mean, "average"))
            parts.append("\n".join([lead, "", *map(self._line, listed[:_MOST_PERIODS]), *more]))
            items += map(self._item, listed)
        return self._result(parts, items, totals)

    def difference(self) -> Result:
        """Return two groups' figures and their difference; for yes-or-no questions, whether the first is greater."""
        totals = self._totals()
        both = {
            text: joined
            for text in self.reading.alternatives
            if (joined := together([total for total in totals if total.group == text], self.reading.unit))
        }
        if len(both) < 2 or len({unit_named(total.unit).dimension for total in both.values()}) > 1:
            return Result("", "", fits=False)
        ranked = [replace(total, group=text) for text, total in both.items()]
        if self._is_single(ranked):
            what = "number of rows" if self._is_counted else f"“{self.words.name(self.reading.column)}”"
        else:
            what = self._what
        first, second = (self._value(total) * unit_named(total.unit).factor for total in ranked)
        into = usual(ranked)
        gap = Totals("", into.sign if ranked[0].unit != ranked[1].unit else ranked[0].unit, 1, 0, 0, 0)
        gap = replace(gap, sum=abs(first - second) / (into.factor if not self._is_counted else 1))
        shown = f"{round(gap.sum)}" if self._is_counted else self._figures.amount(gap, "sum")
        sides = "\n".join(map(self._line, ranked))
        is_more = (first - second) * spending_sign(self.reading, ranked) > 0
        lead = f"{'Yes' if is_more else 'No'}: " if self.reading.is_check else f"{shown}: "
        where = self.words.where
        text = f"{lead}the {what} {self._by} in {self.words.file}{where}, {shown} apart.\n\n{sides}"
        return self._result([text], [*map(self._item, ranked)], totals)

    def _is_single(self, totals: Sequence[Totals]) -> bool:
        return all(total.count == 1 for total in totals)

    @property
    def _figures(self) -> Figures:
        return Figures(self.store, self.reading, self.words)

    @property
    def _is_counted(self) -> bool:
        return self.reading.column is None

    @property
    def _figure(self) -> str:
        return "average" if self.reading.figure == "average" else "sum"

    @property
    def _what(self) -> str:
        return "number of rows" if self._is_counted else f"{self._figure} of “{self.words.name(self.reading.column)}”"

    @property
    def _by(self) -> str:
        name = f"“{self.words.name(self.group.place)}”"
        return f"by {self.group.period} of {name}" if self.group.period else f"by {name}"

    def _totals(self) -> list[Totals]:
        if self._is_counted:
            counts = self.store.counts(self.reading.table, self.reading.conditions, self.group)
            return [Totals(text, "", count, count, 0, 0) for text, count in counts]
        figures = self._figures
        totals = [total for total in figures.compared(self.group, figures.currencies()) if total.group]
        return [replace(total, group=self.owners.get(total.group, total.group)) for total in totals]

    def _by_dimension(self, totals: Sequence[Totals]) -> list[list[Totals]]:
        dimensions: dict[str, list[Totals]] = {}
        for total in totals:
            dimensions.setdefault(unit_named(total.unit).dimension, []).append(total)
        return [*dimensions.values()]

    def _value(self, total: Totals) -> float:
        return total.sum / total.count if self._figure == "average" else total.sum

    def _line(self, total: Totals) -> str:
        rows = counted(total.count, "row")
        if self._is_counted:
            return f"- {total.group}: {rows}"
        return f"- {total.group}: {self._figures.amount(total, self._figure)} in {rows}"

    def _item(self, total: Totals) -> Item:
        return self._figures.item(total, "count" if self._is_counted else self._figure)

    def _result(self, parts: Sequence[str], items: Sequence[Item], totals: Sequence[Totals]) -> Result:
        note = (
            f"In different {kinds(totals)}, which are not added up:\n\n" if len(self._by_dimension(totals)) > 1 else ""
        )
        understood = self.words.understood(f"{self._what} by {self.group.period or self.words.name(self.group.place)}")
        rows = self.store.rows(self.reading.table, self.reading.conditions, MOST_CITED)
        return Result(note + "\n\n".join(parts), understood, items, rows, bool(totals))


def _ranked(totals: Sequence[Totals], *, is_most: bool) -> list[Totals]:
    """Return each group once, with its sum converted into the unit of most rows, ordered by sum."""
    groups: dict[str, list[Totals]] = {}
    for total in totals:
        groups.setdefault(total.group, []).append(total)
    into = usual(totals)
    joined = []
    for group, same in groups.items():
        joined.append(replace(together(same, into) or same[0], group=group))
    return sorted(joined, key=lambda total: total.sum, reverse=is_most)
