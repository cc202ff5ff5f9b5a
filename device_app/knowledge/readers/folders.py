"""Lists the readable files under a folder, even if links form a cycle; opens only files without a suffix."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from device_app.knowledge.readers.formats import readable
from device_app.knowledge.readers.maildir import is_maildir

_JUNK = {"node_modules", "__pycache__", "site-packages", "venv", "lost+found", "__MACOSX"}
_LEFTOVERS = ("~$", ".~lock.")
"""Prefixes of the temporary files that office programs keep for open documents."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that can be read, or one with the `reason` why it cannot. `size` is in bytes."""

    path: Path
    size: int
    reason: str | None = None


def walk(roots: Iterable[Path], on_unread: Callable[[Path], object] = lambda _: None) -> Iterator[FoundFile]:
    """Yield the readable files at and under the roots, each once, folder by folder in order of name.

    Hidden files and folders and those of programs are skipped, unless they are roots or a Maildir's folders. Files and
    folders are identified by device and inode: a link to a file already seen is not followed. A root or file that
    cannot be read is returned with the reason; inside folders, files of unknown types are skipped, and `on_unread` is
    called with each.
    """
    seen: set[tuple[int, int]] = set()
    for root in roots:
        try:
            status = root.stat()
        except OSError as error:
            yield FoundFile(root, 0, _reason(error))
            continue
        if stat.S_ISDIR(status.st_mode):
            yield from _folder(root, seen, on_unread)
        elif _first_time(status, seen):
            yield _file(root, status)


def _folder(folder: Path, seen: set[tuple[int, int]], on_unread: Callable[[Path], object]) -> Iterator[FoundFile]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            if not _first_time(here.stat(), seen):
                continue
            names = sorted(os.listdir(here), key=os.fsencode)  # noqa: PTH208 (a name may not be UTF-8)
        except OSError as error:
            yield FoundFile(here, 0, _reason(error))
            continue
        mails = is_maildir(here)
        folders = []
        for path in (here / name for name in names if _is_wanted(name, mails)):
            try:
                status = path.stat()
            except OSError as error:
                if readable(path):
                    yield FoundFile(path, 0, _reason(error))
                continue
            if stat.S_ISDIR(status.st_mode):
                # A Maildir's `tmp` holds mails not yet delivered.
                if not (mails and path.name == "tmp"):
                    folders.append(path)
            elif not readable(path):
                on_unread(path)
            elif _first_time(status, seen):
                yield _file(path, status)
        waiting += reversed(folders)


def _is_wanted(name: str, mails: bool) -> bool:
    # Folders inside a Maildir begin with a dot.
    return (mails or not name.startswith(".")) and name not in _JUNK and not name.startswith(_LEFTOVERS)


def _first_time(status: os.stat_result, seen: set[tuple[int, int]]) -> bool:
    node = (status.st_dev, status.st_ino)
    if node in seen:
        return False
    seen.add(node)
    return True


def _file(path: Path, status: os.stat_result) -> FoundFile:
    if not stat.S_ISREG(status.st_mode):
        return FoundFile(path, 0, "not a regular file")
    return FoundFile(path, status.st_size, None if readable(path) else "unknown type")


def _reason(error: OSError) -> str:
    return (error.strerror or "cannot be read").lower()
