"""Reads the conditions on rows from a question about a table: cells, days, comparisons with numbers, units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from device_app.english import dates
from device_app.english.table_units import Unit, asked_unit, names_of, unit_named
from device_app.english.table_words import (
    AFTER,
    AT_LEAST,
    AT_MOST,
    BEFORE,
    BELOW,
    BIRTHDAYS,
    EQUAL,
    LATER,
    RANGE,
    Figure,
)
from device_app.everyday.table_alignment import Alignment, column_unit, unit_column
from storage.tables import Condition

if TYPE_CHECKING:
    from device_app.english.dates import Span

_BOUND = re.compile(r"\b(?:before|after|since|until|till|up to)\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b|\b(?:this|last|next) ")
_EARLIEST_YEAR: Final = 1900


@dataclass(frozen=True, slots=True)
class RowConditions:
    """The conditions on rows that the words of a question name, after alignment with a table."""

    aligned: Alignment
    today: date

    def texts(self, places: Sequence[int | None]) -> list[Condition]:
        """Return conditions that cells have the texts named in the question, each in its column from `places`."""
        texts: dict[int, set[str]] = {}
        for value, place in zip(self.aligned.values, places, strict=True):
            if place is not None:
                texts.setdefault(place, set()).update(value[place])
        return [Condition(place, "text", tuple(sorted(some))) for place, some in sorted(texts.items())]

    def units(self, figure: Figure | None) -> list[Condition] | None:
        """Return the condition that rows are in the named unit, if no figure uses it; None if rows have no units."""
        unit = self.aligned.unit
        if unit is None or figure not in (None, "count", "latest", "earliest"):
            return []
        table = self.aligned.table
        beside = {
            unit_column(table, column) for column in self.aligned.numeric() if self.aligned.is_in(column, unit)
        } - {None}
        if len(beside) != 1:
            return [] if figure is None else None
        return [Condition(beside.pop() or 0, "text", names_of(unit), (), unit.sign)]

    def days(self) -> list[Span]:
        """Return the days that the question names; a day without a year is taken to be past."""
        text = self.aligned.words.text
        for said in set().union(*self.aligned.direct.values()) if self.aligned.direct else ():
            if said in self.aligned.words.keys and self.aligned.words.keys.index(said) in self.aligned.words.dated:
                text = text.replace(self.aligned.words.forms[self.aligned.words.keys.index(said)], " ")
        spans = dates.named(_BOUND.sub("in", RANGE.sub(r"in \g<first> in", text)), self.today)
        spans = [span for span in spans if span[0] <= self.today] or spans
        if len(spans) == 2 and RANGE.search(text):
            return [(min(spans)[0], max(span[1] for span in spans))]
        if len(spans) == 1 and BEFORE.search(text):
            return [(date.min, spans[0][0] - timedelta(1))]
        if len(spans) == 1 and (after := AFTER.search(text)):
            return [(spans[0][0] if after[0] == "since" else spans[0][1] + timedelta(1), date.max)]
        return spans

    def day_columns(self) -> list[int]:
        """Return the columns of days that the question may mean; columns of future days only if it names them."""
        days = self.aligned.dated()
        return self.aligned.narrowed(
            {place for place in days if place in self.aligned.direct or not self.aligned.names(place) & LATER} or days
        )

    def spans(self, spans: Sequence[Span], column: int) -> tuple[tuple[str, str], ...]:
        """Return the days as text for the store; for a birthday named without a year, the day in each year."""
        if self.aligned.names(column) & BIRTHDAYS and not _YEAR.search(self.aligned.words.text):
            spans = [
                (first.replace(year=year), last.replace(year=year))
                for first, last in spans
                if (first.month, first.day) != (2, 29) and (last.month, last.day) != (2, 29)
                for year in range(_EARLIEST_YEAR, self.today.year + 1)
            ]
        return tuple((first.isoformat(), last.isoformat()) for first, last in spans)

    def filled(self, figure: Figure | None) -> list[Condition]:
        """Return conditions that counted rows have a day in a named column: "How many books did I finish?"."""
        columns = self.aligned.dated() & set(self.aligned.direct) if figure == "count" else set()
        return [Condition(column, "d", (), ((None, None),)) for column in sorted(columns)]

    def compared(self) -> Sequence[int | None]:
        """Return the columns that a comparison may be about; [None] without a comparison, [] if no column fits."""
        matches = self.aligned.words.comparisons
        if not matches:
            return [None]
        unit = self._compared_unit()
        if len(matches) > 1:
            return []
        if matches[0]["sort"] in EQUAL:  # "a rating of 5", but not "a total of 5"
            return sorted(self.aligned.numeric() & set(self.aligned.direct))
        if unit is None:
            return self.aligned.narrowed(self.aligned.numeric())
        meant = self.aligned.narrowed({column for column in self.aligned.numeric() if self.aligned.is_in(column, unit)})
        return sorted(set(meant) & self.aligned.measured_in(unit)) or meant

    def comparison(self, column: int) -> list[Condition]:
        """Return conditions that a column's numbers are above or below the number in the question, and in its unit."""
        match, unit = self.aligned.words.comparisons[0], self._compared_unit()
        number, sort = float(match["number"].replace(",", ".")), match["sort"]
        header, beside = column_unit(self.aligned.table, column), unit_column(self.aligned.table, column)
        if unit and header:
            number *= unit.factor / unit_named(header).factor
        tiny = abs(number) * 1e-12 + 1e-12
        least = None if sort in AT_MOST | BELOW else number if sort in AT_LEAST else number + tiny
        most = None if least is not None else number if sort in AT_MOST else number - tiny
        if sort in EQUAL:
            least, most = number - tiny, number + tiny
        conditions = [Condition(column, "n", (), ((least, most),))]
        if unit and beside is not None:
            conditions.append(Condition(beside, "text", names_of(unit), (), unit.sign))
        return conditions

    def _compared_unit(self) -> Unit | None:
        match = self.aligned.words.comparisons[0]
        return asked_unit(match["unit"] or match["before"] or "", behind_number=True)
