"""The command line `jackdaw`: the table of its commands, and how every outcome becomes an exit code.

Nothing here imports a command's module: `jackdaw --help` reads this table alone.
"""

import errno
import os
import sys
from collections.abc import Sequence

import click

from device_app.cli.frame import Group, Lazy
from shared.errors import ExitCode, JackdawError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it (128 + SIGINT)."""

_OUTPUT_LOST = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}

COMMANDS = (
    Lazy("app", "device_app.cli.app", "Open the terminal app; `jackdaw` alone does so."),
    Lazy("web", "device_app.cli.web", "Open the app in a browser on this device."),
    Lazy("ask", "device_app.cli.ask", "Answer a question from your own files."),
    Lazy("add", "device_app.cli.knowledge", "Read files and folders into your knowledge.", "add"),
    Lazy("knowledge", "device_app.cli.knowledge", "List, show and remove what was read."),
    Lazy("cache", "device_app.cli.cache", "Show and control what is kept ahead of questions."),
    Lazy("models", "device_app.cli.models", "List, choose and pull models."),
    Lazy("history", "device_app.cli.history", "Look through, export and delete conversations."),
    Lazy("daemon", "device_app.cli.daemon", "Work ahead while the device is idle."),
    Lazy("status", "device_app.cli.status", "Show what Jackdaw knows and uses now."),
    Lazy("doctor", "device_app.cli.doctor", "Check that everything works; name the mend where not."),
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
        ("Ask about what is in it", 'jackdaw ask "When is the dentist?"'),
        ("What a command takes", "jackdaw ask --help"),
    ),
)
click.version_option(package_name="jackdaw", message="jackdaw %(version)s")(jackdaw)


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark rather than a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors are told on stderr, with --json on stdout as well.

    Without a command, a terminal gets the app.
    """
    if arguments in ([], ["--no-mouse"]) and sys.stdin.isatty() and sys.stdout.isatty():
        arguments = ["app", *arguments]
    try:
        code = _outcome(arguments)
        sys.stdout.flush()
    except OSError as error:
        if error.filename or error.errno not in _OUTPUT_LOST:
            raise
        # Python would complain once more while it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE:  # there, whoever read the output has seen enough
            click.echo(f"jackdaw: Cannot write the output: {os.strerror(error.errno).lower()}.", err=True)
        return ExitCode.FAILED
    return code


def _outcome(arguments: Sequence[str]) -> int:
    as_json = "--json" in [*arguments, "--"][: [*arguments, "--"].index("--")]
    try:
        return jackdaw.main(arguments, prog_name="jackdaw", standalone_mode=False) or ExitCode.DONE
    except JackdawError as error:
        return _told(type(error).__name__, str(error), error.exit_code, as_json)
    except click.ClickException as error:
        if as_json:
            return _told("UsageError", error.format_message(), error.exit_code, as_json)
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        return INTERRUPTED


def _told(kind: str, message: str, code: int, as_json: bool) -> int:
    from device_app.cli.output import print_json
    from shared.printable import safe

    if as_json:
        print_json({"error": {"type": kind, "message": message}})
    click.echo(f"jackdaw: {safe(message)}", err=True)
    return code
