"""Runs a command of the system for its output."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress


def output(command: Sequence[str], seconds: float) -> bytes:
    """Return what a command prints. If it hangs, kill its process group, so that no processes gather on the device.

    Raises OSError if it cannot be started, TimeoutExpired after `seconds`.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=seconds)[0]
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
