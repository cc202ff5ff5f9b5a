"""When the last question was asked, told from process to process by one small file.

In it stands `time.monotonic_ns()`, which all processes share until the machine restarts: a wall clock that is set
changes nothing. Knows neither who asks nor who waits.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from shared.errors import NotWritable
from storage.paths import private_folder

_DIGITS = 20
"""Enough for any time, so that a later note replaces an earlier one whole."""


@dataclass(frozen=True, slots=True)
class Activity:
    """The file."""

    path: Path

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note that a question is asked, and again that it has been answered."""
        self.note()
        try:
            yield
        finally:
            self.note()

    def note(self) -> None:
        """Note that somebody asks now. A disk that refuses is no reason to fail a question."""
        with suppress(OSError, NotWritable):
            private_folder(self.path.parent)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(descriptor, f"{time.monotonic_ns():0{_DIGITS}d}".encode(), 0)
            finally:
                os.close(descriptor)

    def mark(self) -> bytes:
        """What `changed` is asked against."""
        try:
            return self.path.read_bytes()
        except OSError:
            return b""

    def changed(self, mark: bytes) -> bool:
        """Whether anybody has asked since the mark was taken. Takes about 20 µs."""
        return self.mark() != mark

    def last(self) -> float | None:
        """When somebody asked last, in seconds of `time.monotonic()`; None where nobody has."""
        noted = self.mark()
        return int(noted) / 1e9 if noted.isdigit() else None

    def quiet_s(self, now: float) -> float | None:
        """Seconds without a question, as far as is known: after a restart of the machine, those since it."""
        last = self.last()
        return None if last is None else now if last > now else now - last
