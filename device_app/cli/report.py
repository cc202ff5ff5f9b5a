"""`jackdaw doctor --report`: shows facts about a device for Jackdaw's developers, and can write them to a file."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from device_app.cli.opening import opened
from device_app.commands.knowledge import absolute
from device_app.commands.report import gathered
from shared.cli.output import print_json
from shared.errors import ExitCode
from shared.printable import safe_line
from storage.private import write_private

NAME = "jackdaw-report.json"


def say_report(levels: Iterable[tuple[str, str]], file: str | None, as_json: bool) -> int:
    """Measure this device and show the report; write it to the file or, if the person agrees, to a default file.

    Raises SettingError, NotWritable.
    """
    click.echo("Measuring this device; this takes some seconds.", err=True)
    with opened() as device:
        report = gathered(device, levels)
    if as_json:
        print_json(report)
    else:
        click.echo(json.dumps(report, indent=1))
    path = absolute(file) if file else Path.home() / NAME
    is_asked = file is None and not as_json and sys.stdin.isatty()
    if file or (is_asked and click.confirm(f"Write this to {safe_line(str(path))}?", err=True)):
        write_private(path, json.dumps(report, indent=1) + "\n")
        click.echo(f"Written: {safe_line(str(path))}", err=True)
    return ExitCode.DONE
