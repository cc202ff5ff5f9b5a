"""Writes durable files: they are on disk when the call returns, even after a power cut. Independent of the files'
format.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from storage.private import hand_over, to_be_written


def emptied(file: Path) -> BinaryIO:
    """Create or truncate the file and return it, opened for writing; does not follow a link. Raises OSError.

    If root creates the file in another user's folder, the file becomes that user's.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    stream = os.fdopen(os.open(file, flags, 0o666), "wb")
    hand_over(stream.fileno(), file.parent)
    return stream


def write_durably(file: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file and wait until it is on disk. If the process is killed before that, the file may be incomplete.
    Raises NotWritable.
    """
    with to_be_written(f"write {file}"), emptied(file) as stream:
        stream.writelines(parts)
        stream.flush()
        os.fsync(stream.fileno())


def settle(folder: Path) -> None:
    """Wait until the folder's entries (the names of its files) are on disk. Raises NotWritable."""
    with to_be_written(f"write into {folder}"):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
