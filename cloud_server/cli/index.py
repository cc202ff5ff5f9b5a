"""`jackdaw-server index`: what the server answers from. Says what `cloud_server.retrieval` does."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import get_args

import click

from cloud_server.build import index as build_index
from cloud_server.cli.weights import ensure
from cloud_server.retrieval.builder import Builder, BuildReport
from cloud_server.retrieval.index import Index, Progress
from cloud_server.retrieval.shards import PASSAGES
from cloud_server.settings import Settings, load
from models.catalog import Weights, find
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from shared.cli.frame import Group
from shared.cli.output import print_json
from shared.printable import counted, safe_line
from storage.ivf_files import Codec
from storage.paths import Paths

LINE_S = 10.0
"""How often the progress is written where stderr is no terminal: in a log, a pipe, over ssh."""

_STAGES = {"embedding": "Reading and embedding", "clustering": "Training the clusters", "writing": "Writing the index"}
_SOURCES = click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", type=click.Path(path_type=Path))
_THREADS = click.option("--threads", type=click.IntRange(min=1), help="Threads it computes with.  [default: all cores]")

command = Group(
    "index",
    default="info",
    help="Make and look at the index of public passages that the server answers from.",
    examples=(
        ("Make it from JSON Lines", "jackdaw-server index build wikipedia.jsonl"),
        ("Add a folder of texts", "jackdaw-server index add ~/handbooks"),
        ("See what it holds", "jackdaw-server index info"),
    ),
)


@command.command(
    "build",
    examples=(
        ("Make it from JSON Lines", "jackdaw-server index build wikipedia.jsonl"),
        ("Keep vectors as they were computed", "jackdaw-server index build wikipedia.jsonl --codec f32"),
    ),
)
@_SOURCES
@_THREADS
@click.option(
    "--codec",
    type=click.Choice(get_args(Codec)),
    help="How vectors are kept: f16 takes half the disk and memory of f32.  [default: f16]",
)
def build(sources: tuple[Path, ...], threads: int | None, codec: Codec | None, as_json: bool) -> None:
    """Make the index from SOURCE: JSON Lines (text or contents, title, id), text files, or folders of them.

    A server that runs goes on answering from the old index and takes the new one when it is done. Stop at any time:
    the same command goes on from there.
    """
    with _builder(threads, codec) as builder:
        _say(builder.build(sources), as_json)


@command.command("add", examples=(("Add a folder of texts", "jackdaw-server index add ~/handbooks"),))
@_SOURCES
@_THREADS
def add(sources: tuple[Path, ...], threads: int | None, as_json: bool) -> None:
    """Add SOURCE to the index. What it holds already stays as it is."""
    with _builder(threads) as builder:
        _say(builder.add(sources), as_json)


@command.command("info", examples=(("See what it holds", "jackdaw-server index info"),))
def info(as_json: bool) -> None:
    """Show what the index holds and what it was made from."""
    index = _index(1)[1]
    facts = index.held().facts
    summary = {
        **index.describe(),
        "passages": facts.passages,
        "embedder": facts.embedder,
        "dimensions": facts.dimensions,
        "built_at": facts.built_at,
        "skipped": facts.skipped,
        "sources": [{"path": file.path, "bytes": file.size} for file in facts.sources],
    }
    if as_json:
        print_json(summary)
        return
    for name, value in summary.items():
        if name != "sources":
            click.echo(
                f"{name.replace('_', ' '):<12}{f'{value:,}' if isinstance(value, int) else safe_line(str(value))}"
            )
    for file in facts.sources:
        click.echo(f"{'source':<12}{safe_line(file.path)} ({file.size:,} bytes)")


def _index(threads: int, codec: Codec | None = None) -> tuple[Settings, Index]:
    paths = Paths.locate(os.environ)
    settings = load(paths, os.environ).settings
    return settings, build_index(paths, settings, threads, codec)


@contextmanager
def _builder(threads: int | None, codec: Codec | None = None) -> Iterator[Builder[Index]]:
    threads = threads or os.cpu_count() or 1
    settings, index = _index(threads, codec)
    embedder = _embedder(settings, threads)

    def notice(text: str) -> None:
        click.echo(safe_line(text), err=True)

    try:
        with _progress() as on_progress:
            yield Builder(index, embedder, on_progress, notice)
    except KeyboardInterrupt:
        notice(f"The same command goes on from the last {PASSAGES:,} passages that were finished.")
        raise


def _embedder(settings: Settings, threads: int) -> Embedder:
    weights = Weights(Paths.locate(os.environ).weights)
    ensure(weights, settings.embedder.name)
    return OnnxEmbedder(weights.path(find(settings.embedder.name)), threads)


def _say(report: BuildReport, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    parts = [
        f"{counted(report.passages, 'passage')} of {counted(report.files, 'file')}",
        f"{report.total:,} in the index",
    ]
    if report.unchanged:
        parts.append(f"{counted(report.unchanged, 'file')} there already")
    click.echo(", ".join(parts) + ".")
    for skipped in report.skipped:
        lines = f", {skipped.lines:,} lines from line {skipped.first_line:,} on" if skipped.lines else ""
        click.echo(f"  skipped {safe_line(skipped.path)}{lines}: {safe_line(skipped.reason)}", err=True)


def _label(so_far: Progress) -> str:
    return f"{_STAGES[so_far.stage]}, {so_far.passages:,} passages"


def _lines(clock: Callable[[], float], write: Callable[[str], None]) -> Callable[[Progress], None]:
    """Writes how far it is in a line, at first and then every LINE_S."""
    due = clock()

    def report(so_far: Progress) -> None:
        nonlocal due
        if clock() >= due:
            write(f"{_label(so_far)}: {so_far.done / max(so_far.total, 1):.0%}")
            due = clock() + LINE_S

    return report


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """A bar on stderr where that is a terminal, lines where it is none."""
    if not sys.stderr.isatty():
        yield _lines(time.monotonic, partial(click.echo, err=True))
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
