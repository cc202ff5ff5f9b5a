"""Reads the texts of vectors, one document for each vector, from JSON Lines."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from cloud_server.retrieval.sources import MOST_LINE, json_line
from shared.errors import UsageError
from storage.public_passages import PassageText


class TextSource(Protocol):
    """Texts in files, numbered from 0 across the files."""

    @property
    def files(self) -> Sequence[Path]:
        """The files, in order."""

    @property
    def count(self) -> int:
        """The number of texts."""

    @property
    def form(self) -> str:
        """A description of how the files are read; a resumed import has to read them in the same way."""

    def documents(self, start: int) -> Iterator[PassageText]:
        """Yield the documents from number `start` on, uncut. Raises UsageError."""


class JsonTexts:
    """One document per line, in the format of `index build`; empty lines do not count. Implements `TextSource`."""

    form = "json lines"

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files

    @cached_property
    def count(self) -> int:
        """The number of lines with a document."""
        return sum(1 for file in self.files for _ in _lines(file))

    def documents(self, start: int) -> Iterator[PassageText]:
        """Yield the documents from number `start` on. Raises UsageError for a line without a document."""
        row = 0
        for file in self.files:
            for number, line in _lines(file):
                row += 1
                if row > start:
                    read = json_line(line, file.name, number)
                    if isinstance(read, str):
                        raise UsageError(
                            f"Line {number:,} of {file} is {read}, and each vector needs its text. Correct the line."
                        )
                    yield read


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not empty, with their numbers from 1. Raises UsageError for a line that is too long."""
    with file.open("rb") as stream:
        number = 0
        while line := stream.readline(MOST_LINE + 1):
            number += 1
            if len(line) > MOST_LINE:
                raise UsageError(f"Line {number:,} of {file} is longer than {MOST_LINE >> 20} MB. Shorten it.")
            if line.strip():
                yield number, line
