"""Turns the rows of a sheet into documents, each row as a readable line with the names of its columns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from pathlib import Path

from device_app.knowledge.readers.dates import date_in
from device_app.knowledge.readers.omitted import Omitted
from device_app.knowledge.readers.tables import ROWS, named, row_text
from shared.printable import counted
from shared.types import Block, Document, TableRow

MOST_ROWS = 50_000
"""The most rows of one sheet that are read, which take a phone some hours; the number left out is reported."""
MOST_CHARACTERS = 50_000_000
"""The most characters of one sheet that are read, with its columns' names: as many as in fifty books."""
_LONGEST_ROW = 32_767
"""The most characters of a row: as many as Excel allows in one cell."""
MOST_COLUMNS = 1_000
_HEADER_ROWS = 10
"""The number of rows at the start of a sheet in which its title and its columns' names are searched for."""

LAST_ROW = 1 << 20
"""The largest row number in Excel and in LibreOffice."""

Row = tuple[int, Sequence[str]]
"""A row's number in its sheet, from 1, and the texts of its cells."""
Run = tuple[int, int, Sequence[str]]
"""The number of a row, the number of identical rows from it on, and the texts of their cells."""


def workbook(
    path: Path, facts: tuple[str, str, datetime | None], sheets: Iterable[tuple[str, Iterable[Run]]]
) -> Iterator[Document | Omitted]:
    """Yield documents of 2,000 rows from each sheet, given as a name and rows. `facts`: title, author, last change."""
    title, author, changed = facts
    date = date_in(path.stem) or changed
    for name, runs in sheets:
        limited = _Limited(runs, MOST_ROWS)
        blocks = _blocks(iter(limited))
        part = characters = 0
        while cut := tuple(islice(blocks, ROWS)):
            part += 1
            key = name if part == 1 else f"{name} part {part}"
            yield Document(key, "table", f"{title or path.stem}, {name}", cut, date, (author,) if author else ())
            characters += sum(len(block.text) for block in cut)
            if characters > MOST_CHARACTERS:
                limited.most = limited.taken
        if limited.left:
            yield Omitted(f"{counted(limited.left, 'row')} of the sheet “{name}” after the first {limited.taken:,}")


@dataclass(slots=True)
class _Limited:
    """The first `most` rows of a sheet, with the numbers of rows taken and left out so far."""

    runs: Iterable[Run]
    most: int
    taken: int = 0
    left: int = 0

    def __iter__(self) -> Iterator[Row]:
        for number, times, cells in self.runs:
            given = 0
            while given < times and self.taken < self.most:
                self.taken += 1
                yield number + given, cells
                given += 1
            self.left += times - given


def _blocks(rows: Iterator[Row]) -> Iterator[Block]:
    filled = ((number, cells) for number, cells in rows if any(cell.strip() for cell in cells))
    start = list(islice(filled, _HEADER_ROWS))
    names = next((place for place, (_, cells) in enumerate(start) if sum(map(bool, cells)) > 1), 0)
    # A sheet with a single row has no column names.
    columns = tuple(start[names][1]) if len(start) > names + 1 else ()
    for place, (number, cells) in enumerate(chain(start, filled)):
        if place != names or not columns:
            own = columns if place > names else ()
            text = row_text(zip(named(own, cells), cells, strict=False))[:_LONGEST_ROW]
            yield TableRow(text, number, None, own, tuple(cells)) if own else Block(text, number)
