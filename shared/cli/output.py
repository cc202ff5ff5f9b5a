"""All terminal output: JSON, tables, progress.

Imports Rich only to draw; Rich honours NO_COLOR and TERM=dumb.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, TextIO

import click
import msgspec

from shared.printable import safe, safe_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn

NARROW = 60
"""The terminal width below which a wide table is printed as blocks, and a progress bar as text alone."""

MOST_FOLDED = 1_000
"""The most rows of a wide table whose cells are folded; the terminal breaks the lines of a longer table."""


def age(moment: str) -> str:
    """Return how long ago an ISO 8601 time was, in words. A time in the future counts as now."""
    seconds = max(0.0, (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds())
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if count := int(seconds // length):
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def print_json(value: object) -> None:
    """Print one JSON object on stdout, including dataclasses, dates and paths; indented on a terminal."""
    plain = msgspec.to_builtins(value, enc_hook=os.fspath)
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(plain, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:  # the terminal is not UTF-8, or a file name is not
        text = json.dumps(plain, indent=indent)
    click.echo(text)


def console(stream: TextIO | None = None) -> "Console":
    """Return a console of the library Rich that writes to the given stream or to stdout. It interprets no markup, so
    that brackets in foreign text stay unchanged.

    Lines are not folded if the output is not a terminal, unless COLUMNS is set.
    """
    from rich.console import Console

    stream = stream or sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 10_000
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def print_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under titles.

    Cells are folded if the table is too wide; on a narrow terminal each row becomes a block.

    Rich takes 0.2 ms a row, and is not used for tables without folding.
    """
    from rich.cells import cell_len
    from rich.table import Table

    out = console()
    cells = [[safe_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) + 2 for column in zip(titles, *cells, strict=True)]
    if sum(widths) > out.width < NARROW:
        print_blocks([list(zip(titles, row, strict=True)) for row in cells])
        return
    if sum(widths) - 2 <= out.width or len(cells) > MOST_FOLDED:
        from rich.text import Text

        out.print(Text(_padded(titles, widths), style="bold"), soft_wrap=True)
        click.echo("\n".join(_padded(row, widths) for row in cells))
        return
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in cells:
        table.add_row(*row)
    out.print(table)


def _padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return the cells as a line, each as wide as its column."""
    from rich.cells import cell_len

    return "".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)).rstrip()


def print_blocks(blocks: Sequence[Sequence[tuple[str, object]]]) -> None:
    """Print blocks of titled values, separated by empty lines; values keep their line breaks."""
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
    """A callback that takes the bytes done, the total bytes once known, and a new label if it changes."""

    def __call__(self, done: int, total: int | None = None, label: str | None = None, /) -> None: ...


@contextmanager
def progress(label: str, *, enabled: bool = True) -> Iterator[Report]:
    """Show a temporary progress bar on stderr, with rate and remaining time; yield the callback that updates it.

    Show nothing if not `enabled`, or if stderr is no terminal.
    """
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
