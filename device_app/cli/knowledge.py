"""`jackdaw add` and `jackdaw knowledge`: read files, and list, show and remove what was read."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from device_app.cli.models import ensure_models, yes_option
from device_app.cli.opening import opened
from device_app.cli.people import people
from device_app.commands.knowledge import absolute, read, unlock
from device_app.commands.knowledge import remove as forget
from device_app.commands.sharing import file_of
from device_app.device import Device
from device_app.presentation import local_time, nothing_to_read
from device_app.settings.schema import PDF_PASSWORD
from device_app.system.awake import awake
from device_app.system.phone import storage_advice
from device_app.system.phone_notice import Notice, adding, files_read
from shared.cli.frame import Command, Group
from shared.cli.output import print_blocks, print_json, print_table, progress
from shared.errors import ExitCode, GaveWay, NothingFound, UsageError
from shared.printable import counted, safe_line

if TYPE_CHECKING:
    from device_app.knowledge.ingest import Progress
    from device_app.knowledge.ingest_report import IngestReport
    from storage.paths import Paths

_ATTEMPTS = 3
_KINDS = 8
"""The most kinds of unread files that are listed by name."""
_DENIED = os.strerror(errno.EACCES).lower()
_WAITS = "Another process is reading files; waiting for it to finish."


@click.command(
    "add",
    cls=Command,
    examples=(
        ("Read a folder and everything in it", "jackdaw add ~/notes"),
        ("Read a mailbox and a calendar", "jackdaw add ~/Mail/inbox.mbox ~/calendar.ics"),
        ("Update all folders added before", "jackdaw add"),
    ),
)
@click.argument("paths", nargs=-1, metavar="PATH...")
@yes_option
def add(paths: tuple[str, ...], yes: bool, as_json: bool) -> int | None:
    """Read files and folders: txt, md, org, html, pdf, docx, odt, rtf, epub, pptx, odp, xlsx, ods, csv, eml, mbox,
    Maildir, ics, vcf, and chats as txt, md, json and jsonl.

    Only new and changed files are read; deleted files are forgotten. Folders are remembered: without PATH, remembered
    folders are brought up to date. The password of an encrypted PDF is asked for, or taken from JACKDAW_PDF_PASSWORD,
    and is not stored. Stop with Ctrl-C at any time; the next run continues from there.
    """
    if "" in paths:
        raise UsageError("A path is empty, perhaps from an unset shell variable. Name a file or folder to read.")
    from device_app.knowledge.readers import PdfOptions

    with opened() as device:
        chosen = [absolute(path) for path in paths] or [Path(os.fsdecode(path)) for path in device.knowledge.folders()]
        if not chosen:
            raise UsageError("Name a file or folder to read, for example: jackdaw add ~/Documents")
        gone = [path for path in chosen if not os.path.lexists(path)]
        if paths and (unknown := [path for path in gone if not _known(device, path)]):
            advice = storage_advice(unknown[0]) or f"There is no file or folder named {unknown[0]}. Check the path"
            raise UsageError(f"{advice}.")
        ensure_models(device, "embedder", yes=yes)
        with (
            _alone(device),
            awake(device.paths.awake),
            adding() as notice,
            ingestion_progress(enabled=not as_json) as on_progress,
        ):
            ingestion = device.ingestion()
            ingestion.on_progress = partial(_progressed, device.paths, notice, on_progress)
            device.paths.add_paused.unlink(missing_ok=True)
            ingestion.pdf = PdfOptions(tuple(filter(None, [os.environ.get(PDF_PASSWORD)])))
            try:
                report = read(device, ingestion, chosen)
            except (KeyboardInterrupt, GaveWay):
                click.echo(_said(ingestion.report) + " The remaining files are read next time.", err=True)
                raise
        if not as_json and sys.stdin.isatty():
            try:
                _ask_passwords(device, report)
            except (KeyboardInterrupt, click.Abort):
                click.echo(_said(report), err=True)
                raise
        if as_json:
            print_json(report)
        else:
            click.echo(_said(report))
            _print_unread(report)
            if not paths:
                for folder in gone:
                    again = f"jackdaw knowledge remove {shlex.quote(str(folder))}"
                    absent = f"{safe_line(str(folder))} is not there: its files are forgotten until it is back."
                    click.echo(f"  {absent} If it is gone for good: {safe_line(again)}", err=True)
        nothing = not (report.documents or report.unchanged or report.removed)
        if nothing and not (as_json or report.skipped or report.locked):
            for line in nothing_to_read([str(path) for path in chosen if os.path.isdir(path)]):  # noqa: PTH112
                click.echo(f"  {line}", err=True)
        return ExitCode.NOTHING if nothing else None


def read_shared(path: Path, *, yes: bool, as_json: bool) -> IngestReport:
    """Read a file that another app shared. Raises UsageError if it is no file, or is too large."""
    with opened() as device:
        file_of(path, device.settings.knowledge.max_file_mb * 1_000_000)
        ensure_models(device, "embedder", yes=yes)
        with _alone(device), awake(device.paths.awake), ingestion_progress(enabled=not as_json) as on_progress:
            ingestion = device.ingestion()
            ingestion.on_progress = on_progress
            return read(device, ingestion, [path])


def _progressed(paths: Paths, notice: Notice, on_progress: Callable[[Progress], None], so_far: Progress) -> None:
    """Show the progress, on a phone also as a notification. Raises GaveWay if the notification's button is pressed."""
    on_progress(so_far)
    notice.show(files_read(so_far.files, so_far.total_files))
    if paths.add_paused.exists():
        paths.add_paused.unlink(missing_ok=True)
        raise GaveWay("Reading was paused from the notification. To go on: jackdaw add")


