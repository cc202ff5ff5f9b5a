"""Reads CSV: each row as a readable line with the names of its columns."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from device_app.knowledge.readers.dates import date_in
from device_app.knowledge.readers.decoding import limited_lines, open_text
from shared.errors import UnreadableFile
from shared.types import Block, Document, TableRow

ROWS = 2000
"""The most rows of one document: a table may be larger than memory."""


def read_csv(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a document per 2,000 rows, read as a stream. Raises UnreadableFile."""
    csv.field_size_limit(max_bytes)  # for the whole process, which reads no other tables; the default is 128 KB
    with open_text(path) as stream:
        header = stream.readline(max_bytes)
        stream.seek(0)
        separator = max(",;\t|", key=header.count)
        lines = (line.replace("\0", "") for line in limited_lines(stream, max_bytes))
        rows = _rows(lines, separator)
        part = 0
        try:
            while blocks := tuple(islice(rows, ROWS)):
                part += 1
                yield table(path, part, blocks)
        except csv.Error as error:
            raise UnreadableFile(f"broken table ({error})") from error


def table(path: Path, part: int, rows: tuple[Block, ...]) -> Document:
    """Return the document for part number `part`, from 1, of a file of rows."""
    return Document("" if part == 1 else f"part {part}", "table", path.stem, rows, date_in(path.stem))


def row_text(cells: Iterable[tuple[str, str]]) -> str:
    """Return a row as `column: value; …` without empty cells; a cell without a column name has only its value."""
    filled = ((" ".join(name.split()), " ".join(cell.split())) for name, cell in cells if cell.strip())
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in filled)


def named(columns: Sequence[str], cells: Sequence[str]) -> tuple[str, ...]:
    """Return the column name of each cell; "" for cells beyond the named columns."""
    return (*columns, *[""] * (len(cells) - len(columns)))


def _rows(lines: Iterable[str], separator: str) -> Iterator[Block]:
    reader = csv.reader(lines, delimiter=separator)
    columns: tuple[str, ...] | None = None
    start = 1
    for row in reader:
        line, start = start, reader.line_num + 1
        if columns is None:
            # A table with a single row has no column names.
            columns = tuple(row) if any(cell.strip() for cell in row) else None
        elif text := row_text(zip(named(columns, row), row, strict=False)):
            yield TableRow(text, line, None, columns, tuple(row))
    if columns is not None and reader.line_num <= 1:
        yield Block(row_text(("", cell) for cell in columns), 1)
