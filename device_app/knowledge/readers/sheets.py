"""Turns the rows of a sheet into documents, each row as a readable line with the names of its columns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice, repeat
from pathlib import Path

from device_app.knowledge.readers.dates import date_in
from device_app.knowledge.readers.omitted import Omitted
from device_app.knowledge.readers.tables import ROWS, row_text
from shared.printable import counted
from shared.types import Block, Document

MOST_ROWS = 50_000
"""The most rows of one sheet that are read: some hours of a phone's work. How many are left out is said."""
MOST_COLUMNS = 1_000
_LOOKED_AT = 10
"""The rows at the start of a sheet among which its title and its columns' names are looked for."""

LAST_ROW = 1 << 20
"""The last row that a sheet can have, in Excel and in LibreOffice."""

Row = tuple[int, Sequence[str]]
"""The number of a row in its sheet, from 1, and the text of its cells."""
Run = tuple[int, int, Sequence[str]]
"""The number of a row, how many alike follow each other from it on, and the text of their cells."""


def workbook(
    path: Path, facts: tuple[str, str, datetime | None], sheets: Iterable[tuple[str, Iterable[Run]]]
) -> Iterator[Document | Omitted]:
    """Yield a document per 2,000 rows of each sheet, which has a name and rows. `facts`: title, author, last change."""
    title, author, changed = facts
    date = date_in(path.stem) or changed
    for name, runs in sheets:
        limited = _Limited(runs)
        blocks = _blocks(iter(limited))
        part = 0
        while cut := tuple(islice(blocks, ROWS)):
            part += 1
            key = name if part == 1 else f"{name} part {part}"
            yield Document(key, "table", f"{title or path.stem}, {name}", cut, date, (author,) if author else ())
        if limited.left:
            yield Omitted(f"{counted(limited.left, 'row')} of the sheet “{name}” after the first {MOST_ROWS:,}")


@dataclass(slots=True)
class _Limited:
    """The first rows of a sheet. Those that are `left` out are counted meanwhile."""

    runs: Iterable[Run]
    left: int = 0

    def __iter__(self) -> Iterator[Row]:
        taken = 0
        for number, times, cells in self.runs:
            more = min(times, MOST_ROWS - taken)
            yield from zip(range(number, number + more), repeat(cells), strict=False)
            taken += more
            self.left += times - more


def _blocks(rows: Iterator[Row]) -> Iterator[Block]:
    filled = ((number, cells) for number, cells in rows if any(cell.strip() for cell in cells))
    start = list(islice(filled, _LOOKED_AT))
    names = next((place for place, (_, cells) in enumerate(start) if sum(map(bool, cells)) > 1), 0)
    # A sheet with a single row has no column names.
    columns: Sequence[str] = start[names][1] if len(start) > names + 1 else ()
    for place, (number, cells) in enumerate(chain(start, filled)):
        if place != names or not columns:
            named = [*columns, *[""] * (len(cells) - len(columns))] if place > names else [""] * len(cells)
            yield Block(row_text(zip(named, cells, strict=False)), number)
