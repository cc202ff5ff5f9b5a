"""Files named by a key of their content, written atomically and readable only by their owner. Independent of the files'
format.

Files are not flushed to disk: after a power cut a file may be short or empty, so that readers have to check its
content.
"""

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shared.errors import NotWritable, StoreFull
from storage.private import private_folder

_UNFINISHED = ".unfinished-"


@dataclass(frozen=True, slots=True)
class Blobs:
    """The files of one folder, which is created on the first write."""

    folder: Path

    def write(self, name: str, parts: Iterable[bytes | memoryview]) -> int:
        """Write a file atomically, replacing any file of the same name. Return its size in bytes. Raises StoreFull,
        NotWritable.
        """
        private_folder(self.folder)
        try:
            descriptor, unfinished = tempfile.mkstemp(dir=self.folder, prefix=_UNFINISHED)  # mode 0600
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    size = sum(map(stream.write, parts))
                Path(unfinished).replace(self.folder / name)
            except BaseException:
                Path(unfinished).unlink(missing_ok=True)
                raise
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StoreFull(f"The disk of {self.folder} is full. Free some space, or lower cache.kv_mb.") from error
            raise NotWritable(
                f"Cannot write into {self.folder}: {error.strerror}. Check the folder's permissions."
            ) from error
        return size

    def read(self, name: str) -> bytes:
        """Return the file's content; empty if the file is missing or unreadable."""
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            return b""

    def delete(self, name: str) -> None:
        """Delete a file, if it exists. Raises NotWritable."""
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise NotWritable(
                f"Cannot delete from {self.folder}: {error.strerror}. Check the folder's permissions."
            ) from error

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of every finished file, by name."""
        return {name: facts.st_size for name, facts in self._files() if not name.startswith(_UNFINISHED)}

    def older_than(self, moment: float) -> set[str]:
        """Return the names of finished files last changed before `moment`, in seconds since 1970."""
        return {name for name in self._old(moment) if not name.startswith(_UNFINISHED)}

    def sweep(self, moment: float) -> int:
        """Delete unfinished files of killed processes, last changed before `moment`. Return how many were deleted.

        Raises NotWritable.
        """
        old = [name for name in self._old(moment) if name.startswith(_UNFINISHED)]
        for name in old:
            self.delete(name)
        return len(old)

    def _old(self, moment: float) -> list[str]:
        return [name for name, facts in self._files() if facts.st_mtime < moment]

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        if self.folder.is_dir():
            for path in sorted(self.folder.iterdir()):
                with suppress(FileNotFoundError):  # another process may delete files meanwhile
                    yield path.name, path.stat()
