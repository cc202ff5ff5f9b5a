"""A process on a terminal of its own, as a person starts it, and keys typed into it."""

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
PAINTED = b"sk about your files"  # the cursor stands on the first letter
QUESTION = "What was decided about the renovation?"
ROWS, COLUMNS = 24, 80


class Terminal:
    """A process on a terminal of 80x24, and what it wrote since it was last asked."""

    def __init__(self, program: str, environment: Mapping[str, str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.execve(sys.executable, [sys.executable, "-c", program], dict(environment))

    def awaits(self, wanted: bytes, within_s: float = 30.0) -> None:
        """Read until it has written this. Raises CannotRun."""
        seen = b""
        deadline = time.perf_counter() + within_s
        while wanted not in seen:
            if not select.select([self.fd], [], [], max(0.0, deadline - time.perf_counter()))[0]:
                raise CannotRun(f"the app did not show {wanted!r} within {within_s:g} s")
            seen = seen[-200:] + os.read(self.fd, 65_536)

    def drain(self, seconds: float) -> None:
        """Read what it writes for so long."""
        deadline = time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                os.read(self.fd, 65_536)

    def types(self, text: str) -> None:
        """Send keys."""
        os.write(self.fd, text.encode())


@contextmanager
def terminal(program: str, environment: Mapping[str, str]) -> Iterator[Terminal]:
    """The process, which is killed at the end."""
    process = Terminal(program, environment)
    try:
        yield process
    finally:
        os.kill(process.pid, signal.SIGKILL)
        os.waitpid(process.pid, 0)
        with suppress(OSError):
            os.close(process.fd)
