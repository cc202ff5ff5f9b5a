"""Runs a command of the system for its output."""

import atexit
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ, DefaultSelector

MOST_BYTES = 1 << 20
"""The most bytes of output that are read."""

MOST_GIVEN = 1 << 12
"""The most bytes of input for a command. They fit into a pipe, so that writing never waits for a command that hangs."""

_LOOK_S = 0.2


def output(
    command: Sequence[str], seconds: float, look: Callable[[], object] = lambda: None, given: bytes = b""
) -> bytes:
    """Return what a command prints.

    If the command hangs, prints without end, or still runs when this program ends, its process group is killed, so that
    no processes accumulate on the device. The command's input is `given`, cut to MOST_GIVEN bytes. `look` is called
    several times a second; an error that it raises ends the command. Raises OSError if the command cannot be started,
    TimeoutExpired after `seconds`, ValueError beyond `MOST_BYTES`.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        kill = partial(_kill, process)
        atexit.register(kill)  # a thread that waits for a command does not keep this program from ending
        try:
            if process.stdin:
                with suppress(BrokenPipeError), process.stdin as stream:
                    stream.write(given[:MOST_GIVEN])
            return _read(process, command, seconds, look)
        except BaseException:
            kill()
            raise
        finally:
            atexit.unregister(kill)


def leave(shell: str, command: Sequence[str], seconds: float) -> None:
    """Start a command whose output does not matter, and return at once.

    The shell kills it and its process group after `seconds`, also if this program has ended by then. Raises OSError if
    the shell cannot be started.
    """
    process = subprocess.Popen(
        (shell, "-c", _BOUNDED, f"{seconds:g}", *command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=process.wait, name="left", daemon=True).start()  # so that no ended process is left over


_BOUNDED = '{ sleep "$0"; kill -KILL 0; } & "$@"; kill -KILL 0'
"""A shell script that runs the command in $@ for at most $0 seconds, then kills its own process group (process 0)."""


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _read(
    process: subprocess.Popen[bytes], command: Sequence[str], seconds: float, look: Callable[[], object]
) -> bytes:
    assert process.stdout
    ends, printed = time.monotonic() + seconds, bytearray()
    with DefaultSelector() as selector:
        selector.register(process.stdout, EVENT_READ)
        while (left := ends - time.monotonic()) > 0:
            if not selector.select(min(left, _LOOK_S)):
                look()
                continue
            part = os.read(process.stdout.fileno(), MOST_BYTES)
            printed += part
            if len(printed) > MOST_BYTES:
                raise ValueError(f"{command[0]} prints more than {MOST_BYTES:,} bytes")
            if not part:
                process.wait(max(ends - time.monotonic(), 0.0))
                return bytes(printed)
    raise subprocess.TimeoutExpired(command, seconds)
