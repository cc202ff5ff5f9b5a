"""Shows the progress of building an index, or of computing KV states: a bar on a terminal, lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import click

from cloud_server.retrieval.index import Progress

LINE_S = 10.0
"""Seconds between two lines of progress if stderr is not a terminal but, for instance, a log or a pipe."""

_STAGES = {
    "embedding": "Reading and embedding",
    "importing": "Reading and checking",
    "clustering": "Training the clusters",
    "writing": "Writing the index",
    "states": "Computing attention states",
}


def _label(so_far: Progress) -> str:
    return f"{_STAGES[so_far.stage]}, {so_far.passages:,} passages"


def lines(clock: Callable[[], float], write: Callable[[str], None]) -> Callable[[Progress], None]:
    """Return a function that writes the progress as a line: at its first call, then at most every LINE_S seconds."""
    due = clock()

    def report(so_far: Progress) -> None:
        nonlocal due
        if clock() >= due:
            write(f"{_label(so_far)}: {so_far.done / max(so_far.total, 1):.0%}")
            due = clock() + LINE_S

    return report


@contextmanager
def progress() -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows the progress on stderr: as a bar on a terminal, else as lines."""
    if not sys.stderr.isatty():
        yield lines(time.monotonic, partial(click.echo, err=True))
        return
    from rich import progress as parts
    from rich.console import Console

    columns = (parts.TextColumn("{task.description}", markup=False), parts.BarColumn(None), parts.TaskProgressColumn())
    console = Console(stderr=True)
    with parts.Progress(*columns, parts.TimeRemainingColumn(compact=True), console=console, transient=True) as bar:
        task = bar.add_task("Reading", total=None)

        def report(so_far: Progress) -> None:
            bar.update(task, completed=so_far.done, total=so_far.total, description=_label(so_far))

        yield report
