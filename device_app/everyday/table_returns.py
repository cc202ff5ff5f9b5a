"""Sums over rows that a question's words name only in part: refunds belong to a sum, other such rows are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from device_app.english.cells import key
from device_app.everyday.table_columns import Columns, unit_column
from device_app.everyday.table_reading import Reading
from shared.printable import counted
from storage.table_parts import Condition, Group
from storage.tables import TableStore

_RETURNS: Final = frozenset(key("return returned refund refunded reversal credit repaid cancelled"))
"""The words, in comparable form, of a cell that says that money came back."""

_AROUND: Final = frozenset(key("the a of from partial"))

_MOST_NAMED: Final = 5
_MOST_TEXTS: Final = 1000
"""The most different texts of a column in which refunds are searched for."""

_SUMMED: Final = ("sum", "much")


@dataclass(frozen=True, slots=True)
class Returns:
    """A reading that counts refunds, and a note on them and on cells that fit only in part.

    `owners` gives, for the text of a refund's cell, the name to which it belongs: Rewe for "Rewe (return)".
    """

    reading: Reading
    note: str = ""
    owners: Mapping[str, str] = field(default_factory=dict)


def with_returns(store: TableStore, reading: Reading) -> Returns:
    """Return the reading with the refunds of what it names.

    A refund is a cell with the named words and a word such as "return", whose numbers all have the other sign: "Rewe
    (return)" beside "Rewe". Where two names are compared, each has its own refunds. Raises StoreError.
    """
    is_summed = reading.figure in _SUMMED or bool(reading.alternatives and reading.group)
    if not is_summed or reading.column is None:
        return Returns(reading)
    refunds, others = list[str](), list[str]()
    conditions, owners = list(reading.conditions), dict[str, str]()
    for place, condition in enumerate(reading.conditions):
        if condition.kind != "text" or condition.is_excluded or condition.shown or condition.texts == ("",):
            continue
        rest = [*reading.conditions[:place], *reading.conditions[place + 1 :]]
        more = set[str]()
        for text, count in store.counts(reading.table, rest, Group(condition.place)):
            added = {name: {*key(text)} - {*key(name)} for name in condition.texts if {*key(name)} < {*key(text)}}
            if text in condition.texts or not added:
                continue
            owner = min(added, key=lambda name: len(added[name]))
            is_return = bool(added[owner] & _RETURNS) and added[owner] <= _RETURNS | _AROUND
            named = replace(condition, texts=(owner,)) if reading.alternatives else condition
            sign = _sign(store, reading, [*rest, named]) if is_return else 0
            if sign and _sign(store, reading, [*rest, replace(condition, texts=(text,))]) == -sign:
                more.add(text)
                owners[text] = owner
                refunds.append(f"“{text}” ({counted(count, 'row')})")
            else:
                others.append(f"“{text}” ({counted(count, 'row')})")
        conditions[place] = replace(condition, texts=(*condition.texts, *sorted(more)))
    notes = [f"Money that came back is counted in: {_listed(refunds)}."] if refunds else []
    notes += [f"Not counted, as only a part of the name fits: {_listed(others)}."] if others else []
    return Returns(replace(reading, conditions=tuple(conditions)), " ".join(notes), owners)


def without_returns(store: TableStore, reading: Reading) -> Returns:
    """Return the reading of a question for the greatest or least amounts without refunds, which are no purchases.

    A refund is a row whose cell has a word such as "return", and whose number has the other sign than the other rows. A
    question that names such cells is about them. Raises StoreError.
    """
    columns = Columns(reading.table)
    if reading.column is None or any(_RETURNS & {*key(text)} for each in reading.conditions for text in each.texts):
        return Returns(reading)
    for place in filter(columns.is_text, columns.all()):
        if reading.table.columns[place].distinct > _MOST_TEXTS:
            continue
        texts = [text for text, _ in store.counts(reading.table, reading.conditions, Group(place))]
        returned = tuple(text for text in texts if _RETURNS & {*key(text)})
        if not returned or len(returned) == len(texts):
            continue
        refunds, bought = Condition(place, "text", returned), Condition(place, "text", returned, is_excluded=True)
        sign = _sign(store, reading, [*reading.conditions, bought])
        if sign and _sign(store, reading, [*reading.conditions, refunds]) == -sign:
            note = f"Money that came back is left out: {_listed([f'“{text}”' for text in returned])}."
            return Returns(replace(reading, conditions=(*reading.conditions, bought)), note)
    return Returns(reading)


def _sign(store: TableStore, reading: Reading, conditions: Sequence[Condition]) -> int:
    """Return 1 if all numbers in these rows are above zero, -1 if all are below, else 0."""
    place = reading.column or 0
    totals = store.totals(reading.table, conditions, place, unit_column(reading.table, place))
    if not totals:
        return 0
    return 1 if all(total.least > 0 for total in totals) else -1 if all(total.most < 0 for total in totals) else 0


def _listed(texts: Sequence[str]) -> str:
    more = [f"{len(texts) - _MOST_NAMED} more"] if len(texts) > _MOST_NAMED else []
    return ", ".join([*texts[:_MOST_NAMED], *more])
