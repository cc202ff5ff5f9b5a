"""Reads vectors and texts from columns of parquet files, and of Arrow files as the library `datasets` saves them, in
batches.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from cloud_server.retrieval.imports.vectors import ROWS, single
from cloud_server.retrieval.shards import Vectors
from shared.errors import UsageError
from shared.extras import remedy
from storage.public_passages import PassageText

PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARRO", b"\xff\xff\xff\xff"

"""The first bytes that identify each kind of file."""

Role = Literal["vector", "text", "title", "id"]
ROLES: tuple[Role, ...] = get_args(Role)
Columns = Mapping[Role, str]
"""The column names that the user has given, by role."""

_USUAL: Mapping[Role, tuple[str, ...]] = {
    "vector": ("vector", "vectors", "embedding", "embeddings", "emb"),
    "text": ("text", "contents", "content", "passage", "body"),
    "title": ("title",),
    "id": ("id", "_id", "docid", "pid"),
}


class Table:
    """The rows in parquet or Arrow files, numbered from 0 across the files, all with the same columns.

    Raises UsageError if pyarrow is not installed, or a file cannot be read.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise UsageError(f"Parquet and Arrow files need an extra. {remedy('server', 'parquet')}") from None
        self._arrow: Any = pyarrow
        self.files = files
        names = [self._names(file) for file in files]
        for file, own in zip(files, names, strict=True):
            if own != names[0]:
                raise UsageError(f"The columns of {file} differ from those of {files[0]}. Name one set of files.")
        self.names: tuple[str, ...] = names[0]

    def column(self, role: Role, chosen: Columns) -> str | None:
        """Return the name of the column with the given role: the one that the user named, else the first usual name
        that exists, else None.

        Raises UsageError for a named column that does not exist.
        """
        if role in chosen:
            if chosen[role] not in self.names:
                raise self.lacks(role, f"no column {chosen[role]}")
            return chosen[role]
        return next((name for name in _USUAL[role] if name in self.names), None)

    def lacks(self, role: Role, reason: str) -> UsageError:
        """Return an error that says what the table lacks, lists its columns and says how to name one."""
        names = ", ".join(self.names)
        return UsageError(f"{self.files[0]} has {reason}. Name it with --column {role}=NAME; there are: {names}")

    @cached_property
    def count(self) -> int:
        """The number of rows in all files. Arrow streams are read through to count them."""
        return sum(self._rows(file) for file in self.files)

    def batches(self, columns: Sequence[str], start: int) -> Iterator[tuple[int, Any]]:
        """Yield record batches of the given columns from row `start` on, each with the number of its first row."""
        offset = 0
        for file in self.files:
            end = offset
            for row, batch in self._batches(file, columns, start - offset):
                left_out = max(0, start - offset - row)
                end = offset + row + batch.num_rows
                if left_out < batch.num_rows:
                    yield offset + row + left_out, batch.slice(left_out)
            offset = end if end > offset else offset + self._rows(file)

    def _names(self, file: Path) -> tuple[str, ...]:
        with self._reading(file), self._opened(file) as opened:
            names = opened.schema_arrow.names if _is_parquet(file) else opened.schema.names
            return tuple(names)

    def _rows(self, file: Path) -> int:
        with self._reading(file), self._opened(file) as opened:
            if _is_parquet(file):
                return int(opened.metadata.num_rows)
            return sum(batch.num_rows for batch in self._arrow_batches(opened))

    def _batches(self, file: Path, columns: Sequence[str], skip: int) -> Iterator[tuple[int, Any]]:
        """Yield a file's batches, each with the number of its first row; groups before row `skip` are not read."""
        with self._reading(file), self._opened(file) as opened:
            row = 0
            if not _is_parquet(file):
                for batch in self._arrow_batches(opened):
                    for part in range(0, batch.num_rows, ROWS):
                        yield row + part, batch.select(columns).slice(part, ROWS)
                    row += batch.num_rows
                return
            for group in range(opened.num_row_groups):
                rows = opened.metadata.row_group(group).num_rows
                if row + rows > skip:
                    begin = row
                    for batch in opened.iter_batches(ROWS, row_groups=[group], columns=columns):
                        yield begin, batch
                        begin += batch.num_rows
                row += rows

    @contextmanager
    def _opened(self, file: Path) -> Iterator[Any]:
        if _is_parquet(file):
            with self._arrow.parquet.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as opened:
                yield opened
            return
        is_stream = _head(file) == ARROW_STREAM
        with (
            self._arrow.OSFile(str(file)) as stream,
            (self._arrow.ipc.open_stream if is_stream else self._arrow.ipc.open_file)(stream) as opened,
        ):
            yield opened

    def _arrow_batches(self, opened: Any) -> Iterator[Any]:
        if hasattr(opened, "num_record_batches"):
            return (opened.get_batch(number) for number in range(opened.num_record_batches))
        return iter(opened)

    @contextmanager
    def _reading(self, file: Path) -> Iterator[None]:
        try:
            yield
        except (self._arrow.ArrowException, OSError, EOFError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise UsageError(f"{file} cannot be read ({reason}). Write it again.") from error


class TableVectors:
    """Vectors in a column of lists of floats. Implements `VectorSource`."""

    def __init__(self, table: Table, chosen: Columns) -> None:
        """Read the first row. Raises UsageError if there is no column of vectors, or no row."""
        column = table.column("vector", chosen)
        if column is None:
            raise table.lacks("vector", "no column with a usual name for vectors")
        self._table, self._column = table, column
        self.files, self.count = table.files, table.count
        first = next(self._matrices(0), None)
        self.dimensions = 0 if first is None else first.shape[1]
        self.form = f"table {column}"

    def blocks(self, start: int) -> Iterator[Vectors]:
        """Yield the vectors from row `start` on. Raises UsageError for a row that has no vector, or one of another
        length.
        """
        return self._matrices(start)

    def _matrices(self, start: int) -> Iterator[Vectors]:
        width = 0
        for row, batch in self._table.batches([self._column], start):
            matrix = self._matrix(batch.column(0), row)
            width = width or matrix.shape[1]
            if matrix.shape[1] != width:
                raise self._refused(f"row {row:,} has {matrix.shape[1]:,} numbers, and those before it {width:,}")
            yield matrix

    def _matrix(self, column: Any, row: int) -> Vectors:
        arrow = self._table._arrow
        from pyarrow import compute

        if isinstance(column.type, arrow.ExtensionType):
            column = column.storage
        kinds = arrow.types
        if not (
            kinds.is_list(column.type) or kinds.is_large_list(column.type) or kinds.is_fixed_size_list(column.type)
        ):
            raise self._refused(f"it is of {column.type}, not of lists of floats")
        if not kinds.is_floating(column.type.value_type):
            raise self._refused(f"its lists are of {column.type.value_type}, not of floats")
        if column.null_count:
            raise self._refused(f"row {row + _first(column.is_null()):,} has no vector")
        lengths = compute.list_value_length(column).to_numpy(zero_copy_only=False)
        if (lengths != lengths[0]).any() or not lengths[0]:
            at = int(np.argmax((lengths != lengths[0]) | (lengths == 0)))
            raise self._refused(f"row {row + at:,} has {lengths[at]:,} numbers, and row {row:,} has {lengths[0]:,}")
        values = column.flatten()
        if values.null_count:
            raise self._refused(f"row {row + _first(values.is_null()) // int(lengths[0]):,} lacks a number")
        return single(values.to_numpy(zero_copy_only=False)).reshape(len(column), -1)

    def _refused(self, reason: str) -> UsageError:
        counted = ", counted from 0" if reason.startswith("row ") else ""
        return UsageError(f"Column {self._column} of {self.files[0]} cannot be imported: {reason}{counted}.")


class TableTexts:
    """Texts in a column, with titles and ids if there are columns for them. Implements `TextSource`."""

    def __init__(self, table: Table, chosen: Columns) -> None:
        """Select the columns. Raises UsageError if there is no column of texts."""
        text = table.column("text", chosen)
        if text is None:
            raise table.lacks("text", "no column with a usual name for texts")
        self._table = table
        self.files = table.files
        others: tuple[Role, ...] = ("title", "id")
        self._columns = {"text": text} | {role: name for role in others if (name := table.column(role, chosen))}
        self.form = f"table {' '.join(f'{role}={name}' for role, name in sorted(self._columns.items()))}"

    @property
    def count(self) -> int:
        """The number of texts."""
        return self._table.count

    def documents(self, start: int) -> Iterator[PassageText]:
        """Yield the documents from row `start` on. Raises UsageError for a column that does not hold texts."""
        name, stem = self.files[0].name, self.files[0].stem
        for first, batch in self._table.batches(list(self._columns.values()), start):
            parts = {role: self._values(batch, role, column) for role, column in self._columns.items()}
            rows = range(batch.num_rows)
            titles = parts.get("title") or ["" for _ in rows]
            ids = parts.get("id") or [str(first + row) for row in rows]
            for row in rows:
                yield PassageText(titles[row] or stem, f"{name}#{ids[row]}", parts["text"][row])

    def _values(self, batch: Any, role: str, column: str) -> list[str]:
        values = batch.column(batch.schema.get_field_index(column)).to_pylist()
        if role != "id" and not all(value is None or isinstance(value, str) for value in values):
            raise UsageError(
                f"Column {column} of {self.files[0]} does not hold texts. Name another: --column {role}=NAME"
            )
        return ["" if value is None else str(value) for value in values]


def _first(mask: Any) -> int:
    return int(np.argmax(mask.to_numpy(zero_copy_only=False)))


def _is_parquet(file: Path) -> bool:
    return _head(file) == PARQUET


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(4)
