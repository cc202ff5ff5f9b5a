"""Reads what a question requests from a table: rows, a figure over a column, figures by group, or yes or no. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from device_app.english.stop_words import STOP_WORDS
from device_app.english.table_comparisons import Comparison
from device_app.english.table_senses import EVENTS
from device_app.english.table_words import (
    ALONE,
    DID,
    GROUP,
    I_PAID,
    MANY,
    NUMBER_OF,
    OFTEN,
    PERIODS,
    SPENT,
    WHAT,
    WHICH,
    WHICH_IS,
    WHICH_MORE,
    Figure,
)
from device_app.everyday.table_alignment import Alignment
from device_app.everyday.table_conditions import RowConditions, compared_unit
from storage.table_parts import Group

_EVENTS: Final = {(form,) for form in EVENTS}
_ADDED: Final = frozenset(("distance", "duration"))


@dataclass(frozen=True, slots=True)
class Request:
    """What a question requests: a figure, the columns it may be about and its group; rows if `figure` is None.

    `bound` is the comparison in a yes-or-no question; `alternatives` are two groups to compare, by their texts.
    """

    figure: Figure | None
    columns: Sequence[int | None] = (None,)
    group: Group | None = None
    bound: Comparison | None = None
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestReader:
    """Finds out what one question requests, once its words are aligned with a table."""

    aligned: Alignment
    rows: RowConditions

    def request(self) -> Request | None:
        """Return what the question requests; None if that is not understood."""
        words = self.aligned.words
        is_compared = "difference" in words.figures or any(each.is_comparative for each in words.superlatives)
        is_interval = "count" in words.figures and self._is_interval()
        many = MANY.search(words.text) or NUMBER_OF.search(words.text)
        readers = (
            (is_compared, self._difference),
            (words.is_check, self._check),
            ("average" in words.figures, lambda: self._over(self._figure or "average")),
            (bool(words.superlatives), self._extreme),
            (is_interval or self._is_number_of_somebody(), lambda: Request(None)),
            (self._figure == "count" and bool(self._direct_numbers()), lambda: self._over("much")),
            (
                many is not None and self._figure in ("count", "sum", None),
                lambda: self._many(many.end() if many else 0),
            ),
            (self._figure in ("latest", "earliest"), self._at_end),
            (bool(words.figures), lambda: self._over(self._figure or "sum")),
            (self._group() is not None, lambda: self._over("sum" if self._says_amount() else "count")),
        )
        return next((read for holds, read in readers if holds), self._rows)()

    @property
    def _figure(self) -> Figure | None:
        return next(iter(self.aligned.words.figures), None)

    def _direct_numbers(self) -> set[int]:
        return set(self.aligned.direct) & self.aligned.columns.numeric() - self._compared()

    def _compared(self) -> set[int]:
        return {column for each in self.aligned.comparisons for column in self.rows.compared_columns(each)}

    # Rows, and amounts in them

    def _rows(self) -> Request | None:
        """Return the request for rows, or for the sum of an amount in them, as in "what did the books cost?"."""
        words, columns = self.aligned.words, self.aligned.columns
        if words.how and DID.search(words.text):
            summed = self.aligned.in_senses([name for name in words.how.senses if name in _ADDED])
            if numbers := self.aligned.narrowed(summed & columns.additive()):
                return Request("much", numbers)
        amounts = columns.summed() - self._compared()
        named = amounts & set(self.aligned.direct)
        if not named and self.aligned.asks_for_money() and WHAT.search(words.text):
            named = amounts & columns.in_sense("money")
        return (
            Request("much", self.aligned.narrowed(named)) if named and not WHICH.search(words.text) else Request(None)
        )

    def _at_end(self) -> Request | None:
        return Request(self._figure, self.rows.day_columns()) if self.aligned.columns.dated() else None

    def asked_columns(self) -> tuple[int, ...]:
        """Return the requested columns, in the order of the table."""
        groups = [{column} for column in self.aligned.direct]
        how, columns = self.aligned.words.how, self.aligned.columns
        senses = [*self.aligned.senses.values(), self.aligned.in_senses(how.senses) if how else set()]
        senses += [columns.in_sense("phone")] if self._is_number_of_somebody() else []
        senses += (
            [columns.in_sense("interval")] if "count" in self.aligned.words.figures and self._is_interval() else []
        )
        for fitting in senses:
            if any(group & fitting for group in groups):
                groups = [group & fitting or group for group in groups]
            else:
                groups.append(set(fitting))
        return tuple(sorted(set().union(*groups)))

    def _is_number_of_somebody(self) -> bool:
        """Return whether "number of" means a telephone number."""
        match = NUMBER_OF.search(self.aligned.words.text)
        if match is None or not self.aligned.columns.in_sense("phone"):
            return False
        behind = min(self.aligned.words.places(match.end(), len(match.string)), default=0)
        before = {self.aligned.roles.get(behind - 3), self.aligned.roles.get(behind - 2)}
        return self.aligned.roles.get(behind) == "cell" or bool({"column", "sense"} & before)

    def _is_interval(self) -> bool:
        """Return whether a column holds intervals, which answer "how often does the fern need water?"."""
        return bool(self.aligned.columns.in_sense("interval") and self.aligned.values)

    # Yes or no

    def _check(self) -> Request | None:
        """Return the request of a yes-or-no question: whether rows fit, or whether a figure is within a bound."""
        words, columns = self.aligned.words, self.aligned.columns
        if words.superlatives or set(words.figures) - {"sum", "average", "much"}:
            return None
        if len(self.aligned.comparisons) != 1 or ALONE.search(words.text):
            return Request(None)
        compared = self.rows.compared_columns(self.aligned.comparisons[0])
        if not compared and compared_unit(self.aligned.comparisons[0]) is None:  # "more than one lamp"
            return Request("count", bound=self.aligned.comparisons[0])
        is_spent = bool(SPENT.search(words.text)) and any(
            column in columns.in_sense("money") or "money" in columns.dimensions(column) for column in compared
        )
        is_summed = bool(words.spans and set(compared) <= columns.additive() and DID.match(words.text))
        if not (words.figures or is_spent or is_summed):
            return Request(None)
        figure: Figure = "average" if "average" in words.figures else "sum"
        return Request(figure, compared, bound=self.aligned.comparisons[0])

    # Figures

    def _difference(self) -> Request | None:
        """Return the comparison of two groups, as in "who spent more, Noor or Samir?"."""
        words, alternatives = self.aligned.words, self._alternatives()
        degree = next((each.degree for each in words.superlatives if each.is_comparative), None)
        if alternatives is None and WHICH_MORE.search(words.text) and len(words.superlatives) == 1:
            return self._extreme()  # "which laptop is worth more?"
        if alternatives is None or len(words.superlatives) > 1 or self.aligned.comparisons:
            return None
        if degree and degree.senses and not self.aligned.in_senses(degree.senses):
            return None
        place, texts = alternatives
        is_much = degree is None or degree.is_much
        figure: Figure = "difference"
        if "difference" not in words.figures and not words.is_check:
            figure = "most" if is_much else "least"
        if words.is_check and not is_much:
            texts = texts[::-1]
        is_often = OFTEN.search(words.text) is not None
        columns: Sequence[int | None] = [] if is_often else self.aligned.numbers(degree.senses if degree else ())
        if not columns and not is_often:
            return None
        return Request(figure, columns or [None], Group(place), alternatives=texts)

    def _alternatives(self) -> tuple[int, tuple[str, ...]] | None:
        """Return the column of which the question names exactly two cells, and their texts; None if there is none."""
        values = [value for value in self.aligned.values if not value.is_excluded]
        for place in self.aligned.columns.all():
            named = sorted((min(value.places), *value.texts[place]) for value in values if place in value.texts)
            if len(named) == 2 and all(len(texts) == 2 for texts in named):
                return place, (str(named[0][1]), str(named[1][1]))
        return None

    def _extreme(self) -> Request | None:
        """Return the request for the rows or the groups with the greatest or the least number."""
        superlative, columns = self.aligned.words.superlatives[0], self.aligned.columns
        senses, figure = superlative.degree.senses, self._end()
        behind = max(superlative.places) + 1
        is_often = OFTEN.search(self.aligned.words.text) is not None
        is_quantity = self.aligned.roles.get(behind) in ("cell", "part") and bool(columns.quantities())
        is_said = (not superlative.is_bare or is_quantity or self.aligned.says_number()) and not is_often
        numbers = self.aligned.numbers(senses) if is_said else []
        group, is_noun = self._ranked_group(behind)
        if group and senses and WHICH_IS.search(self.aligned.words.text):
            return None  # "which shop is the cheapest" is about all its rows
        if figure is None or (is_noun and senses) or (group is None and not numbers):
            return None
        is_grouped = superlative.is_bare or is_often or is_noun or bool(self.aligned.words.period)
        return Request(figure, numbers or [None], group if is_grouped else None) if numbers or is_grouped else None

    def _end(self) -> Figure | None:
        """Return "most" or "least" for the greatest or the least number; None if no column fits the superlative."""
        degree, duration = self.aligned.words.superlatives[0].degree, self.aligned.columns.in_sense("duration")
        is_much = degree.is_much
        if degree.senses and not self.aligned.in_senses(degree.senses):
            is_time = bool(duration & self.aligned.sensed())
            if degree.senses != ("score",) or not (is_time or self.aligned.columns.quantities()):
                return None
            is_much ^= is_time  # the best time is the least
        return "most" if is_much else "least"

    def _ranked_group(self, behind: int) -> tuple[Group | None, bool]:
        """Return the group to rank, and whether its noun follows the superlative, as in "biggest client"."""
        columns, direct = self.aligned.columns, self.aligned.direct
        if self.aligned.words.period:
            return self._group(), False
        named = list(filter(columns.is_categorical, direct)) or list(
            filter(columns.is_categorical, self.aligned.sensed())
        )
        is_noun = any(behind in direct.get(column, ()) for column in named)
        return (Group(named[0]), is_noun) if len(named) == 1 else (None, is_noun)

    def _says_amount(self) -> bool:
        """Return whether the question means amounts, as in "tomatoes per month", not rows, as in "runs per month"."""
        how, columns = self.aligned.words.how, self.aligned.columns
        has_value = bool(self.aligned.values and columns.quantities())
        is_how = how is not None and bool(self.aligned.in_senses(how.senses) & columns.additive())  # "how far"
        return has_value or is_how or self.aligned.says_number()

    def _over(self, figure: Figure) -> Request | None:
        """Return the request for a figure over the possible columns, by the named group if there is one."""
        if figure == "distinct":
            texts = [column for column in self.aligned.direct if self.aligned.columns.is_text(column)]
            return Request(figure, texts) if len(texts) == 1 else None
        columns = [None] if figure == "count" else self.aligned.numbers(is_added=figure != "average")
        if figure == "mean" and not {*columns} <= self.aligned.columns.summed():
            return self._over("average")
        group, alternatives = self._group(), self._alternatives() or (0, ())
        if not columns or (group is None and self.aligned.words.period):
            return None
        return Request("sum" if figure == "much" and group else figure, columns, group, alternatives=alternatives[1])

    def _group(self) -> Group | None:
        """Return the group after "per" or "by": a column, or a period of the only column of days."""
        words, columns = self.aligned.words, self.aligned.columns
        if words.period:
            days = self.rows.day_columns() if columns.dated() else []
            return Group(days[0], words.period) if len(days) == 1 else None
        if I_PAID.search(words.text) and (payers := self._payers()):
            return payers
        for match in GROUP.finditer(words.text):
            places = words.places(*match.span("noun"))
            if match["noun"] in PERIODS or match["which"]:
                continue
            sensed = [column for place in places for column in self.aligned.senses.get(place, ())]
            named = [column for column, said in self.aligned.direct.items() if places & said] or sensed
            texts = list(filter(columns.is_categorical, named))
            if len(texts) == 1:
                return Group(texts[0])
        return None

    def _payers(self) -> Group | None:
        """Return the column of payers for "I paid", as any payer may be the user; None if there are none or several."""
        columns, named = self.aligned.columns, {place for value in self.aligned.values for place in value.texts}
        payers = [place for place in columns.payers() - named if columns.is_categorical(place)]
        return Group(payers[0]) if len(payers) == 1 else None

    def _many(self, end: int) -> Request | None:
        """Return the figure that "how many" asks for: a sum over a column of quantities, else a count of rows."""
        words, columns = self.aligned.words, self.aligned.columns
        places = sorted(words.places(end, len(words.text)))
        first = next((place for place in places if words.forms[place] not in STOP_WORDS), -1)
        role = self.aligned.roles.get(first, "")
        named = {column for column, said in self.aligned.direct.items() if first in said}
        limited = {column for value in self.aligned.values for column in value.texts}
        texts = [
            column
            for column in named - limited
            if columns.is_categorical(column) and columns.whole[column] == (words.keys[first],)
        ]
        if first >= 0 and words.forms[first] == "days" and columns.dated():
            return Request("distinct", self.rows.day_columns())
        last = max(
            (place for value in self.aligned.values if first in value.places for place in value.places), default=-1
        )
        is_row = self.aligned.roles.get(last + 1) in ("title", "field") or words.forms[last + 1 : last + 2] in _EVENTS
        is_amount = role in ("cell", "part") and bool(columns.quantities()) and not is_row
        if role == "unit" or named & columns.numeric() or is_amount:
            return self._over("sum")
        return Request("distinct", texts) if len(texts) == 1 else self._over("count")
