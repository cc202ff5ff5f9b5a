"""Stores the time of the last question in one small file, which all processes share.

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
"""The number of digits of a timestamp: it is fixed, so that a new timestamp overwrites the whole previous one."""


@dataclass(frozen=True, slots=True)
class Activity:
    """The file that holds the time of the last question."""

    path: Path

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Record the time at the start and at the end of a question."""
        self.note()
        try:
            yield
        finally:
            self.note()

    def note(self) -> None:
        """Record that a question is asked now. Disk errors are ignored: they must not make the question fail."""
        with suppress(OSError, NotWritable):
            private_folder(self.path.parent)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(descriptor, f"{time.monotonic_ns():0{_DIGITS}d}".encode(), 0)
            finally:
                os.close(descriptor)

    def mark(self) -> bytes:
        """Return the file's content, by which `changed` later tells whether a question was asked; b"" if it cannot be
        read.
        """
        try:
            return self.path.read_bytes()
        except OSError:
            return b""

    def changed(self, mark: bytes) -> bool:
        """Return whether a question was asked since `mark` was called. Takes about 20 µs."""
        return self.mark() != mark

    def last(self) -> float | None:
        """Return the time of the last question in seconds of `time.monotonic()`; None if no question was recorded."""
        noted = self.mark()
        return int(noted) / 1e9 if noted.isdigit() else None

    def quiet_s(self, now: float) -> float | None:
        """Return the seconds since the last question, or since the machine's restart; None without a question."""
        last = self.last()
        return None if last is None else now if last > now else now - last
