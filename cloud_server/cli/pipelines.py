"""The commands `jackdaw-server pipelines`: show the retrieval pipelines and measure them."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from cloud_server import build
from cloud_server.cli.models import ensure
from cloud_server.pipelines.catalog import PIPELINES, PLAIN
from cloud_server.pipelines.measurements import Measurement, MeasurementFile, PipelineRecall
from cloud_server.pipelines.measuring import Workbench, measure
from cloud_server.pipelines.recall import KnownQuestion, read_questions
from cloud_server.settings import Settings, load
from models.catalog import find
from shared.cli.frame import Group
from shared.cli.output import age, print_json, print_table
from shared.errors import UsageError
from shared.printable import counted
from storage.paths import Paths

LEAST_QUESTIONS = 30
"""The fewest questions for a meaningful measurement."""

LINE_S = 10.0
"""Seconds between two lines of progress if stderr is not a terminal."""

command = Group(
    "pipelines",
    default="list",
    help="Measure which retrieval pipelines find more than a plain search, with the server's model.",
    examples=(
        ("Show which pipelines are on", "jackdaw-server pipelines list"),
        ("Measure the pipelines on questions with answers", "jackdaw-server pipelines measure questions.jsonl"),
    ),
)


@command.command("list", examples=(("Show which pipelines are on", "jackdaw-server pipelines list"),))
def listed(as_json: bool) -> None:
    """Show the pipelines and their measurements."""
    paths, settings = _located()
    measured = MeasurementFile(paths.server_pipelines).all()
    if as_json:
        print_json(
            {"model": settings.model.name, "pipelines": list(PIPELINES), "measurements": list(map(_shown, measured))}
        )
        return
    if not measured:
        click.echo(f"Pipelines that devices may name: {', '.join(PIPELINES)}.")
        click.echo("If a device names none, plain is used. Measure others: jackdaw-server pipelines measure QUESTIONS")
    for measurement in measured:
        _print(measurement)


@command.command(
    "measure",
    examples=(
        ("Measure all", "jackdaw-server pipelines measure questions.jsonl"),
        ("Measure recall in the best five passages", "jackdaw-server pipelines measure questions.jsonl --passages 5"),
    ),
)
@click.argument("path", metavar="QUESTIONS", type=click.Path(path_type=Path))
@click.option(
    "--passages",
    type=click.IntRange(1, 16),
    help="Passages to write an answer from.  [default: the number that measured best for the model]",
)
def measured(path: Path, passages: int | None, as_json: bool) -> None:
    """Run every pipeline on QUESTIONS, and turn on, for the server's model, the pipelines that find more than the plain
    one.

    QUESTIONS are JSON Lines: a question with the ids of its relevant passages, as in the index's sources, or with its
    answer: {"question": "…", "ids": ["…"]} or {"question": "…", "answer": "…"}.

    A running server uses the result at once. You can stop at any time; nothing is changed then.
    """
    questions = read_questions(path)
    if len(questions) < LEAST_QUESTIONS:
        raise UsageError(
            f"{path} holds {counted(len(questions), 'question')}; a measurement needs {LEAST_QUESTIONS}. Add some."
        )
    paths, settings = _located()
    build.index(paths, settings, 1).held()
    ensure(build.weights(paths), settings.model.name, settings.embedder.name)
    answering, batch = build.parts(paths, settings)
    if not answering.corpus:
        raise UsageError("The index cannot be searched with this embedder. See why: jackdaw-server doctor")
    most = passages or find(settings.model.name, "engine").passages
    with _progress(len(PIPELINES) * len(questions)) as on_progress:
        recalls = asyncio.run(_run(Workbench(answering, batch), questions, most, on_progress))
    measurement = Measurement(
        answering.conditions,
        settings.model.name,
        datetime.now(UTC).isoformat(timespec="seconds"),
        len(questions),
        most,
        recalls,
    )
    MeasurementFile(paths.server_pipelines).keep(measurement)
    if as_json:
        print_json(_shown(measurement))
        return
    _print(measurement)


async def _run(
    workbench: Workbench, questions: list[KnownQuestion], most: int, on_progress: Callable[[int], None]
) -> tuple[PipelineRecall, ...]:
    async with workbench:
        return await measure(workbench, questions, most, on_progress)


def _located() -> tuple[Paths, Settings]:
    paths = Paths.locate(os.environ)
    return paths, load(paths, os.environ).settings


def _print(measurement: Measurement) -> None:
    how = "anchored" if measurement.conditions.anchored else "as published"
    click.echo(
        f"{measurement.name}, {how}: {counted(measurement.questions, 'question')}, "
        f"{counted(measurement.passages, 'passage')} each, {age(measurement.measured_at)}."
    )
    titles = ("pipeline", "recall", "first", "more than plain", "tokens", "")
    print_table(titles, [_row(measured, measurement) for measured in measurement.pipelines])


def _row(measured: PipelineRecall, measurement: Measurement) -> list[str]:
    above = "" if measured.pipeline == PLAIN else f"{measured.low:+.3f} to {measured.high:+.3f}"
    state = "on" if measured.enabled else ""
    if measured.pipeline == measurement.preferred:
        state = "the default"
    return [
        measured.pipeline,
        f"{measured.recall:.3f}",
        f"{measured.first:.3f}",
        above,
        f"{measured.tokens:.0f}",
        state,
    ]


def _shown(measurement: Measurement) -> dict[str, object]:
    pipelines = [
        {**msgspec.structs.asdict(measured), "enabled": measured.enabled} for measured in measurement.pipelines
    ]
    return {**msgspec.structs.asdict(measurement), "pipelines": pipelines, "preferred": measurement.preferred}


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows the progress on stderr: as a bar on a terminal, else a line every LINE_S seconds."""
    label = "Running the pipelines"
    if not sys.stderr.isatty():
        yield _lines(label, total)
        return
    from rich import progress as parts
    from rich.console import Console

    columns = (parts.TextColumn("{task.description}"), parts.BarColumn(None), parts.MofNCompleteColumn())
    console = Console(stderr=True)
    with parts.Progress(*columns, parts.TimeRemainingColumn(compact=True), console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def _lines(label: str, total: int) -> Callable[[int], None]:
    due = time.monotonic()

    def report(done: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            click.echo(f"{label}: {done:,} of {total:,}", err=True)
            due = time.monotonic() + LINE_S

    return report
