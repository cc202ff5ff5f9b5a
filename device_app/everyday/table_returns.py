"""Sums over rows that a question's words name only in part: refunds belong to a sum, other such rows are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from device_app.english.cells import key
from device_app.everyday.table_columns import unit_column
from device_app.everyday.table_reading import Reading
from shared.printable import counted
from storage.table_parts import Condition, Group
from storage.tables import TableStore

_RETURNS: Final = frozenset(
    key("return returned refund refunded reversal credit repaid cancelled the a of from partial")
)
"""The words, in comparable form, of a cell that says that money came back."""

_MOST_NAMED: Final = 5
_SUMMED: Final = ("sum", "much")


def with_returns(store: TableStore, reading: Reading) -> tuple[Reading, str]:
    """Return the reading with the refunds of what it names, and a note on them and on cells that fit only in part.

    A refund is a cell with the named words and a word such as "return", whose numbers are all below zero: "Rewe
    (return)" beside "Rewe". Raises StoreError.
    """
    if reading.figure not in _SUMMED or reading.column is None or reading.alternatives or reading.is_check:
        return reading, ""
    refunds, others = list[str](), list[str]()
    conditions = list(reading.conditions)
    for place, condition in enumerate(reading.conditions):
        if condition.kind != "text" or condition.is_excluded or condition.shown or condition.texts == ("",):
            continue
        rest = [*reading.conditions[:place], *reading.conditions[place + 1 :]]
        named = [{*key(text)} for text in condition.texts]
        more = set[str]()
        for text, count in store.counts(reading.table, rest, Group(condition.place)):
            words = {*key(text)}
            added = min((words - own for own in named if own < words), key=len, default=None)
            if text in condition.texts or added is None:
                continue
            if added <= _RETURNS and _is_below_zero(store, reading, [*rest, replace(condition, texts=(text,))]):
                more.add(text)
                refunds.append(f"“{text}” ({counted(count, 'row')})")
            else:
                others.append(f"“{text}” ({counted(count, 'row')})")
        conditions[place] = replace(condition, texts=(*condition.texts, *sorted(more)))
    notes = [f"Money that came back is counted in: {_listed(refunds)}."] if refunds else []
    notes += [f"Not counted, as only a part of the name fits: {_listed(others)}."] if others else []
    return replace(reading, conditions=tuple(conditions)), " ".join(notes)


def _is_below_zero(store: TableStore, reading: Reading, conditions: Sequence[Condition]) -> bool:
    place = reading.column or 0
    totals = store.totals(reading.table, conditions, place, unit_column(reading.table, place))
    return bool(totals) and all(total.most < 0 for total in totals)


def _listed(texts: Sequence[str]) -> str:
    more = [f"{len(texts) - _MOST_NAMED} more"] if len(texts) > _MOST_NAMED else []
    return ", ".join([*texts[:_MOST_NAMED], *more])
