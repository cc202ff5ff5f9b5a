"""Detects whether the remembered folders have changed, and whether their files have stopped changing.

The folders are polled, which also works on network drives and phones and needs no handle per folder. A delay of half a
minute is short compared with the time until somebody asks about a file.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from device_app.knowledge import readers

MOST_LOOKS = 20
"""The number of checks after which files that never stop changing, such as logs, are read as they are."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The results of checking the folders. `read` is their fingerprint (`fingerprint`) when their files were last read,
    `last` the latest one; `looks` counts the successive checks that found changes.
    """

    read: bytes | None = None
    last: bytes | None = None
    looks: int = 0

    @property
    def settled(self) -> bool:
        """Whether the files have stopped changing, or have been changing for too long to wait."""
        return self.looks == 0 or self.looks > MOST_LOOKS

    @property
    def unread(self) -> bool:
        """Whether the folders have changes that were not read yet."""
        return self.settled and self.last != self.read

    def looked(self, digest: bytes) -> Self:
        """Return the results updated by a check that computed this fingerprint."""
        return replace(self, last=digest, looks=0 if digest == self.last else self.looks + 1)

    def as_read(self) -> Self:
        """Return the results after the changed files were read, which marks the last fingerprint as read."""
        return replace(self, read=self.last, looks=0)


def fingerprint(folders: Sequence[Path]) -> bytes:
    """Return a digest that changes when a readable file is added, removed or changed.

    Opens no file; takes 45 µs per file.
    """
    digest = hashlib.blake2b(digest_size=16)
    for file in readers.walk(folders):
        try:
            changed = file.path.stat().st_mtime_ns
        except OSError:
            changed = 0
        digest.update(repr((os.fsencode(file.path), file.size, changed, file.reason)).encode())
    return digest.digest()
