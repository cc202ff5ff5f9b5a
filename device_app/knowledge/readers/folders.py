"""The files under a folder that may be read. Never opens anything, never goes round in circles."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from device_app.knowledge.readers.formats import is_known

_JUNK = {"node_modules", "__pycache__", "site-packages", "venv"}


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read; with a `reason`, one that is not. `size` is in bytes."""

    path: Path
    size: int
    reason: str | None = None


def walk(roots: Iterable[Path]) -> Iterator[Found]:
    """The readable files at and under the roots, each once, folder by folder in order of name.

    Hidden files and folders and those of programs are passed over, unless they are roots. Folders are recognised by
    device and inode: a link to one that was seen is not followed. A root or file that cannot be read is given with the
    reason; inside folders, files of unknown types are passed over silently.
    """
    seen: set[tuple[int, int]] = set()
    for root in roots:
        try:
            status = root.stat()
        except OSError as error:
            yield Found(root, 0, _reason(error))
            continue
        if stat.S_ISDIR(status.st_mode):
            yield from _folder(root, seen)
        elif (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            yield _file(root, status)


def _folder(folder: Path, seen: set[tuple[int, int]]) -> Iterator[Found]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            status = here.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            names = sorted(os.listdir(here))  # noqa: PTH208 (names may not be UTF-8; they stay as they are)
        except OSError as error:
            yield Found(here, 0, _reason(error))
            continue
        below = []
        for name in names:
            path = here / name
            if name.startswith(".") or name in _JUNK:
                continue
            try:
                status = path.stat()
            except OSError as error:
                if is_known(path):
                    yield Found(path, 0, _reason(error))
                continue
            if stat.S_ISDIR(status.st_mode):
                below.append(path)
            elif is_known(path) and (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                yield _file(path, status)
        waiting += reversed(below)


def _file(path: Path, status: os.stat_result) -> Found:
    if not stat.S_ISREG(status.st_mode):
        return Found(path, 0, "not a regular file")
    if not is_known(path):
        return Found(path, status.st_size, "unknown type")
    return Found(path, status.st_size)


def _reason(error: OSError) -> str:
    return (error.strerror or "cannot be read").lower()
