"""Files that are on the disk when the call returns, whatever happens to the power. Knows no format."""

import os
from collections.abc import Iterable
from pathlib import Path

from storage.paths import to_be_written


def write_durably(file: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file and wait for the disk. Until then it may be there in part. Raises NotWritable."""
    with to_be_written(f"write {file}"), file.open("wb") as stream:
        stream.writelines(parts)
        stream.flush()
        os.fsync(stream.fileno())


def settle(folder: Path) -> None:
    """Wait until the disk knows the names in the folder. Raises NotWritable."""
    with to_be_written(f"write into {folder}"):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
