"""Answers questions about the tables and sheets that were read: with rows, or with a figure over a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english.cells import key, word_key
from device_app.english.spelling import is_correctable, spellings
from device_app.english.terms import plain
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.table_alignment import Alignment
from device_app.everyday.table_answer import result
from device_app.everyday.table_reading import alignments, read
from device_app.everyday.table_wording import Result
from storage.tables import Table, TableStore

if TYPE_CHECKING:
    from storage.knowledge import KnowledgeStore

_MOST_LINES: Final = 3
"""The most rows that are shown for each answer if there are several answers."""

_MOST_ROWS: Final = 200_000
"""The most rows of a table that is searched for a question: they take two seconds on a laptop."""

_SHEETS: Final = frozenset((".xlsx", ".xlsm", ".ods"))
"""The suffixes of files of which only the first rows are read."""

_LEAST_CORRECTED: Final = 5
"""The fewest letters of a word that may be corrected: for shorter words, too many words are one letter away."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Answers from the rows of tables. If several columns or tables fit, the answer has a part for each."""

    store: KnowledgeStore
    stands_alone: ClassVar[bool] = True

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the tables' answer; None if no table explains all words of the question."""
        store = TableStore(self.store.database)
        tables = [table for table in asked.present(store.tables(asked.query.filters)) if table.rows <= _MOST_ROWS]
        if not tables:
            return None
        today, spelling = asked.now.date(), ""
        aligned = alignments(asked.text, tables, store.cells(key(asked.text)))
        readings = read(aligned, today)
        if not readings and (spelt := _spelt(store, asked.text, aligned)):
            question, spelling = spelt
            readings = read(alignments(question, tables, store.cells(key(question))), today)
        for equal in readings:
            results = {answer.text: answer for reading in equal for answer in [result(store, reading)]}
            answers = [answer for answer in results.values() if answer.fits]
            # That no row fits is an answer to a question for a figure alone.
            if answers or (equal is readings[-1] and equal[0].figure and (answers := list(results.values()))):
                notes = [spelling, *dict.fromkeys(_cut(store, reading.table) for reading in equal)]
                return self._ruled(store, answers, [note for note in notes if note], [each.table for each in equal])
        return None

    def _ruled(self, store: TableStore, answers: list[Result], notes: list[str], tables: list[Table]) -> Ruled:
        text, understood = answers[0].text, " or: ".join(answer.understood for answer in answers)
        if len(answers) > 1:
            listed = "\n".join(map(_bullet, answers))
            text = f"The question fits {len(answers)} columns. Each of them:\n\n{listed}"
        ids = store.passages([row for answer in answers for row in answer.rows])
        passages = self.store.passages(ids)
        items = tuple(item for answer in answers for item in answer.items)
        sources = [passages[identity] for identity in ids if identity in passages]
        files = self.store.files_of_documents([table.documents[0] for table in tables])
        return Ruled("\n\n".join([text, *notes]), understood, items, sources, files)


def _bullet(answer: Result) -> str:
    first, *rest = [line for line in answer.text.splitlines() if line]
    return "\n".join([f"- {first}", *(f"  {line}" for line in rest[:_MOST_LINES])])


def _cut(store: TableStore, table: Table) -> str:
    """Return the note that only the first rows of a sheet were read; "" if all may have been."""
    # Imported on first use: the readers bring their libraries along.
    from device_app.knowledge.readers.sheets import MOST_ROWS

    if Path(table.path).suffix.lower() not in _SHEETS or store.last_line(table) < MOST_ROWS:
        return ""
    return (
        f"Of the sheet in {Path(table.path).name}, the first {MOST_ROWS:,} rows were read; later ones are not counted."
    )


def _spelt(store: TableStore, question: str, aligned: Sequence[Alignment]) -> tuple[str, str] | None:
    """Return the question with its only unexplained word corrected to a table's word, and a note that says so."""
    for alignment in aligned:
        places = alignment.unexplained()
        word = alignment.words.forms[places[0]] if len(places) == 1 and not alignment.words.counted else ""
        is_about = set(alignment.roles.values()) & {"cell", "title", "column"}
        if len(word) < _LEAST_CORRECTED or not is_correctable(word) or not is_about:
            continue
        weights = spellings(word)
        keys = {spelling: word_key(spelling) for spelling in weights}
        known = alignment.vocabulary() | store.words(set(keys.values()), alignment.table)
        if held := [spelling for spelling in weights if keys[spelling] in known]:
            best = max(held, key=lambda spelling: (weights[spelling], spelling))
            corrected = re.sub(rf"\b{re.escape(word)}\b", best, plain(question))
            return corrected, f"Read “{word}” as “{best}”."
    return None
