"""The commands `jackdaw-server index`: build, import, extend and show the index.

This module only prints; `cloud_server.retrieval` does the work.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import click

from cloud_server.build import index as build_index
from cloud_server.build import weights as weights_folder
from cloud_server.cli.index_progress import progress
from cloud_server.cli.index_states import states
from cloud_server.cli.models import ensure
from cloud_server.retrieval.builder import Builder, BuildReport
from cloud_server.retrieval.embedders import embedder_for, in_processes, incomparable, named
from cloud_server.retrieval.imports.importer import Importer, ImportReport
from cloud_server.retrieval.imports.tables import ROLES, Role
from cloud_server.retrieval.imports.vectors import ROWS
from cloud_server.retrieval.index import Index, shortage
from cloud_server.retrieval.shards import PASSAGES
from cloud_server.retrieval.sources import MOST_TEXT
from cloud_server.retrieval.versions import EmbedderSource
from cloud_server.settings import Settings, load
from models.catalog import find
from models.engine import Embedder
from shared.cli.frame import Group
from shared.cli.output import print_json
from shared.errors import UsageError
from shared.printable import counted, safe_line
from storage.blobs import Blobs
from storage.ivf_files import Codec
from storage.paths import Paths

_SOURCES = click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", type=click.Path(path_type=Path))
_THREADS = click.option("--threads", type=click.IntRange(min=1), help="Threads to compute with.  [default: all cores]")
_CODEC = click.option(
    "--codec",
    type=click.Choice(get_args(Codec)),
    help="Format of the stored vectors: f16 takes half the disk and memory of f32; rabitq is f16 with short codes in "
    "memory (60 bytes per vector of 384), so that a question reads few vectors from disk.  [default: f16]",
)
_EMBEDDER = (
    click.option(
        "--embedder",
        metavar="NAME",
        help="A sentence-transformers model that embeds passages and questions: its folder, or its name on the hub if "
        "it was fetched. Extra: embedders.  [default: the devices' own]",
    ),
    click.option("--query-prefix", help="Text to put before each question.  [default: as the model is configured]"),
    click.option("--passage-prefix", help="Text to put before each passage.  [default: as the model is configured]"),
    click.option(
        "--relevance",
        type=click.FloatRange(0, 1),
        help="Least cosine with the question for a passage to become a source.  [default: retrieval.relevance]",
    ),
)


def _embedder_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose an embedder to a command."""
    for option in reversed(_EMBEDDER):
        command = option(command)
    return command


command = Group(
    "index",
    default="info",
    help="Build, extend and show the index of public passages that the server answers from.",
    examples=(
        ("Build the index from JSON Lines", "jackdaw-server index build wikipedia.jsonl"),
        ("Add a folder of texts", "jackdaw-server index add ~/handbooks"),
        ("Show what the index holds", "jackdaw-server index info"),
    ),
)
command.add_command(states)


@command.command(
    "build",
    examples=(
        ("Build the index from JSON Lines", "jackdaw-server index build wikipedia.jsonl"),
        ("Store vectors in full precision", "jackdaw-server index build wikipedia.jsonl --codec f32"),
        ("Read little from disk per question", "jackdaw-server index build wikipedia.jsonl --codec rabitq"),
    ),
)
@_SOURCES
@_THREADS
@_CODEC
@_embedder_options
def build(
    sources: tuple[Path, ...],
    threads: int | None,
    codec: Codec | None,
    embedder: str | None,
    query_prefix: str | None,
    passage_prefix: str | None,
    relevance: float | None,
    as_json: bool,
) -> None:
    """Build the index from SOURCE: JSON Lines (text or contents, title, id), text files, or folders of them.

    A running server answers from the old index until the new one is done. If the new index has another embedder, or was
    built with --relevance, restart the server. You can stop at any time: the same command continues from there.
    """
    model = _chosen(embedder, query_prefix, passage_prefix)
    with _builder(threads, codec, model, relevance) as builder:
        _say(builder.build(sources), as_json)


@command.command(
    "import",
    examples=(
        ("Vectors from numpy, with their texts", "jackdaw-server index import vectors.npy --texts passages.jsonl"),
        ("Vectors and texts from one table", "jackdaw-server index import wikipedia.parquet --column vector=emb"),
    ),
)
@click.argument("vectors", metavar="VECTORS", type=click.Path(path_type=Path))
@click.option(
    "--texts",
    type=click.Path(path_type=Path),
    help="Texts of the vectors, in order: JSON Lines, parquet, or a folder of them.  [default: the table of VECTORS]",
)
@click.option(
    "--column", "columns", multiple=True, metavar="ROLE=NAME", help="Table column of a ROLE: vector, text, title or id."
)
@_THREADS
@_CODEC
@_embedder_options
def import_(
    vectors: Path,
    texts: Path | None,
    columns: tuple[str, ...],
    threads: int | None,
    codec: Codec | None,
    embedder: str | None,
    query_prefix: str | None,
    passage_prefix: str | None,
    relevance: float | None,
    as_json: bool,
) -> None:
    """Build the index from existing VECTORS and their texts.

    VECTORS are npy, parquet, a folder saved by `datasets`, or a FAISS index that holds its vectors in full. Some of the
    texts are embedded again as a check: questions have to be embedded by the model that made the vectors, which is the
    server's embedder or the one named by --embedder. Vectors are scaled to unit length. You can stop at any time: the
    same command continues from there.
    """
    chosen = dict(_column(text) for text in columns)
    model = _chosen(embedder, query_prefix, passage_prefix)
    with _builder(threads, codec, model, relevance, ROWS) as builder:
        _say_imported(Importer(builder).run(vectors, texts, chosen), as_json)


