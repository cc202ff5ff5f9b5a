"""Everything that reaches the terminal goes through here: JSON, tables, progress, and foreign text made harmless.

Rich is imported only where it draws. NO_COLOR and TERM=dumb are honoured by it.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, TextIO

import click
import msgspec

from shared.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn

    from device_app.knowledge.ingest import Progress

UNSUPPORTED = "nothing in the sources says this"
"""Under an answer that no sentence of its sources comes near."""

NARROW = 60
"""Columns under which a table that does not fit is written as one block per row, and a progress bar without its bar."""

# Marks that reorder text on the screen: with them a file's name can pass for another.
_DIRECTION_MARKS = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))


def safe(text: str) -> str:
    """Foreign text for the terminal: no control characters, so no escapes, and nothing that reorders it."""
    return printable(text.replace("\r\n", "\n")).translate(_DIRECTION_MARKS)


def safe_line(text: str) -> str:
    """The same on one line."""
    return " ".join(safe(text).split())


def age(moment: str) -> str:
    """How long ago an ISO 8601 time was, in words. A clock that was set back makes nothing older than now."""
    seconds = max(0.0, (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds())
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if count := int(seconds // length):
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def print_json(value: object) -> None:
    """One JSON object on stdout; dataclasses, dates and paths included. Indented where a person reads it."""
    plain = msgspec.to_builtins(value, enc_hook=os.fspath)
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(plain, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:  # a terminal that is not UTF-8, or a file name that is not
        text = json.dumps(plain, indent=indent)
    click.echo(text)


def console(stream: TextIO | None = None) -> "Console":
    """A console on stdout, or on the stream. Markup is off: brackets in foreign text are brackets.

    Where nobody looks (a pipe, a file) lines are not folded, unless COLUMNS asks for it.
    """
    from rich.console import Console

    stream = stream or sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 10_000
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def print_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under titles. Too wide for the terminal, cells are folded; on a narrow one each row becomes a block."""
    from rich.cells import cell_len
    from rich.table import Table

    out = console()
    cells = [[safe_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) + 2 for column in zip(titles, *cells, strict=True)]
    if sum(widths) > out.width < NARROW:
        print_blocks([list(zip(titles, row, strict=True)) for row in cells])
        return
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in cells:
        table.add_row(*row)
    out.print(table)


def print_blocks(blocks: Sequence[Sequence[tuple[str, object]]]) -> None:
    """Blocks of titled values with an empty line between them; values keep their line breaks."""
    from rich.table import Table

    out = console()
    for number, block in enumerate(blocks):
        if number:
            out.print()
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for title, value in block:
            grid.add_row(title, safe(str(value)))
        out.print(grid)


class Report(Protocol):
    """Called with the bytes that are done, the bytes in all once they are known, and a new label where it changes."""

    def __call__(self, done: int, total: int | None = None, label: str | None = None, /) -> None: ...


@contextmanager
def progress(label: str, *, enabled: bool = True) -> Iterator[Report]:
    """A bar of bytes on stderr with rate and time left, gone when done; silent where stderr is no terminal."""
    if not enabled or not sys.stderr.isatty():
        yield lambda _done, _total=None, _label=None: None
        return
    from rich import progress as parts

    screen = console(sys.stderr)
    columns: list[ProgressColumn] = [parts.TextColumn("{task.description}", markup=False)]
    if screen.width < NARROW:
        columns.append(parts.TaskProgressColumn())
    else:
        columns += (parts.BarColumn(None), parts.DownloadColumn(), parts.TransferSpeedColumn())
    with parts.Progress(*columns, parts.TimeRemainingColumn(compact=True), console=screen, transient=True) as bar:
        task = bar.add_task(safe_line(label), total=None)

        def report(done: int, total: int | None = None, label: str | None = None, /) -> None:
            bar.update(task, completed=done, total=total, description=None if label is None else safe_line(label))

        yield report


@contextmanager
def ingestion_progress(*, enabled: bool = True) -> "Iterator[Callable[[Progress], None]]":
    """The bar of a run that reads files, with the documents read so far."""
    with progress("Reading", enabled=enabled) as report:
        yield lambda so_far: report(so_far.done_bytes, so_far.total_bytes, f"Reading, {so_far.documents:,} documents")
