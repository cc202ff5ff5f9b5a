"""The results of reading files: the number of documents, the files that could not be read, and the parts left out."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from shared.printable import printable
from storage.passages import show

_LONGEST_SUFFIX = 10


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that could not be read, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class PartlyRead:
    """A description, with a count, of the parts left out of a file that was read."""

    path: str
    without: str


@dataclass(frozen=True, slots=True)
class UnreadKind:
    """The number of files with a suffix that no reader supports; "" stands for files without a suffix."""

    suffix: str
    count: int


@dataclass(slots=True)
class IngestReport:
    """The results of an ingestion. `documents` and `passages` count the new or changed ones, `removed` counts files.

    `unchanged` counts documents. `locked` are the paths of encrypted files that no password fits, all of them in
    `skipped` as well.
    """

    documents: int = 0
    passages: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    partly_read: list[PartlyRead] = field(default_factory=list)
    unread: list[UnreadKind] = field(default_factory=list)
    locked: list[Path] = field(default_factory=list)

    def replace_locked(self, path: Path, again: "IngestReport") -> None:
        """Replace the entry of an encrypted file by the report on reading it again with a password."""
        self.locked.remove(path)
        self.skipped = [item for item in self.skipped if item.path != show(os.fsencode(path))] + again.skipped
        self.partly_read += again.partly_read
        self.documents += again.documents
        self.passages += again.passages


def suffix_of(path: Path) -> str:
    """Return the suffix in small letters; "" if the text after the last dot is none, as in a sentence."""
    suffix = printable(path.suffix.lower())
    return suffix if suffix[1:].isalnum() and len(suffix) <= _LONGEST_SUFFIX else ""
