"""Turns the rows of a sheet into documents, each row as a readable line with the names of its columns."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, islice
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

Row = tuple[int, Sequence[str]]
"""The number of a row in its sheet, from 1, and the text of its cells."""


def workbook(
    path: Path, facts: tuple[str, str, datetime | None], sheets: Iterable[tuple[str, Iterable[Row]]]
) -> Iterator[Document | Omitted]:
    """Yield a document per 2,000 rows of each sheet, which has a name and rows. `facts`: title, author, last change."""
    title, author, changed = facts
    date = date_in(path.stem) or changed
    for name, every in sheets:
        rows = iter(every)
        blocks = _blocks(islice(rows, MOST_ROWS))
        part = 0
        while cut := tuple(islice(blocks, ROWS)):
            part += 1
            key = name if part == 1 else f"{name} part {part}"
            yield Document(key, "table", f"{title or path.stem}, {name}", cut, date, (author,) if author else ())
        if left := sum(1 for _ in rows):
            yield Omitted(f"{counted(left, 'row')} of the sheet “{name}” after the first {MOST_ROWS:,}")


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
