"""`jackdaw phone`: sets up sharing from other apps, a shortcut and background work on a phone under Termux."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import click

from device_app.cli.daemon import say_told
from device_app.cli.phone_data import notifications, sources
from device_app.commands import sharing
from device_app.commands.knowledge import absolute
from device_app.commands.phone import facts
from device_app.system import phone_files, services
from device_app.system.awake import clear_up
from device_app.system.phone import is_phone
from device_app.system.services import Unit
from shared.cli.frame import Group
from shared.cli.output import print_json, print_table
from shared.errors import ExitCode, UsageError
from shared.printable import safe, safe_line
from storage.paths import Paths
from storage.private import write_private

command = Group(
    "phone",
    default="status",
    help="Set up sharing from other apps, a shortcut and background work on a phone under Termux.",
    examples=(
        ("Let other apps share to Jackdaw, and work ahead while charging", "jackdaw phone setup"),
        ("Show what is set up, and which commands of Termux answer", "jackdaw phone status"),
        ("Remove everything that was set up", "jackdaw phone remove"),
    ),
)

command.add_command(sources)
command.add_command(notifications)


@command.command(
    "setup",
    examples=(
        ("Show each file and command, and ask", "jackdaw phone setup"),
        ("Show the files and commands without writing", "jackdaw phone setup --json"),
    ),
)
@click.option("-y", "--yes", is_flag=True, help="Write without asking; files of your own stay unless --replace.")
@click.option("--replace", is_flag=True, help="Move files of your own aside, and put Jackdaw's in their place.")
def setup(yes: bool, replace: bool, as_json: bool) -> int | None:
    """Write the scripts that let other apps share links and files to Jackdaw, and a shortcut that opens it; then
    install the daemon (`jackdaw daemon install`).

    Each file is shown first. A file of your own is replaced only if you agree, and kept beside it; `jackdaw phone
    remove` puts it back. With --json nothing is written unless -y is given as well.
    """
    paths, environment = _phone()
    record = phone_files.read_record(paths.phone_files)
    hooks = phone_files.units(services.program(), environment)
    service = services.service("termux", services.program(), environment, os.getuid())
    standings = {unit.path: phone_files.standing(unit, record) for unit in hooks}
    if not as_json:
        _show(hooks, service, standings)
        if not yes and not (sys.stdin.isatty() and click.confirm("Write these files and run the commands?", err=True)):
            raise UsageError("Nothing was written. To write without being asked: jackdaw phone setup -y")
    written, moved, left = list[Path](), dict[Path, Path](), list[Path]()
    for unit in hooks if yes or not as_json else ():
        if standings[unit.path] == "yours" and not (replace or (not yes and _agreed(unit.path))):
            left.append(unit.path)
            continue
        if aside := phone_files.write(unit, paths.phone_files):
            moved[unit.path] = aside
        written.append(unit.path)
    reports = services.install(service) if yes or not as_json else []
    works = services.works(service, reports)
    if as_json:
        plan = {"files": hooks, "standing": list(standings.values()), "service": service.units}
        commands = {"commands": [shlex.join(line) for line in service.start], "told": reports}
        print_json({**plan, **commands, "written": written, "moved": moved, "left": left, "done": bool(yes and works)})
    else:
        _say_written(written, moved, left)
        say_told(reports)
        for fact in facts(paths, environment):
            if fact.remedy:
                click.echo(f"{safe_line(fact.said)}. {safe_line(fact.remedy)}", err=True)
    return None if works or not (yes or not as_json) else ExitCode.FAILED


@command.command("remove", examples=(("Remove the scripts, the shortcut and the daemon", "jackdaw phone remove"),))
def remove(as_json: bool) -> int | None:
    """Remove the files that `setup` wrote, put back those that it moved aside, and stop the daemon.

    Your knowledge stays.
    """
    paths, environment = _phone()
    hooks = phone_files.units(services.program(), environment)
    removed = [unit.path for unit in hooks if phone_files.remove(unit, paths.phone_files)]
    record = phone_files.read_record(paths.phone_files)
    left = [unit.path for unit in hooks if phone_files.standing(unit, record) == "yours" and unit.path not in removed]
    service = services.service("termux", services.program(), environment, os.getuid())
    ended, reports = services.uninstall(service)
    if as_json:
        print_json({"removed": [*removed, *ended], "left": left, "told": reports})
    elif removed or ended:
        print_table(("Removed",), [(path,) for path in (*removed, *ended)])
        say_told(reports)
        for path in left:
            click.echo(f"{safe_line(str(path))} is your own, and stays.")
    else:
        click.echo("Nothing of Jackdaw's is set up on this phone.")
    return None if removed or ended else ExitCode.NOTHING


@command.command("status", examples=(("Show what is set up, and what is missing", "jackdaw phone status"),))
def status(as_json: bool) -> None:
    """Show where Termux was installed from, which of its commands respond, and what is set up. Takes some seconds."""
    paths, environment = _phone()
    clear_up(paths.awake)
    known = facts(paths, environment)
    if as_json:
        print_json({"facts": known})
        return
    for fact in known:
        click.echo(f"{fact.name}: {safe_line(fact.said)}")
        if fact.remedy:
            click.echo(f"    {safe_line(fact.remedy)}")


@command.command(
    "share",
    examples=(
        ("Keep a link", "jackdaw phone share https://example.org/almond-cake"),
        ("Keep a file, and ask about it", 'jackdaw phone share ~/downloads/letter.pdf --ask "What do they want?"'),
    ),
)
@click.argument("path", metavar="URL|PATH")
@click.option("--ask", "question", metavar="QUESTION", help="Ask QUESTION about the link or file at once.")
@click.option("-y", "--yes", is_flag=True, help="Download missing models without asking.")
@click.pass_context
def share(context: click.Context, path: str, question: str | None, yes: bool, as_json: bool) -> int | None:
    """Keep what another app shared: a link as a note with its address, a file as `jackdaw add` reads it.

    Nothing is fetched from the network. On a terminal you may ask about it at once. Exit code 3: the shared file could
    not be read.
    """
    from device_app.cli.knowledge import read_shared

    paths, _ = _phone()
    if sharing.is_address(path):
        kept, _ = sharing.keep_address(paths.shared, sharing.address_of(path), datetime.now().astimezone())
        report = read_shared(kept, yes=yes, as_json=as_json)
    else:
        kept = absolute(path)
        report = read_shared(kept, yes=yes, as_json=as_json)
    reason = next((skipped.reason for skipped in report.skipped), "")
    is_kept = bool(report.documents or report.unchanged)
    if not is_kept:
        reason = reason or f"there is no reader for {kept.suffix or 'files without a suffix'}"
    if as_json and not question:
        print_json({"kept": kept if is_kept else None, "passages": report.passages, "reason": reason})
    elif not as_json:
        click.echo(f"Kept: {safe_line(kept.name)}" if is_kept else f"Not kept: {safe_line(reason)}.", err=not is_kept)
    if not is_kept:
        return ExitCode.NOTHING
    if question is None and not as_json and sys.stdin.isatty():
        question = click.prompt("Ask about it now (Enter only keeps it)", default="", show_default=False, err=True)
    if not question:
        return None
    from device_app.cli.ask import command as ask

    arguments = [f"{sharing.filter_of(kept)} {question}", *(["--json"] if as_json else []), *(["-y"] if yes else [])]
    return ask.main(arguments, prog_name="ask", standalone_mode=False, obj=context.obj)  # type: ignore[no-any-return]


@command.command(
    "pause", examples=(("End a long `jackdaw add`, as its notification's button does", "jackdaw phone pause"),)
)
def pause(as_json: bool) -> None:
    """Pause the reading of files by a `jackdaw add` that is running. The next `jackdaw add` continues it."""
    paths, _ = _phone()
    write_private(paths.add_paused, "")
    if as_json:
        print_json({"paused": True})
    else:
        click.echo("Reading pauses after the current file. To go on: jackdaw add")


def _phone() -> tuple[Paths, Mapping[str, str]]:
    """Return this phone's paths and environment. Raises UsageError on other devices."""
    if not is_phone():
        raise UsageError(
            "This is for a phone with Termux, an app for Android. On this device: `jackdaw daemon install` prepares "
            "answers in the background, and `jackdaw add PATH` reads a file."
        )
    return Paths.locate(os.environ), {**os.environ, "HOME": str(Path.home())}


def _show(hooks: Sequence[Unit], service: services.Service, standings: Mapping[Path, phone_files.Standing]) -> None:
    """Print the files to be written, and the commands to be run."""
    notes = {
        "written": " (already written)",
        "outdated": " (replaces the file of an earlier version)",
        "yours": " (you have a file of your own there)",
    }
    for unit in (*hooks, *service.units):
        note = notes.get(standings.get(unit.path, ""), "")
        click.echo(f"{safe_line(str(unit.path))}{note}\n\n{safe(unit.text)}")
    for line in service.start:
        click.echo(f"$ {safe_line(shlex.join(line))}")


def _agreed(path: Path) -> bool:
    return click.confirm(f"{safe_line(str(path))} is your own. Move it aside and replace it?", err=True)


def _say_written(written: Sequence[Path], moved: Mapping[Path, Path], left: Sequence[Path]) -> None:
    for path in written:
        aside = f"; your own is now {safe_line(str(moved[path]))}" if path in moved else ""
        click.echo(f"{safe_line(str(path))}: written{aside}")
    for path in left:
        remedy = "To replace it: jackdaw phone setup --replace"
        click.echo(f"{safe_line(str(path))} is your own, and was left. {remedy}", err=True)