def _ask_passwords(device: Device, report: IngestReport) -> None:
    """Ask for the passwords of encrypted files, and read these. Each password is also tried on the files after it."""
    passwords: tuple[str, ...] = ()
    for path in report.locked.copy():
        if passwords and _unlock(device, report, path, passwords):
            continue
        for _ in range(_ATTEMPTS):
            question = f"Password of {safe_line(str(path))} (Enter skips the file)"
            password = click.prompt(question, default="", hide_input=True, show_default=False, err=True)
            if not password:
                break
            passwords = (password, *passwords)
            if _unlock(device, report, path, passwords):
                break
            click.echo("That password does not open the file.", err=True)


def _unlock(device: Device, report: IngestReport, path: Path, passwords: tuple[str, ...]) -> bool:
    with _alone(device):
        return unlock(device, report, path, passwords)


def _print_unread(report: IngestReport) -> None:
    for skipped in report.skipped:
        click.echo(f"  skipped {safe_line(skipped.path)}: {skipped.reason}", err=True)
    advice = (storage_advice(Path(skipped.path)) for skipped in report.skipped if skipped.reason == _DENIED)
    if said := next(filter(None, advice), ""):
        click.echo(f"  {said}. Its text that was read earlier is kept.", err=True)
    if report.locked and not sys.stdin.isatty():
        click.echo(f"  For a PDF with a password, set {PDF_PASSWORD}, or run this in a terminal.", err=True)
    for partly in report.partly_read:
        click.echo(f"  partly read {safe_line(partly.path)}: without {partly.without}", err=True)
    if report.unread:
        kinds = [f"{kind.count:,} {kind.suffix or 'without a suffix'}" for kind in report.unread]
        more = [f"{len(kinds) - _KINDS:,} more kinds"] if len(kinds) > _KINDS else []
        click.echo(f"  not read, as there is no reader for these kinds: {', '.join(kinds[:_KINDS] + more)}", err=True)


def _alone(device: Device) -> AbstractContextManager[None]:
    """Hold the lock for reading files; while another process holds it, print a notice and wait."""
    from device_app.ahead.reading import alone

    return alone(device.paths.add_lock, lambda: click.echo(_WAITS, err=True))


def _known(device: Device, path: Path) -> bool:
    return bool(device.knowledge.paths_under(os.fsencode(path)))


