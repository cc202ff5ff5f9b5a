"""`jackdaw doctor`: checks everything that answers depend on; each failure says how to fix it.

Exit codes: 0 all is well, 1 something deserves a look, 2 something is broken.
"""

import os
import shlex
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from device_app.cli import drafting
from device_app.cli.companion import remedy, standing
from device_app.cli.opening import made
from device_app.commands.phone import checked
from device_app.companion.link import credentials
from device_app.device import Device
from device_app.settings import Settings, load
from models import catalog
from models.engine import KVType
from models.exact_loading import Setting, explained
from models.threads import threads
from shared.cli.frame import Command
from shared.cli.output import console, print_json
from shared.errors import JackdawError, UsageError
from shared.memory import available
from shared.printable import safe_line
from shared.settings import Layer, Resolved
from shared.telemetry import LEFT_BEHIND, is_off, left_behind
from storage.database import Database
from storage.paths import Paths

if TYPE_CHECKING:
    from device_app.inference.local import LocalSource

MEGABYTE = 1_000_000
LOW_DISK = 500 * MEGABYTE
LOW_MEMORY = 600 * MEGABYTE

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, `said` in words. `mend`, a name that scripts read in `--json`, advises how to fix a
    problem; "" if there is none.
    """

    check: str
    level: Level
    said: str
    mend: str = ""


@click.command(
    cls=Command,
    examples=(
        ("Check everything", "jackdaw doctor"),
        ("Print the findings as JSON for a script", "jackdaw doctor --json"),
        ("Show a report for the makers of Jackdaw, without anything private", "jackdaw doctor --report"),
    ),
)
@click.option(
    "--report", is_flag=True, help="Show versions, hardware, exactness and speed, to send to Jackdaw's makers."
)
@click.option("--to", "file", metavar="FILE", help="Write the report into FILE too, without asking.")
def command(report: bool, file: str | None, as_json: bool) -> int:
    """Check settings, store, models, disk, memory, telemetry and the companion server; on a phone, Termux too.

    With --report, measure this device and show a report for Jackdaw's developers, without any path, name or question.
    The report is written into a file if you agree, and is not sent. Exit code: 0 all is well, 1 something deserves a
    look, 2 something is broken; with --report 0.
    """
    findings = list(examine(Paths.locate(os.environ)))
    if report or file:
        from device_app.cli.report import say_report

        return say_report([(finding.check, finding.level) for finding in findings], file, as_json)
    levels = {finding.level for finding in findings}
    code = 2 if "fail" in levels else 1 if "warn" in levels else 0
    if as_json:
        print_json({"ok": code == 0, "findings": findings})
        return code
    out = console()
    styles = {"ok": "green", "warn": "yellow", "fail": "red"}
    for finding in findings:
        out.print(f"{finding.level:<5}", style=styles[finding.level], end="")
        out.print(f"{finding.check}: {safe_line(finding.said)}")
        if finding.mend:
            out.print(f"     {safe_line(finding.mend)}", style="dim")
    return code


def examine(paths: Paths) -> Iterator[Finding]:
    """Run every check and yield its findings; a failing check does not stop the others."""
    resolved = Resolved(Settings(), {})
    try:
        resolved = load(paths, os.environ)
        yield Finding("settings", "ok", f"{paths.config_file} has no errors")
        for note in resolved.notes:
            yield Finding("settings", "warn", note, "Remove the setting: jackdaw config unset KEY")
    except JackdawError as error:
        remedy = "Correct the settings: jackdaw config edit. Until then the defaults are used."
        yield Finding("settings", "fail", str(error), remedy)
    yield from _attempt("keywords", _keywords)
    yield from _attempt("store", lambda: _store(paths))
    yield from _attempt("disk", lambda: _disk(paths))
    yield from _attempt("memory", _memory)
    yield from _attempt("telemetry", _telemetry)
    yield from _attempt("llama.cpp", _llama_cpp)
    yield from (Finding("phone", *parts) for parts in checked(os.environ))
    with made(paths, resolved.settings) as device:
        yield from _attempt("cache", lambda: _cache(device))
        yield from _attempt("model files", lambda: _weights(device, resolved))
        yield from _attempt("model", lambda: _engine(device))
        yield from _attempt("embedder", lambda: _embedder(device))
        yield from _attempt("server", lambda: _server(device))


def _attempt(name: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except JackdawError as error:
        yield _failed(name, error)


def _failed(name: str, error: JackdawError, remedy: str = "") -> Finding:
    """Return the failure, with the command that its message names as the remedy, or else `remedy`."""
    said, _, command = str(error).partition(" Run: ")
    return Finding(name, "fail", said, f"Run: {command}" if command else remedy)


def _keywords() -> Iterator[Finding]:
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
        except sqlite3.OperationalError:
            remedy = "Install a Python whose SQLite has full-text search (FTS5), as in all current distributions."
            yield Finding("keywords", "fail", f"SQLite {sqlite3.sqlite_version} lacks full-text search (FTS5)", remedy)
            return
    yield Finding(
        "keywords", "ok", f"search by words: SQLite {sqlite3.sqlite_version}, Python {sys.version.split()[0]}"
    )


def _store(paths: Paths) -> Iterator[Finding]:
    if not paths.database.exists():
        yield Finding("store", "warn", "nothing has been read yet", "Begin with: jackdaw add ~/Documents")
        return
    with closing(Database(paths.database)) as database:
        problems = database.problems()
        (passages,) = database.execute("SELECT COUNT(*) FROM passages")[0]
        (partial,) = database.execute("SELECT COUNT(*) FROM files WHERE sha256 IS NULL")[0]
    for problem in problems:
        yield Finding("store", "fail", problem, f"Move {paths.database} away, then run: jackdaw add FOLDER")
    if partial:
        were = "file was" if partial == 1 else "files were"
        yield Finding("store", "warn", f"{partial} {were} only partly read", "Run: jackdaw add")
    if not problems:
        yield Finding("store", "ok", f"{paths.database} is intact, with {passages:,} passages")
    if paths.database.stat().st_mode & 0o077:
        yield Finding("store", "warn", f"other users may read {paths.database}", f"Run: chmod 600 {paths.database}")


def _disk(paths: Paths) -> Iterator[Finding]:
    folder = paths.data
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    said = f"{free / MEGABYTE:,.0f} MB of disk free in {folder}"
    if free < LOW_DISK:
        yield Finding("disk", "warn", said, "Free some space, or set JACKDAW_HOME.")
    else:
        yield Finding("disk", "ok", said)


def _memory() -> Iterator[Finding]:
    free = available()
    if free < LOW_MEMORY:
        remedy = "Close other programs, or lower model.context."
        yield Finding("memory", "warn", f"{free / MEGABYTE:,.0f} MB of memory free", remedy)
    else:
        yield Finding("memory", "ok", f"{free / MEGABYTE:,.0f} MB of memory free, {threads(0)} cores")


def _telemetry() -> Iterator[Finding]:
    folders = left_behind(os.environ)
    if not is_off():
        yield Finding(
            "telemetry",
            "fail",
            "a library may send usage data to its maker",
            "Please report this to the makers of Jackdaw.",
        )
    elif not folders:
        yield Finding("telemetry", "ok", "usage reports are off in every library that has them")
    for folder in folders:
        yield Finding("telemetry", "warn", f"{folder} {LEFT_BEHIND}", f"Run: rm -r {shlex.quote(folder)}")


def _llama_cpp() -> Iterator[Finding]:
    from models.llama_bindings import described, keeps_states

    yield Finding("llama.cpp", "ok", described())
    if not keeps_states():
        said = "it writes attention states in a form that Jackdaw does not know, so none are saved; answers are slower"
        yield Finding("llama.cpp", "warn", said, "Update Jackdaw, which is older than this llama.cpp.")


def _weights(device: Device, resolved: Resolved[Settings]) -> Iterator[Finding]:
    names: tuple[tuple[catalog.Kind, str], ...] = (("engine", "model.name"), ("embedder", "embedder.name"))
    for kind, key in names:
        name = str(resolved.value(key))
        try:
            entry = catalog.find(name, kind)
        except UsageError as error:
            origin = resolved.origins[key]
            remedy = f"{origin.place} names this model. Choose another: jackdaw config set {key} NAME"
            if origin.layer is Layer.ENVIRONMENT:
                remedy = f"The environment variable {origin.place} names this model. Correct or unset the variable."
            yield Finding("model files", "fail", str(error), remedy)
            continue
        try:
            device.weights.verify(entry)
            yield Finding("model files", "ok", f"{name}: the files are intact")
        except JackdawError as error:
            yield _failed("model files", error, f"Run: jackdaw models pull {name}")


def _cache(device: Device) -> Iterator[Finding]:
    damaged = device.qkv_tree.damaged()
    before = int(device.counters.all().get("kv_damaged", 0))
    if damaged:
        said = f"{len(damaged)} saved attention states were damaged and have been deleted"
        yield Finding("cache", "warn", said, "The states are computed again when needed. Check the disk for errors.")
    else:
        size = device.qkv_tree.rows.bytes() / MEGABYTE
        said = f"{size:,.0f} MB of what the model has read are saved and intact" if size else "nothing is saved yet"
        yield Finding("cache", "ok", f"{said}; {before} damaged attention states were deleted" if before else said)


def _engine(device: Device) -> Iterator[Finding]:
    source = device.begin_loading().result()
    engine = source.engine
    tokens = engine.tokenize("The quick brown fox jumps over the lazy")
    word = engine.detokenize([int(engine.prefill(0, tokens).argmax())]).decode("utf-8", "replace")
    yield Finding("model", "ok", f"{engine.info.model} works: after “the lazy” it writes “{word.strip()}”")
    yield from _exactness(source, device.settings.model.kv)
    yield from (Finding("drafting", *parts) for parts in drafting.explained(source.drafting, engine.info))
    if refused := device.refused:
        yield Finding("adapter", "warn", refused, "To answer without an adapter: jackdaw config set model.adapter off")
    elif adapter := device.adapter:
        asks = " and predicts questions" if adapter.asks and device.settings.cache.predict_from == "questioner" else ""
        yield Finding("adapter", "ok", f"{adapter.name}, rank {adapter.rank}: the model answers{asks} with it")


def _exactness(source: "LocalSource", kv: KVType) -> Iterator[Finding]:
    if source.finish_checks and source.engine.info.verdict.untested:
        source.finish_checks(source.engine)
    info = source.engine.info
    said = explained(Setting.of(info), kv, info.verdict)
    if info.verdict.inexact:
        step = "Try another build of llama.cpp or another model, whose results may be exact."
        yield Finding("exactness", "warn", said, step)
    else:
        yield Finding("exactness", "ok", said)


def _embedder(device: Device) -> Iterator[Finding]:
    cat, kitten, tax = device.embedder.embed(["a cat", "a kitten", "income tax"])
    if cat @ kitten > cat @ tax:
        said = "it puts “a cat” nearer to “a kitten” than to “income tax”"
        yield Finding("embedder", "ok", f"search by meaning works ({device.embedder.fingerprint}): {said}")
    else:
        remedy = f"Run: jackdaw models pull {device.settings.embedder.name}"
        yield Finding("embedder", "fail", "the embedder puts “a cat” nearer to “income tax” than to “a kitten”", remedy)


def _server(device: Device) -> Iterator[Finding]:
    companion, kept = standing(device), device.paths.link
    if companion is None:
        yield Finding("server", "ok", "no companion server is connected, and none is needed")
        return
    if kept.stat().st_mode & 0o077:
        yield Finding("server", "warn", f"other users may read the server's token in {kept}", f"Run: chmod 600 {kept}")
    trusted = credentials.load(kept) if companion.url else None
    if trusted and trusted.authority and not os.access(trusted.authority, os.R_OK):
        said = f"the certificates in {trusted.authority} cannot be read"
        yield Finding("server", "fail", said, f"Run: jackdaw connect {trusted.url} --authority FILE")
    elif not companion.allowed or companion.connected:
        yield Finding("server", "ok", ". ".join(line.removesuffix(".") for line in companion.summary().splitlines()))
    else:
        where = f"{companion.url}: " if companion.url else ""
        yield Finding("server", "fail" if companion.refused else "warn", where + companion.why, remedy(companion))
