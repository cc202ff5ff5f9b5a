"""The command `jackdaw-server index states`: computes KV states of passages ahead, so that answers begin sooner."""

import os

import click
from filelock import Timeout

from cloud_server import build
from cloud_server.cli.index_progress import progress
from cloud_server.cli.models import ensure
from cloud_server.pipelines.states_ahead import StatesReport
from cloud_server.settings import load
from shared.cli.frame import Command
from shared.cli.output import print_json
from shared.errors import StoreLocked
from shared.printable import counted
from storage.blobs import Blobs
from storage.paths import Paths
from storage.private import private_lock


@click.command(
    "states",
    cls=Command,
    examples=(
        ("Fill at most 1,000 MB with states", "jackdaw-server index states"),
        ("Limit the disk space", "jackdaw-server index states --limit-mb 5000"),
        ("Delete all states", "jackdaw-server index states --clear"),
    ),
)
@click.option(
    "--limit-mb",
    type=click.FloatRange(min=1, max=10_000_000),
    default=1_000.0,
    show_default=True,
    help="Most megabytes on disk. States beyond this limit are deleted.",
)
@click.option("--clear", is_flag=True, help="Delete all states, and compute none.")
def states(limit_mb: float, clear: bool, as_json: bool) -> None:
    """Compute KV states of the index's passages ahead, beginning with the passages from which most answers were
    written. An answer then begins sooner, because the server reads the states instead of the passages.

    Run it again after the index, the model, its adapter or llama-cpp-python has changed: it replaces damaged states and
    those that do not fit any more. A running server uses new states at once. You can stop at any time: the same command
    continues from there. It loads the model, so it needs as much memory as the server.
    """
    paths = Paths.locate(os.environ)
    try:
        held = private_lock(paths.server_states_lock).acquire(timeout=0)
    except Timeout:
        raise StoreLocked("Another process computes states already. Wait until it is done, or stop it.") from None
    with held:
        if clear:
            _clear(paths, as_json=as_json)
            return
        settings = load(paths, os.environ).settings
        ensure(build.weights(paths), settings.model.name)
        writer = build.states_writer(paths, settings)
        try:
            with progress() as on_progress:
                report = writer.fill(round(limit_mb * 1e6), on_progress)
        except KeyboardInterrupt:
            click.echo(
                "The finished states are complete, and the server uses them. Run the command again to continue.",
                err=True,
            )
            raise
        finally:
            writer.close()
    _say(report, as_json=as_json)


def _clear(paths: Paths, *, as_json: bool) -> None:
    blobs = Blobs(paths.server_states)
    sizes = blobs.sizes()
    for name in sizes:
        blobs.delete(name)
    if as_json:
        print_json({"removed": len(sizes), "bytes": sum(sizes.values())})
    else:
        click.echo(f"{counted(len(sizes), 'state')} deleted, {sum(sizes.values()) / 1e6:,.0f} MB.")


def _say(report: StatesReport, *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    click.echo(
        f"States of {report.passages:,} of {counted(report.of, 'passage')}, {report.bytes / 1e6:,.0f} MB on disk "
        f"({report.computed:,} computed now)."
    )
    if report.damaged:
        click.echo(f"{counted(report.damaged, 'damaged state')} replaced.")
    if report.removed:
        click.echo(
            f"{counted(report.removed, 'state')} removed: of another model, adapter or build, of passages that are "
            "gone, or over the limit."
        )
    if not report.passages and report.of:
        click.echo("No state fits into the limit. Give --limit-mb a larger number.", err=True)
