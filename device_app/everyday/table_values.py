"""Finds the cells of a table that the words of a question name, whole or in part. Pure: the caller passes the cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from device_app.english.cells import WORD, key, singular, word_key
from device_app.english.lexicon import NUMBERS
from device_app.english.table_senses import RECURRING
from device_app.english.terms import plain
from device_app.everyday.table_columns import Columns
from device_app.everyday.table_question import Words
from storage.table_parts import Cell

Texts = Mapping[int, set[str]]
"""The texts of cells, by the index of their column."""

_MOST_ANSWERS: Final = 3
"""The most different texts of a column of yes and no."""

_LEAST_PLURAL: Final = 5
_LEAST_PART: Final = 3
"""The fewest letters of a word that may stand for a cell of which it is only a part."""


@dataclass(frozen=True, slots=True)
class Value:
    """Cells that the question names: their texts by column, with several columns if it is unclear which is meant."""

    places: frozenset[int]
    texts: Texts
    is_whole: bool
    is_exact: bool
    """Whether a cell has the words as written in the question, not in another form."""

    is_excluded: bool = False


@dataclass(frozen=True, slots=True)
class CellFinder:
    """Finds cells of one table for one question, from the cells of all tables by their words."""

    words: Words
    columns: Columns
    cells: Mapping[str, Sequence[Cell]]

    def whole(self) -> list[tuple[tuple[str, ...], Texts]]:
        """Return the cells that share a word with the question: their texts by their comparable words, the longest
        first.
        """
        texts: dict[tuple[str, ...], dict[int, set[str]]] = {}
        for word in dict.fromkeys(self.words.keys):
            for cell in self._own(word):
                if not self._is_of_agent(cell.text):
                    texts.setdefault(tuple(key(cell.text)), {}).setdefault(cell.place, set()).add(cell.text)
        return sorted(texts.items(), key=lambda item: -len(item[0]))

    def part(self, places: Sequence[int]) -> tuple[frozenset[int], Texts] | None:
        """Return the cells that contain most of the words at the given indexes of the
        question; None for no such cell.
        """
        matched: dict[tuple[int, str], set[int]] = {}
        for place in places:
            form = self.words.forms[place]
            if place in self.words.counted or form in RECURRING:
                continue
            for cell in self._own(self.words.keys[place]):
                if _is_in(form, cell.text):
                    matched.setdefault((cell.place, cell.text), set()).add(place)
        named = [some for some in matched.values() if self._tells(some)]
        if not named:
            return None
        best = max(named, key=lambda some: (len(some), -min(some)))
        texts: dict[int, set[str]] = {}
        for (column, text), some in matched.items():
            if some == best:
                texts.setdefault(column, set()).add(text)
        return frozenset(best), texts

    def says(self, column: int, words: Sequence[str]) -> tuple[str, ...]:
        """Return the texts of a yes-or-no column that have one of the `words`; none if the column has other texts."""
        if self.columns.table.columns[column].distinct > _MOST_ANSWERS:
            return ()
        return tuple(dict.fromkeys(cell.text for word in words for cell in self._own(word) if cell.place == column))

    def widened(self, texts: Texts) -> Texts:
        """Return the given cells and those of the same columns that have all their words and more.

        "Not" excludes all of them: "not tea" also excludes "green tea".
        """
        words = {word for some in texts.values() for text in some for word in key(text)}
        wider = {column: {*some} for column, some in texts.items()}
        for cell in [cell for word in words for cell in self._own(word)]:
            if any({*key(text)} < {*key(cell.text)} for text in texts.get(cell.place, ())):
                wider[cell.place].add(cell.text)
        return wider

    def has(self, word: str) -> bool:
        """Return whether a cell of the table contains this word (in comparable form, see `english.cells.key`)."""
        return any(True for _ in self._own(word))

    def _is_of_agent(self, text: str) -> bool:
        """Return whether a word of a cell is only related to one of the question, such as "router" to "route"."""
        said = dict(zip(self.words.keys, map(singular, self.words.forms), strict=True))
        return any(
            {word, form} in ({form, f"{form}r"}, {word, f"{word}r"})
            for word in map(singular, WORD.findall(plain(text)))
            if (form := said.get(word_key(word), word)) != word
        )

    def _own(self, word: str) -> Iterator[Cell]:
        for cell in self.cells.get(word, ()):
            if cell.document in self.columns.table.documents and cell.place not in self.columns.beside.values():
                yield cell

    def _tells(self, places: set[int]) -> bool:
        """Return whether one of the words may identify a cell: it is no number, and long enough."""
        forms = [self.words.forms[place] for place in places]
        return any(len(form) >= _LEAST_PART and form not in NUMBERS and not form.isdigit() for form in forms)


def _is_in(form: str, text: str) -> bool:
    """Return whether a text contains a word in the singular or the plural; "news" is not a plural of "new"."""
    words = WORD.findall(plain(text))
    return form in words or (len(form) >= _LEAST_PLURAL and singular(form) in map(singular, words))
