"""Reads mbox files as a stream, one mail at a time; a truncated last mail is read as far as it goes."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from device_app.knowledge.readers.decoding import head
from device_app.knowledge.readers.mail import mail_document
from device_app.knowledge.readers.opening import open_regular
from shared.errors import UnreadableFile
from shared.types import Document

# "From sender Sat Mar 14 10:00:00 2026": strict, because not every program marks a "From " in a body with ">".
_SEPARATOR = re.compile(
    rb"From .{0,200}?\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:\d{1,2} +)?"
    rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b.{0,40}\d\d:\d\d"
)
_ESCAPED = re.compile(rb">+From ")


def read_mbox(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the mails in order; a mail larger than `max_bytes` is cut to its start. Raises UnreadableFile."""
    with open_regular(path) as stream:
        if not _is_mbox(head(stream, 1024)):
            raise UnreadableFile("not a mailbox")
        for data in _messages(stream, max_bytes):
            yield mail_document(data)


def _messages(stream: BinaryIO, max_bytes: int) -> Iterator[bytes]:
    lines: list[bytes] = []
    size = 0
    for line in iter(partial(stream.readline, max_bytes), b""):
        if line.startswith(b"From ") and _SEPARATOR.match(line):
            if lines:
                yield b"".join(lines)
            lines, size = [], 0
        elif size < max_bytes:
            lines.append(line[1:] if line.startswith(b">") and _ESCAPED.match(line) else line)
            size += len(line)
    if any(line.strip() for line in lines):
        yield b"".join(lines)


def _is_mbox(start: bytes) -> bool:
    """Return whether a file with this beginning is a mailbox."""
    return bool(_SEPARATOR.match(start.lstrip(b"\r\n")))