@command.command("add", examples=(("Add a folder of texts", "jackdaw-server index add ~/handbooks"),))
@_SOURCES
@_THREADS
def add(sources: tuple[Path, ...], threads: int | None, as_json: bool) -> None:
    """Add SOURCE to the index. Files that the index holds already are left as they are."""
    model = _index(1)[1].held().facts.model
    with _builder(threads, model=model) as builder:
        _say(builder.add(sources), as_json)


@command.command("info", examples=(("Show what the index holds", "jackdaw-server index info"),))
def info(as_json: bool) -> None:
    """Show the content of the index, and the sources from which it was built."""
    index = _index(1)[1]
    facts = index.held().facts
    states_bytes = Blobs(Paths.locate(os.environ).server_states).sizes().values()
    summary = {
        **index.describe(),
        "states": len(states_bytes),
        "states_bytes": sum(states_bytes),
        "passages": facts.passages,
        "embedder": facts.embedder,
        "model": facts.model,
        "relevance": facts.relevance,
        "dimensions": facts.dimensions,
        "built_at": facts.built_at,
        "skipped": facts.skipped,
        "sources": [{"path": file.path, "bytes": file.size} for file in facts.sources],
    }
    if as_json:
        print_json(summary)
        return
    for name, value in summary.items():
        if name == "model" and facts.model:
            click.echo(f"{'model':<14}{safe_line(facts.model.name)}")
        elif name not in ("sources", "model") and value is not None:
            click.echo(
                f"{name.replace('_', ' '):<14}{f'{value:,}' if isinstance(value, int) else safe_line(str(value))}"
            )
    for file in facts.sources:
        click.echo(f"{'source':<14}{safe_line(file.path)} ({file.size:,} bytes)")
    if cost := incomparable(facts):
        click.echo(cost)


def _index(threads: int, codec: Codec | None = None) -> tuple[Settings, Index]:
    paths = Paths.locate(os.environ)
    settings = load(paths, os.environ).settings
    return settings, build_index(paths, settings, threads, codec)


@contextmanager
def _builder(
    threads: int | None,
    codec: Codec | None = None,
    model: EmbedderSource | None = None,
    relevance: float | None = None,
    rows: int = PASSAGES,
) -> Iterator[Builder[Index]]:
    """Yield the builder of the index, and print the builder's notices. A shard has `rows` passages; an interrupted
    build continues after the last finished shard.
    """
    threads = threads or os.cpu_count() or 1
    settings, index = _index(threads, codec)
    embedder = _embedder(settings, threads, model)

    def notice(text: str) -> None:
        click.echo(safe_line(text), err=True)

    try:
        with progress() as on_progress, in_processes(embedder):
            yield Builder(index, embedder, on_progress, notice, model=model, relevance=relevance)
    except KeyboardInterrupt:
        notice(f"Passages are kept in steps of {rows:,}. Run the same command again to continue after the last step.")
        raise
    for cost in (incomparable(index.held().facts), shortage(index, settings.retrieval.memory_mb)):
        if cost:
            notice(cost)


def _embedder(settings: Settings, threads: int, model: EmbedderSource | None) -> Embedder:
    weights = weights_folder(Paths.locate(os.environ))
    if model is None:
        ensure(weights, settings.embedder.name)
    return embedder_for(model, lambda: weights.path(find(settings.embedder.name)), "passage", threads)


def _chosen(name: str | None, query_prefix: str | None, passage_prefix: str | None) -> EmbedderSource | None:
    if name is None and (query_prefix or passage_prefix):
        raise UsageError("Prefixes need a model: name it with --embedder. The devices' own embedder takes no prefixes.")
    return None if name is None else named(name, query_prefix, passage_prefix)


def _column(text: str) -> tuple[Role, str]:
    role, _, name = text.partition("=")
    for known in ROLES:
        if role == known and name:
            return known, name
    raise UsageError(f"--column {text} names no column. It is ROLE=NAME, and a role is {', '.join(ROLES)}.")


def _say(report: BuildReport, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    parts = [
        f"{counted(report.passages, 'passage')} of {counted(report.files, 'file')}",
        f"{report.total:,} in the index",
    ]
    if report.unchanged:
        parts.append(f"{counted(report.unchanged, 'file')} already in the index")
    click.echo(", ".join(parts) + ".")
    for skipped in report.skipped:
        lines = f", {skipped.lines:,} lines from line {skipped.first_line:,} on" if skipped.lines else ""
        click.echo(f"  skipped {safe_line(skipped.path)}{lines}: {safe_line(skipped.reason)}", err=True)


def _say_imported(report: ImportReport, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    click.echo(f"{counted(report.passages, 'passage')}, {report.total:,} in the index.")
    if report.cosine is not None:
        click.echo(
            f"{counted(report.sampled, 'text')} embedded again: median cosine {report.cosine:.4f} ({report.template})."
        )
    if report.normalised:
        click.echo(f"{counted(report.normalised, 'vector')} brought to unit length.")
    if report.cut:
        click.echo(f"{counted(report.cut, 'text')} cut to {MOST_TEXT:,} characters.")
    for skipped in report.skipped:
        click.echo(f"  skipped {skipped.lines:,} rows of {safe_line(skipped.path)}: {skipped.reason}", err=True)
