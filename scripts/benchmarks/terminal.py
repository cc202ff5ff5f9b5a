"""Runs a process in a pseudo-terminal, as users start it, and types keys into it."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from scripts.places import CannotRun

APP = "from device_app.cli import main; main()"
PAINTED = b"sk about your files"  # the cursor is on the first letter
QUESTION = "What was decided about the renovation?"
ROWS, COLUMNS = 24, 80


class Terminal:
    """A process in a pseudo-terminal; `written` is its output so far."""

    def __init__(self, program: str, environment: Mapping[str, str], columns: int = COLUMNS, rows: int = ROWS) -> None:
        self.written = bytearray()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(sys.executable, [sys.executable, "-c", program], dict(environment))

    def awaits(self, *texts: bytes, within_s: float = 30.0, since: int | None = None) -> None:
        """Read until all the texts have been written in this order, from now on or from an index of `written`.

        Raises CannotRun, and OSError if the process has ended.
        """
        place = len(self.written) if since is None else since
        deadline = time.perf_counter() + within_s
        for text in texts:
            while (index := self.written.find(text, place)) < 0:
                if not self._read(deadline - time.perf_counter()):
                    raise CannotRun(f"the app did not show {text!r} within {within_s:g} s")
            place = index + len(text)

    def drain(self, seconds: float) -> None:
        """Read the output for the given number of seconds."""
        deadline = time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            self._read(left)

    def types(self, text: str) -> None:
        """Send keys."""
        os.write(self.fd, text.encode())

    def _read(self, seconds: float) -> bool:
        """Read new output; return whether the process wrote any within the given time."""
        if not select.select([self.fd], [], [], max(0.0, seconds))[0]:
            return False
        self.written += os.read(self.fd, 65_536)
        return True


@contextmanager
def terminal(
    program: str, environment: Mapping[str, str], columns: int = COLUMNS, rows: int = ROWS
) -> Iterator[Terminal]:
    """Run a command in a pseudo-terminal within the block, and kill it at the end."""
    process = Terminal(program, environment, columns, rows)
    try:
        yield process
    finally:
        os.kill(process.pid, signal.SIGKILL)
        os.waitpid(process.pid, 0)
        with suppress(OSError):
            os.close(process.fd)
