"""Answers questions about the tables and sheets that were read: with rows, or with a figure over a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english.cells import WORD, key, word_key
from device_app.english.spelling import is_correctable, nearest, spellings
from device_app.english.table_senses import BOOLEANS, FORMS, is_known
from device_app.english.terms import plain
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.table_alignment import Alignment
from device_app.everyday.table_reading import Reading, alignments, read
from storage.table_parts import Table
from storage.tables import TableStore

if TYPE_CHECKING:
    from device_app.everyday.table_wording import Result
    from storage.knowledge import KnowledgeStore

_MOST_LINES: Final = 3
"""The most rows that are shown for each answer if there are several answers."""

_MOST_ROWS: Final = 200_000
"""The most rows of a table that is searched for a question: they take two seconds on a laptop."""

_SHEETS: Final = frozenset((".xlsx", ".xlsm", ".ods"))
"""The suffixes of files of which only the first rows are read."""

_LEAST_CORRECTED: Final = 5
"""The fewest letters of a word that may be corrected: for shorter words, too many words are one letter away."""

_MOST_CORRECTED: Final = 2
_LIKE: Final = 0.85
_MOST_ANSWERS: Final = 5
"""The most columns and tables that an answer covers: a question that fits more of them is too vague."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Answers from the rows of tables. If several columns or tables fit, the answer has a part for each."""

    store: KnowledgeStore
    stands_alone: ClassVar[bool] = False

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the tables' answer; None if no table explains all words of the question."""
        if asked.before and asked.is_follow_up:
            return None
        store = TableStore(self.store.database)
        tables = [table for table in asked.present(store.tables(asked.query.filters)) if table.rows <= _MOST_ROWS]
        if not tables:
            return None
        today, spelling = asked.now.date(), ""
        aligned = alignments(asked.text, tables, store.cells([*key(asked.text), *BOOLEANS]), today)
        readings = read(aligned, today)
        if not readings and (spelt := _spelt(store, asked.text, aligned)):
            question, spelling = spelt
            readings = read(alignments(question, tables, store.cells([*key(question), *BOOLEANS]), today), today)
        for equal in readings:
            results = _results(store, equal)
            answers = [answer for answer in results.values() if answer.fits]
            # That no row fits is an answer to a question for a figure alone.
            is_last = equal is readings[-1]
            if not answers and is_last and equal[0].is_check:
                answers = [*results.values()][:1]
            if not answers and is_last and _is_joined(asked.text, equal[0]):
                return None
            if not answers and is_last and (equal[0].figure or equal[0].may_be_none):
                answers = list(results.values())
            if answers:
                if len(answers) > _MOST_ANSWERS:
                    return None
                notes = [spelling, *dict.fromkeys(_cut(store, reading.table) for reading in equal)]
                return self._ruled(store, answers, [note for note in notes if note], [each.table for each in equal])
        return None

    def _ruled(self, store: TableStore, answers: list[Result], notes: list[str], tables: list[Table]) -> Ruled:
        text, understood = answers[0].text, " or: ".join(answer.understood for answer in answers)
        if len(answers) > 1:
            listed = "\n".join(map(_bullet, answers))
            text = f"The question fits {len(answers)} columns or tables. Each of them:\n\n{listed}"
        ids = store.passages([row for answer in answers for row in answer.rows])
        passages = self.store.passages(ids)
        items = tuple(item for answer in answers for item in answer.items)
        sources = [passages[identity] for identity in ids if identity in passages]
        files = self.store.files_of_documents([table.documents[0] for table in tables])
        return Ruled("\n\n".join([text, *notes]), understood, items, sources, files)


def _results(store: TableStore, readings: Sequence[Reading]) -> dict[str, Result]:
    """Return the answers to the question as it can be read, by their text."""
    from device_app.everyday.table_answer import result  # its imports take long, and few questions are for it

    return {answer.text: answer for reading in readings if (answer := result(store, reading)).text}


def _is_joined(question: str, reading: Reading) -> bool:
    """Return whether "and" may join things in different rows: "what did we spend on Noor and the kitchen?"."""
    named = {condition.place for condition in reading.conditions if condition.kind == "text"}
    return len(named) > 1 and bool(re.search(r"\band\b", question))


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
    """Return the question with its few unexplained words corrected, and a note that says so; None if a word stays
    unexplained.
    """
    for alignment in aligned:
        words = [alignment.words.forms[place] for place in alignment.unexplained()]
        is_about = set(alignment.roles.values()) & {"cell", "title", "column"}
        if not words or len(words) > _MOST_CORRECTED or alignment.words.counted or not is_about:
            continue
        spelt = {word: spelling for word in words if (spelling := _spelling(store, alignment, word))}
        if len(spelt) == len(set(words)):
            corrected = plain(question)
            for word, spelling in spelt.items():
                corrected = re.sub(rf"\b{re.escape(word)}\b", spelling, corrected)
            read_as = " and ".join(f"“{word}” as “{spelling}”" for word, spelling in spelt.items())
            return corrected, f"Read {read_as}."
    return None


def _spelling(store: TableStore, alignment: Alignment, word: str) -> str:
    """Return the correct spelling of a word, from the table or from words of questions; "" if there is none."""
    if len(word) < _LEAST_CORRECTED or not is_correctable(word) or is_known(word_key(word)):
        return ""
    weights = spellings(word)
    known = _forms(store, alignment, {word_key(spelling) for spelling in weights})
    if held := [spelling for spelling in weights if spelling in known]:
        return max(held, key=lambda spelling: (weights[spelling], spelling))
    near = nearest(word, FORMS, _LIKE)
    return near if near != word else ""


def _forms(store: TableStore, alignment: Alignment, keys: set[str]) -> set[str]:
    """Return the words of a table's names and cells whose comparable form (`english.cells.key`) is one of `keys`."""
    table = alignment.columns.table
    texts = [table.title, *(column.name for column in table.columns)]
    cells = store.cells(store.words(keys, table))
    texts += [cell.text for some in cells.values() for cell in some if cell.document in table.documents]
    return {form for text in texts for form in WORD.findall(plain(text))}
