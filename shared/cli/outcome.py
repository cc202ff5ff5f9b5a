"""Converts the outcome of a command line into an exit code and messages, for both programs."""

import errno
import os
import sys
from collections.abc import Callable, Sequence

import click

from shared.errors import ExitCode, JackdawError

INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells (128 + SIGINT)."""

_OUTPUT_LOST = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def started(run: Callable[[Sequence[str]], int]) -> None:
    """Call `run` with the arguments of this process, and exit with the code that it returns."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark instead of a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))


def outcome(program: click.Group, arguments: Sequence[str], given: object = None) -> int:
    """Run one command line and return its exit code. Errors are printed on stderr, with --json also on stdout.

    `given` becomes `obj`, the object that click passes to the commands.
    """
    name = str(program.name)
    try:
        code = _outcome(program, name, arguments, given)
        sys.stdout.flush()
    except OSError as error:
        if error.filename or error.errno not in _OUTPUT_LOST:
            raise
        # Keep Python from reporting the error again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE:  # for EPIPE, the reader closed the pipe on purpose
            click.echo(f"{name}: Cannot write the output: {os.strerror(error.errno).lower()}.", err=True)
        return ExitCode.FAILED
    return code


def _outcome(program: click.Group, name: str, arguments: Sequence[str], given: object) -> int:
    as_json = "--json" in [*arguments, "--"][: [*arguments, "--"].index("--")]
    try:
        return program.main(arguments, prog_name=name, standalone_mode=False, obj=given) or ExitCode.DONE
    except JackdawError as error:
        return _report_error(name, type(error).__name__, str(error), error.exit_code, as_json)
    except click.ClickException as error:
        if as_json:
            return _report_error(name, "UsageError", error.format_message(), error.exit_code, as_json)
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        return INTERRUPTED


def _report_error(name: str, kind: str, message: str, code: int, as_json: bool) -> int:
    from shared.cli.output import print_json
    from shared.printable import safe

    if as_json:
        print_json({"error": {"type": kind, "message": message}})
    click.echo(f"{name}: {safe(message)}", err=True)
    return code
