"""The command line `jackdaw`: the table of its commands.

This module imports no command's module: `jackdaw --help` reads this table alone.
"""

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from shared.cli.frame import Group, Lazy
from shared.cli.outcome import outcome, started

if TYPE_CHECKING:
    from device_app.commands.opening import MakeDevice

COMMANDS = (
    Lazy("app", "device_app.cli.app", "Open the terminal app; `jackdaw` alone does the same."),
    Lazy("web", "device_app.cli.web", "Open the app in a browser on this device."),
    Lazy("ask", "device_app.cli.ask", "Answer a question from your own files."),
    Lazy("search", "device_app.cli.search", "Search in your files and conversations."),
    Lazy("why", "device_app.cli.why", "Explain the last answer, or how a question would be answered."),
    Lazy("wrong", "device_app.cli.wrong", "Mark an answer as wrong, so that it is not given again."),
    Lazy("add", "device_app.cli.knowledge", "Read files and folders into your knowledge.", "add"),
    Lazy("knowledge", "device_app.cli.knowledge", "List, show and remove what was read."),
    Lazy("me", "device_app.cli.me", "Show or set who you are."),
    Lazy("cache", "device_app.cli.cache", "Show and control saved answers and attention states."),
    Lazy("models", "device_app.cli.models", "List, choose and download models."),
    Lazy("history", "device_app.cli.history", "Look through, export and delete conversations."),
    Lazy("daemon", "device_app.cli.daemon", "Prepare answers in the background while the device is idle."),
    Lazy("connect", "device_app.cli.link", "Connect to a companion server.", "connect"),
    Lazy("disconnect", "device_app.cli.link", "Disconnect from the companion server.", "disconnect"),
    Lazy("phone", "device_app.cli.phone", "Share from other apps and work in the background, on a phone."),
    Lazy("status", "device_app.cli.status", "Show what has been read, the model and the companion server."),
    Lazy("doctor", "device_app.cli.doctor", "Check that everything works, and say how to fix what does not."),
    Lazy("config", "device_app.cli.config", "Show and change settings."),
    Lazy("paths", "device_app.cli.paths", "Show where files are kept."),
    Lazy("completion", "device_app.cli.completion", "Print a script that completes commands in your shell."),
)

jackdaw = Group(
    "jackdaw",
    commands={str(command.name): command for command in COMMANDS},
    help="A personal assistant that answers from your own files with a model on your own device.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing found or nothing to do.",
    examples=(
        ("Open the app", "jackdaw"),
        ("Read a folder", "jackdaw add ~/notes"),
        ("Ask about the files you added", 'jackdaw ask "When is the dentist?"'),
        ("Show the options of a command", "jackdaw ask --help"),
    ),
)
click.version_option(package_name="jackdaw", message="jackdaw %(version)s")(jackdaw)


def main(make: "MakeDevice | None" = None) -> None:
    """Run the console script `jackdaw`."""
    started(partial(run, make=make))


def run(arguments: Sequence[str], make: "MakeDevice | None" = None) -> int:
    """Run one command line and return its exit code. Without a command, open the app if on a terminal.

    `make` creates the device for commands; by default devices use the catalog's models.
    """
    if arguments in ([], ["--no-mouse"], ["--mouse"]) and sys.stdin.isatty() and sys.stdout.isatty():
        arguments = ["app", *arguments]
    return outcome(jackdaw, arguments, make)
