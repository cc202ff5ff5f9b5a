"""Aligns a question's words with a table: finds what explains each word: a cell, a column's name, a unit or a sense.

A sense is a general meaning of columns, such as "cost" or "person". Pure: the caller passes the tables and cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from device_app.english.cells import WORD, word_key
from device_app.english.lexicon import synonymous
from device_app.english.stop_words import STOP_WORDS
from device_app.english.table_comparisons import Comparison
from device_app.english.table_senses import (
    EVENTS,
    OUTSTANDING,
    PAID,
    PEOPLE,
    PLAIN,
    SAYS_NOTHING,
    SENSES,
    SPENT,
    SenseName,
)
from device_app.english.table_units import Unit, asked_unit
from device_app.english.terms import plain
from device_app.everyday.table_columns import Columns
from device_app.everyday.table_question import Words
from device_app.everyday.table_values import CellFinder, Texts, Value


@dataclass(slots=True)
class Alignment:
    """A question's words, aligned with a table.

    `roles` gives, by the index of each explained word, what explains it: a cell, a part of a cell, a column's name, the
    table's title, the table's field (subject), a unit, a number or a sense (a column's meaning, such as "cost").
    `values` are the cells that the question names. `direct` are the columns that it names, with the indexes of the
    words; `senses` are the columns that a word such as "cost" means, by the index of the word; `unit` is the unit that
    the question names.
    """

    words: Words
    columns: Columns
    cells: CellFinder
    roles: dict[int, str] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)
    direct: dict[int, set[int]] = field(default_factory=dict)
    senses: dict[int, set[int]] = field(default_factory=dict)
    unit: Unit | None = None
    comparisons: list[Comparison] = field(default_factory=list)
    absent: set[int] = field(default_factory=set)
    """The columns whose cells must be empty, as for "unpaid"."""

    def __post_init__(self) -> None:
        names, dated = frozenset().union(*self.columns.names), self.words.dated
        if len(dated) == 1 and any(
            self.words.keys[place] in names for place in self.words.dated
        ):  # the column "value today"
            self.words = replace(self.words, spans=[], dated=frozenset(), used=self.words.used - self.words.dated)
        self._find_whole_names()
        self._find_whole_cells()
        self._find_columns()
        self._find_senses()
        self._find_numbers()
        self._find_parts_of_cells()
        self._find_relatives()
        for place in dated - self.words.dated:  # "today" alone says little of a table
            named = {column for column in self.direct if place in self.direct[column]}
            if not any(self.senses[other] & named and self.words.keys[other] not in SPENT for other in self.senses):
                self.roles[place] = "sense"

    # Cells

    def _find_whole_cells(self) -> None:
        keys = self.words.keys
        for sought, texts in self.cells.whole():
            for start in range(len(keys) - len(sought) + 1):
                places = frozenset(range(start, start + len(sought)))
                if keys[start : start + len(sought)] == sought and self._may_be_value(places):
                    self._add(places, texts, is_whole=True)

    def _may_be_value(self, places: frozenset[int]) -> bool:
        if places & (self.words.dated | set(self.roles)):
            return False
        return not all(place in self.words.used or self.words.forms[place] in STOP_WORDS for place in places)

    def _find_parts_of_cells(self) -> None:
        """Find the cells that contain most of the question's words that nothing else explains."""
        while part := self.cells.part(self.unexplained()):
            self._add(*part, is_whole=False)

    def _add(self, places: frozenset[int], texts: Texts, *, is_whole: bool) -> None:
        self.roles |= dict.fromkeys(places, "cell" if is_whole else "part")
        forms, is_excluded = {self.words.forms[place] for place in places}, self._is_excluded(min(places))
        texts = self.cells.widened(texts) if is_excluded and is_whole else texts
        is_exact = any(forms <= {*WORD.findall(plain(text))} for some in texts.values() for text in some)
        self.values.append(Value(places, texts, is_whole, is_exact, is_excluded))

    def _is_excluded(self, start: int) -> bool:
        """Return whether the question leaves out the cell named at this index, as after "except" or "not"."""
        first, forms = self.words.excepted, self.words.forms
        if first is None or start < first:
            return start > 0 and forms[start - 1] == "not"
        excluded = {place for value in self.values if value.is_excluded for place in value.places}
        return all(place in excluded or forms[place] in STOP_WORDS for place in range(first, start))

    # Columns

    def _find_whole_names(self) -> None:
        """Find the columns whose whole names of two or more words occur, such as "paid by" or "last watered"."""
        keys, said = self.words.keys, set(self.words.keys)
        names = [
            (column, name) for column, name in enumerate(self.columns.whole) if len(name) > 1 and said.issuperset(name)
        ]
        for column, name in sorted(names, key=lambda named: -len(named[1])):
            for start in range(len(keys) - len(name) + 1):
                places = set(range(start, start + len(name)))
                is_said = keys[start : start + len(name)] == name
                if is_said and self.columns.names[column] and not places & (self.words.dated | set(self.roles)):
                    self._add_column(column, places)

    def _add_column(self, column: int, places: set[int]) -> None:
        self.direct.setdefault(column, set()).update(places)
        self.roles |= dict.fromkeys(places, "column")

    def _find_columns(self) -> None:
        whole = dict(self.direct)
        for place, word in enumerate(self.words.keys):
            form = self.words.forms[place]
            if place in self.roles or form in STOP_WORDS or place in self.words.used - self.words.denied:
                continue
            for column in self.columns.by_word.get(word, ()):
                if not self._is_only_sense(word, column):
                    self._add_column(column, {place})
            if form.startswith("un") and place not in self.roles:
                for column in self.columns.by_word.get(word_key(form[2:]), ()):
                    self._add_column(column, {place})
                    self.absent.add(column)
            if form in OUTSTANDING and place not in self.roles:
                self._find_outstanding(place)
            if place not in self.roles and word in self.columns.title:
                self.roles[place] = "title"
        self.direct = {
            column: places
            for column, places in self.direct.items()
            if column in whole or not any(places < other for other in self.direct.values())
        }
        for place in sorted(frozenset().union(*self.words.figures.values())):
            self._find_ends(place)

    def _find_outstanding(self, place: int) -> None:
        """Find the columns for unpaid bills: the day of payment, which must be empty, and for "overdue" the due day."""
        paid = {column for column in self.columns.dated() if self.columns.names[column] & PAID}
        is_due = self.words.forms[place] == "overdue"
        for column in paid | (self.columns.later() if is_due else set()) if paid else ():
            self._add_column(column, {place})
        self.absent |= paid

    def _is_only_sense(self, word: str, column: int) -> bool:
        """Return whether a question's word asks for money in general rather than names this column of numbers.

        True for the word "cost" and a column "total cost"; false for a column "cost".
        """
        is_part = self.columns.names[column] != {word} and bool(self.columns.table.columns[column].numbers)
        return is_part and word in SENSES["money"].asked

    def _find_ends(self, place: int) -> None:
        """Find a column named "total" or "last", if the question names no other column."""
        word = self.words.keys[place]
        if place in self.roles or self.direct:
            return
        for column in self.columns.all():
            if self.columns.names[column] == {word}:
                self._add_column(column, {place})

    def _find_senses(self) -> None:
        for place, (form, word) in enumerate(zip(self.words.forms, self.words.keys, strict=True)):
            if self.roles.get(place) == "cell" or place in self.words.used:
                continue
            if place not in self.roles and (unit := asked_unit(form)) and self.columns.in_unit(unit):
                is_other = "unit" in self.roles.values() and unit != self.unit
                self.unit, self.roles[place] = (None if is_other else unit), "unit"
                continue
            columns = self.in_senses([name for name, each in SENSES.items() if word in each.asked and each.has(form)])
            if place in self.words.payers:
                columns -= self.columns.payees()
            if columns:
                self.senses[place] = columns
                self.roles.setdefault(place, "column" if self._is_plain(word) else "sense")
            elif self.columns.is_about(word):
                self.roles.setdefault(place, "field")

    def _is_plain(self, word: str) -> bool:
        """Return whether a word, such as "born", identifies columns as surely as a column's own name does."""
        return any(word in SENSES[name].asked for name in PLAIN)

    def _find_numbers(self) -> None:
        """Find the comparisons; "of 5" is a comparison only if the question names a column of numbers."""
        numeric = self.columns.numeric() & set(self.direct)
        for comparison in self.words.comparisons:
            places = self.words.places(comparison.start, comparison.end)
            if comparison.is_equal:
                number = max(places - set(self.roles), default=None)
                if number is None or not numeric or not self.words.forms[number][0].isdigit():
                    continue
                self.roles[number] = "number"
            self.comparisons.append(comparison)
        for place, form in enumerate(self.words.forms[:-1]):  # "40 points"
            named = {column for column, places in self.direct.items() if place + 1 in places} & numeric
            is_free = form.isdigit() and place not in self.roles and place not in self.words.used
            if is_free and named and not self.words.figures:
                self.roles[place] = "number"
                self.comparisons.append(Comparison(float(form), float(form), False, "", None, 0, 0))

    def in_senses(self, names: Sequence[SenseName]) -> set[int]:
        """Return the columns that have one of the named senses: general meanings such as "cost" or "person"."""
        return {column for name in names for column in self.columns.in_sense(name)}

    def _find_relatives(self) -> None:
        """Find the columns whose names are synonyms of a word, such as "pupil" for "student"."""
        for place in self.unexplained():
            word = self.words.keys[place]
            for column in self.columns.all():
                if any(synonymous(word, other) for other in self.columns.names[column]):
                    self._add_column(column, {place})

    # What is left

    def unexplained(self) -> list[int]:
        """Return the indexes of the words that nothing explains."""
        return [
            place
            for place, form in enumerate(self.words.forms)
            if (place in self.words.counted and not self._counts_people())
            or (place in self.words.asking and place not in self.roles)
            or not (
                place in self.roles
                or place in self.words.used
                or form in STOP_WORDS
                or form in SAYS_NOTHING
                or (form in EVENTS and self.columns.dated())
                or (form in ("spend", "spent") and {*self.words.forms} & {"time", "hours", "minutes", "long"})
            )
        ]

    def title_words(self) -> set[str]:
        """Return the words of the question that occur in the table's name."""
        return {self.words.keys[place] for place, role in self.roles.items() if role == "title"}

    def free_words(self) -> set[str]:
        """Return the words that stand for the table's rows in general, such as "visits", and are explained by nothing
        else.
        """
        return {
            word
            for place, (form, word) in enumerate(zip(self.words.forms, self.words.keys, strict=True))
            if form in EVENTS and place not in self.roles
        }

    def _counts_people(self) -> bool:
        """Return whether the table has rows or numbers that "how many people" may count."""
        return bool(self.columns.vocabulary() & PEOPLE or self.columns.quantities())

    def vocabulary(self) -> set[str]:
        """Return the words in the names of the table and its columns, in comparable form (`english.cells.key`)."""
        return self.columns.vocabulary()

    def narrowed(self, columns: set[int], unit: Unit | None = None) -> list[int]:
        """Return the best fitting columns: those that the question's names, unit or words such as "cost" mean."""
        left, unit = columns, unit or self.unit
        in_unit = (self.columns.in_unit(unit), self.columns.in_same_unit(unit)) if unit else ()
        for named in (set(self.direct), *in_unit, *self.senses.values()):
            left = (left & named) or left
        if left == columns and len(left) > 1:
            dated = {column for column in left if self.columns.names[column] == {"date"}}
            left = dated or (left & self.columns.quantities()) or left
        return sorted(left)

    def asks_for_money(self) -> bool:
        """Return whether a word of the question is about money."""
        return any(self.words.keys[place] in SENSES["money"].asked for place in self.senses)

    def says_number(self) -> bool:
        """Return whether the question names a unit, or a column of numbers, by name or by a word such as "cost"."""
        numeric = self.columns.numeric()
        return bool(self.unit or numeric & (set(self.direct) | self.sensed()))

    def sensed(self) -> set[int]:
        """Return the columns that the question means by a general word such as "cost", not by a column's name."""
        return set().union(*self.senses.values())

    def numbers(self, senses: Sequence[SenseName] = (), *, is_added: bool = False) -> list[int]:
        """Return the columns of numbers that the question may mean; several if it does not say which."""
        how, columns = self.words.how, self.columns
        numeric = (is_added and columns.additive()) or columns.numeric()
        return self.narrowed(numeric & self.in_senses(senses or (how.senses if how else ())) or numeric)
