"""Opens files for the readers: only regular files, within a size limit. Independent of formats."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from shared.errors import UnreadableFile

MAX_BYTES = 64 << 20
"""The largest size in bytes of a file that is read in one piece, and of a single mail or line in a file that is
streamed.
"""


def open_regular(path: Path) -> BinaryIO:
    """Open a file. Raises UnreadableFile if it is empty or not regular: opening a pipe could block forever.

    An OSError (missing file, no permission, a failing disk) is left to the caller, here and while reading.
    """
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise UnreadableFile("is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile("not a regular file")
    if status.st_size == 0:
        raise UnreadableFile("empty file")
    return path.open("rb")


def read_whole(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file that holds one document. Raises UnreadableFile if it exceeds `max_bytes`."""
    with open_regular(path) as stream:
        small = os.fstat(stream.fileno()).st_size <= max_bytes
        data = stream.read(max_bytes + 1) if small else b""
    if not small or len(data) > max_bytes:
        limit = f"{max_bytes >> 20} MB" if max_bytes >> 20 else f"{max_bytes} bytes"
        raise UnreadableFile(f"larger than {limit}")
    return data
