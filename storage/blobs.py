"""Files named by their content's key: written whole or not at all, readable by their owner alone. Knows no format.

Nothing is flushed to the disk: after a power cut a file may be short or empty, so what is read has to be checked.
"""

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shared.errors import NotWritable, StoreFull
from storage.paths import private_folder

_UNFINISHED = ".unfinished-"


@dataclass(frozen=True, slots=True)
class Blobs:
    """The files of one folder, which is made when it is first written to."""

    folder: Path

    def write(self, name: str, parts: Iterable[bytes | memoryview]) -> int:
        """Write a file in one step, replacing one of that name; its bytes. Raises StoreFull, NotWritable."""
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
                f"Cannot write into {self.folder}: {error.strerror}. Check who may write there."
            ) from error
        return size

    def read(self, name: str) -> bytes:
        """The file's content; empty where it is gone or cannot be read."""
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            return b""

    def delete(self, name: str) -> None:
        """Delete a file, if it is there. Raises NotWritable."""
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise NotWritable(
                f"Cannot delete from {self.folder}: {error.strerror}. Check who may write there."
            ) from error

    def sizes(self) -> dict[str, int]:
        """Name to bytes of every finished file."""
        return {name: facts.st_size for name, facts in self._files() if not name.startswith(_UNFINISHED)}

    def older_than(self, moment: float) -> set[str]:
        """Names of the finished files last changed before that time, in seconds since 1970."""
        return {name for name in self._old(moment) if not name.startswith(_UNFINISHED)}

    def sweep(self, moment: float) -> int:
        """Delete unfinished files of writers that were killed, last changed before that time; how many there were.

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
                with suppress(FileNotFoundError):  # another process deletes too
                    yield path.name, path.stat()
