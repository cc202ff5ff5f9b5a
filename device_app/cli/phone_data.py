"""`jackdaw phone sources` and `jackdaw phone notifications`: read messages by consent, and notifications."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from device_app.cli.models import ensure_models, yes_option
from device_app.cli.opening import opened
from device_app.commands import phone_sources
from shared.cli.frame import Command, Group
from shared.cli.output import age, print_blocks, print_json, progress
from shared.errors import ExitCode, PhoneSilent, UsageError
from shared.printable import counted, safe, safe_line

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.knowledge.phone.reading import PhoneReport
    from device_app.knowledge.phone.sources import Source

_WAITS = "Another process is reading; waiting for it to finish."

_CONSENT = """Jackdaw would read {what}.
It keeps them in its database on this phone, and reads what is new while the phone is idle.
Questions about them stay on this phone unless you send one on purpose.
To stop, and delete what was read: jackdaw phone sources stop {name}
"""

sources = Group(
    "sources",
    default="list",
    help="Read this phone's messages, contacts and calls, each by your consent.",
    examples=(
        ("List what may be read", "jackdaw phone sources"),
        ("Let Jackdaw read your messages", "jackdaw phone sources allow messages"),
        ("Read what is new now", "jackdaw phone sources read"),
        ("Withdraw the consent, and delete what was read", "jackdaw phone sources stop messages"),
    ),
)


@sources.command("list", examples=(("List what may be read", "jackdaw phone sources list"),))
def list_sources(as_json: bool) -> None:
    """List the sources, whether each may be read, and what was read from it."""
    with opened() as device:
        states = phone_sources.states(device)
    if as_json:
        print_json({"sources": states})
        return
    blocks: list[list[tuple[str, object]]] = []
    for state in states:
        if state.allowed:
            read_at = f"last read {age(state.read_at)}" if state.read_at else "not yet read to the end"
            said = f"{counted(state.documents, 'document')}, {read_at}"
        elif state.documents:  # withdrawing the consent was interrupted
            left = f"{counted(state.documents, 'document')} {'is' if state.documents == 1 else 'are'} still stored"
            said = f"may not be read, but {left}. To delete them: jackdaw phone sources stop {state.name}"
        else:
            said = f"may not be read. To allow it: jackdaw phone sources allow {state.name}"
        facts: list[tuple[str, object]] = [(state.name, state.what), ("", said)]
        blocks.append([*facts, ("", state.failure)] if state.failure else facts)
    print_blocks(blocks)


@sources.command("allow", examples=(("Let Jackdaw read your messages", "jackdaw phone sources allow messages"),))
@click.argument("name")
@yes_option
def allow(name: str, yes: bool, as_json: bool) -> int | None:
    """Let Jackdaw read the source NAME: messages, contacts or calls. The command explains what is read, and asks you.

    Reading begins at once. Stop with Ctrl-C at any time; the rest is read while the phone is idle.
    """
    source = phone_sources.named(name)
    click.echo(_CONSENT.format(what=source.what, name=name), err=True)
    if not yes:
        if not sys.stdin.isatty():
            again = f"jackdaw phone sources allow {name} --yes"
            raise UsageError(f"This needs your consent. Run it in a terminal, or: {again}")
        if not click.confirm("Do you allow that?", err=True):
            return ExitCode.FAILED
    with opened() as device:
        ensure_models(device, "embedder", yes=yes)
        phone_sources.allow(device, name)
        report = _read(device, source, as_json)
    _say(report, name, as_json)
    return None


@sources.command("read", examples=(("Read what is new now", "jackdaw phone sources read"),))
@yes_option
def read(yes: bool, as_json: bool) -> int | None:
    """Read the new entries of every source that may be read. Exit code 3: no source may be read."""
    failure: PhoneSilent | None = None
    reports = {}
    with opened() as device:
        names = [state.name for state in phone_sources.states(device) if state.allowed]
        if names:
            ensure_models(device, "embedder", yes=yes)
        for name in names:
            try:
                reports[name] = _read(device, phone_sources.named(name), as_json)
            except PhoneSilent as error:  # the others may answer
                failure = error
                click.echo(safe_line(str(error)), err=True)
    if as_json:
        print_json({"read": reports, "failure": str(failure or "")})
    elif not names:
        click.echo("No source may be read yet. To see what there is: jackdaw phone sources")
    else:
        for name, report in reports.items():
            _say(report, name, as_json)
    return ExitCode.NOTHING if not names else ExitCode.FAILED if failure else None


@sources.command("stop", examples=(("Delete what was read of your messages", "jackdaw phone sources stop messages"),))
@click.argument("name")
def stop(name: str, as_json: bool) -> int | None:
    """Withdraw the consent to read NAME, and delete everything that was read from it.

    The phone's own data is not touched. Conversations keep their quotations: to delete them, jackdaw history delete.
    Exit code 3: nothing was read from NAME.
    """
    from device_app.ahead.reading import alone

    source = phone_sources.named(name)
    with opened() as device:
        was_allowed = phone_sources.withdraw(device, name)
        with alone(device.paths.add_lock, lambda: click.echo(_WAITS, err=True)):
            count = phone_sources.forget(device, source)
    if as_json:
        print_json({"name": name, "was_allowed": was_allowed, "removed": count})
    elif was_allowed or count:
        click.echo(f"The {name} are no longer read. Deleted: {counted(count, 'document')}.")
    else:
        click.echo(f"The {name} may not be read, and none were kept.")
    return None if was_allowed or count else ExitCode.NOTHING


def _read(device: Device, source: Source, as_json: bool) -> PhoneReport:
    from device_app.ahead.reading import alone

    with (
        alone(device.paths.add_lock, lambda: click.echo(_WAITS, err=True)),
        progress(f"Reading {source.name}", enabled=not as_json) as bar,
    ):
        doing = f"Reading {source.name}"
        return phone_sources.read(device, source.name, lambda day: bar(0, None, f"{doing}, back to {day}"))


def _say(report: PhoneReport, name: str, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    codes = f", {counted(report.codes, 'message')} with a one-time code left out" if report.codes else ""
    click.echo(f"{name}: {counted(report.documents, 'document')} read ({counted(report.passages, 'passage')}){codes}.")


@click.command(
    "notifications",
    cls=Command,
    examples=(
        ("Show what you missed", "jackdaw phone notifications"),
        ("Look for a word in the notifications", 'jackdaw phone notifications "parcel"'),
    ),
)
@click.argument("words", nargs=-1)
def notifications(words: tuple[str, ...], as_json: bool) -> int | None:
    """Show the notifications on this phone, or those with WORDS, the newest first; they are not stored.

    One-time codes are left out. Exit code 3: there are no notifications.
    """
    from device_app.commands.missed import missed

    shown, codes = missed(" ".join(words))
    if as_json:
        print_json({"notifications": shown, "codes_left_out": codes})
    elif shown:
        print_blocks(
            [
                [("App", each.app), ("When", each.when), ("Title", each.title), ("Text", safe(each.text))]
                for each in shown
            ]
        )
    else:
        click.echo("No notification has these words." if words else "There are no notifications.")
    return None if shown else ExitCode.NOTHING
