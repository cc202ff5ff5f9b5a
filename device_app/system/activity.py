"""The time of the last question, shared between processes through one small file.

The file holds `time.monotonic_ns()`, which is the same in all processes until the machine restarts and does not change
when the wall clock is set.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from shared.errors import NotWritable
from storage.private import private_folder

_DIGITS = 20
"""The digits of a timestamp: a fixed width, so that a new one overwrites the last one completely."""


@dataclass(frozen=True, slots=True)
class Activity:
    """The file that holds the time of the last question."""

    path: Path

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the time at the start and at the end of a question."""
        self.note()
        try:
            yield
        finally:
            self.note()

    def note(self) -> None:
        """Note that a question is asked now. Errors of the disk are ignored: they must not fail the question."""
        with suppress(OSError, NotWritable):
            private_folder(self.path.parent)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(descriptor, f"{time.monotonic_ns():0{_DIGITS}d}".encode(), 0)
            finally:
                os.close(descriptor)

    def mark(self) -> bytes:
        """Return the file's content, b"" if it cannot be read; `changed` tells whether a question was noted since."""
        try:
            return self.path.read_bytes()
        except OSError:
            return b""

    def changed(self, mark: bytes) -> bool:
        """Return whether a question was noted since `mark` was called. Takes about 20 µs."""
        return self.mark() != mark

    def last(self) -> float | None:
        """Return the time of the last question in seconds of `time.monotonic()`; None if none was noted."""
        noted = self.mark()
        return int(noted) / 1e9 if noted.isdigit() else None

    def quiet_s(self, now: float) -> float | None:
        """Return the seconds since the last question, or since the machine's restart; None if none was noted."""
        last = self.last()
        return None if last is None else now if last > now else now - last