def _said(report: IngestReport) -> str:
    read = f"{counted(report.documents, 'document')} read ({counted(report.passages, 'passage')})"
    parts = [read, f"{report.unchanged:,} unchanged"]
    if report.removed:
        parts.append(f"{counted(report.removed, 'file')} gone")
    if report.skipped:
        parts.append(f"{len(report.skipped):,} skipped")
    return ", ".join(parts) + "."


command = Group(
    "knowledge",
    default="list",
    help="List, show and remove the files that were read.",
    examples=(
        ("List every file that was read", "jackdaw knowledge list"),
        ("Show the passages of a file", "jackdaw knowledge show ~/notes/2026.md"),
        ("Forget a folder", "jackdaw knowledge remove ~/notes/old"),
    ),
)


@command.command("list", examples=(("List every file that was read", "jackdaw knowledge list"),))
def list_files(as_json: bool) -> int | None:
    """List the files that were read, and the files that could not be read."""
    with opened() as device:
        files, skipped = device.knowledge.summaries(), device.knowledge.skipped()
        folders = [os.fsdecode(path) for path in device.knowledge.folders()]
    if as_json:
        facts = [{"path": path, "reason": reason} for path, reason in skipped]
        print_json({"folders": folders, "files": files, "skipped": facts})
    elif not files and not skipped:
        click.echo("Nothing has been read yet. Begin with: jackdaw add ~/Documents")
    else:
        if files:
            print_table(
                ("File", "Documents", "Passages", "Read"),
                [(file.path, file.documents, file.passages, local_time(file.ingested_at)) for file in files],
            )
        for path, reason in skipped:
            click.echo(f"skipped {safe_line(path)}: {reason}")
    return None if files or skipped else ExitCode.NOTHING


@command.command("show", examples=(("Show the passages of a file", "jackdaw knowledge show ~/notes/2026.md"),))
@click.argument("path")
def show_file(path: str, as_json: bool) -> None:
    """Show the passages that were made from the file PATH."""
    with opened() as device:
        passages = device.knowledge.passages_of(os.fsencode(absolute(path)))
    if not passages:
        raise NothingFound(f"{absolute(path)} has not been read. To list what has been read: jackdaw knowledge list")
    if as_json:
        print_json({"path": passages[0].path, "passages": passages})
    else:
        print_blocks(
            [
                [("Passage", passage.id), ("Of", passage.title), ("Date", passage.date or "-"), ("Text", passage.text)]
                for passage in passages
            ]
        )


@command.command("remove", examples=(("Forget a folder", "jackdaw knowledge remove ~/notes/old"),))
@click.argument("path")
def remove(path: str, as_json: bool) -> None:
    """Forget the file PATH, or the folder PATH and everything in it. The files themselves are not touched.

    For phone:messages, phone:contacts or phone:calls, the permission to read them is withdrawn as well.
    """
    name = os.fsencode(absolute(path))
    with opened() as device, _alone(device):
        removed = forget(device, name)
    if not removed.files and not removed.folders:
        raise NothingFound(
            f"Nothing under {absolute(path)} has been read. To list what has been read: jackdaw knowledge list"
        )
    if as_json:
        print_json({"path": os.fsdecode(name), "removed": removed.files, "watched": removed.watched})
    elif removed.files:
        click.echo(f"Forgotten: {counted(removed.files, 'file')}. The files themselves were not deleted.")
        if removed.watched:
            click.echo(
                f"{safe_line(str(removed.watched))} was added as a folder, so the next `jackdaw "
                "add` reads these files again."
            )
    else:
        click.echo(f"Forgotten: the folder {safe_line(path)}. No file in it had been read.")


command.add_command(people)


@contextmanager
def ingestion_progress(*, enabled: bool = True) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar for reading files, with the number of documents read so far."""
    with progress("Reading", enabled=enabled) as report:
        yield lambda so_far: report(
            so_far.done_bytes, so_far.total_bytes, f"Reading, {counted(so_far.documents, 'document')}"
        )
