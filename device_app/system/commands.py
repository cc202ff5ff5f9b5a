"""Runs a command of the system for its output."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector

MOST_BYTES = 1 << 16
"""The most bytes of output that are read."""


def output(command: Sequence[str], seconds: float) -> bytes:
    """Return what a command prints. If it hangs, or prints without end, kill its process group, so that no processes
    gather on the device.

    Raises OSError if it cannot be started, TimeoutExpired after `seconds`, ValueError beyond `MOST_BYTES`.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            return _read(process, command, seconds)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise


def _read(process: subprocess.Popen[bytes], command: Sequence[str], seconds: float) -> bytes:
    assert process.stdout
    ends, printed = time.monotonic() + seconds, bytearray()
    with DefaultSelector() as selector:
        selector.register(process.stdout, EVENT_READ)
        while selector.select(max(ends - time.monotonic(), 0.0)):
            part = os.read(process.stdout.fileno(), MOST_BYTES)
            printed += part
            if len(printed) > MOST_BYTES:
                raise ValueError(f"{command[0]} prints more than {MOST_BYTES:,} bytes")
            if not part:
                process.wait(max(ends - time.monotonic(), 0.0))
                return bytes(printed)
    raise subprocess.TimeoutExpired(command, seconds)
