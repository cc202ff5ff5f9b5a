"""Answers questions to the tables and sheets that were read: from the right row, or by a figure over a column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english.cells import key, word_key
from device_app.english.spelling import is_correctable, spellings
from device_app.english.terms import plain
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.table_answer import result
from device_app.everyday.table_reading import alignments, read
from device_app.everyday.table_wording import Result
from storage.tables import Cell, Table, TableStore

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore

_MOST_LINES: Final = 3
"""The most rows that are shown of each answer, where there is more than one."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Answers from the rows of tables. Where several columns or tables fit, the answer names them all."""

    store: KnowledgeStore
    stands_alone: ClassVar[bool] = True

    def answer(self, asked: Asked) -> Ruled | None:
        """Return what the rows say; None if a word of the question is not explained by a table."""
        store = TableStore(self.store.database)
        if not (tables := store.tables(asked.query.filters)):
            return None
        question, spelling = asked.text, ""
        cells = store.cells(key(question))
        readings = read(question, asked.now.date(), tables, cells)
        if not readings and (spelt := _spelt(store, question, tables, cells)):
            question, spelling = spelt
            readings = read(question, asked.now.date(), tables, store.cells(key(question)))
        for equal in readings:
            results = {answer.text: answer for reading in equal for answer in [result(store, reading)]}
            found = [answer for answer in results.values() if answer.found]
            # That no row fits is an answer to a question for a figure alone.
            if found or (equal is readings[-1] and equal[0].figure and (found := list(results.values()))):
                return self._ruled(store, found, spelling)
        return None

    def _ruled(self, store: TableStore, found: list[Result], spelling: str) -> Ruled:
        text, understood = found[0].text, " or: ".join(answer.understood for answer in found)
        if len(found) > 1:
            listed = "\n".join(map(_bullet, found))
            text = f"The question fits {len(found)} columns. Each of them:\n\n{listed}"
        ids = store.passages([row for answer in found for row in answer.rows])
        passages = self.store.passages(ids)
        items = tuple(item for answer in found for item in answer.items)
        sources = [passages[identity] for identity in ids if identity in passages]
        return Ruled(f"{text}\n\n{spelling}" if spelling else text, understood, items, sources)


def _bullet(answer: Result) -> str:
    first, *rest = [line for line in answer.text.splitlines() if line]
    return "\n".join([f"- {first}", *(f"  {line}" for line in rest[:_MOST_LINES])])


def _spelt(
    store: TableStore, question: str, tables: list[Table], cells: Mapping[str, Sequence[Cell]]
) -> tuple[str, str] | None:
    """Return the question with its only unexplained word replaced by the likeliest of a table, and a note of it."""
    for alignment in alignments(question, tables, cells):
        places = alignment.unexplained()
        word = alignment.words.forms[places[0]] if len(places) == 1 else ""
        is_about = set(alignment.roles.values()) & {"cell", "title", "column"}
        if not word or not is_correctable(word) or not is_about:
            continue
        weights = spellings(word)
        keys = {spelling: word_key(spelling) for spelling in weights}
        known = alignment.vocabulary() | store.words(set(keys.values()), alignment.table)
        if held := [spelling for spelling in weights if keys[spelling] in known]:
            best = max(held, key=lambda spelling: (weights[spelling], spelling))
            corrected = re.sub(rf"\b{re.escape(word)}\b", best, plain(question))
            return corrected, f"Read “{word}” as “{best}”."
    return None
