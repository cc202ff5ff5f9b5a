"""Files and folders of one user that others cannot read, and error messages that say why one cannot be written."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shared.errors import NotWritable
from storage.paths import HOME_VARIABLE

if TYPE_CHECKING:
    from filelock import FileLock


def private_folder(folder: Path) -> Path:
    """Create the folder and its missing parents with mode 0700; an existing folder keeps its mode. Raises NotWritable.

    In this module, files that root creates in another user's folder become that user's (`hand_over`).
    """
    with to_be_written(f"make the folder {folder}"):
        _refuse_misleading(folder)
        if not folder.is_dir():
            private_folder(folder.parent)
            folder.mkdir(mode=0o700, exist_ok=True)
            hand_over(folder, folder.parent)
    return folder


@contextmanager
def private_content(folder: Path) -> Iterator[None]:
    """Create the folder as `private_folder` does; after the block, which may write into it, hand over the files in it
    (`hand_over`). Raises NotWritable if the folder cannot be created, and OSError.
    """
    private_folder(folder)
    yield
    for made in folder.rglob("*"):
        hand_over(made, folder)


def _refuse_misleading(folder: Path) -> None:
    """As root, refuse a user's link to a folder that does not belong to that user. Raises OSError."""
    for parent in (folder, *folder.parents) if _is_root() else ():
        if (
            parent.is_symlink()
            and (owner := parent.lstat().st_uid) != 0
            and parent.exists()
            and parent.stat().st_uid != owner
        ):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def hand_over(made: Path | int, folder: Path) -> None:
    """Give a file that root created in another user's folder, by its path or descriptor, to that user. Raises OSError.

    An administrator may work in the folder of a service that runs as another user and could not read root's files. Only
    files of root with a single name are given away, as the folder's owner may have put a link there.
    """
    if not _is_root():
        return
    facts, owner = made.lstat() if isinstance(made, Path) else os.fstat(made), folder.stat()
    if facts.st_uid == 0 != owner.st_uid and (facts.st_nlink == 1 or stat.S_ISDIR(facts.st_mode)):
        os.chown(made, owner.st_uid, owner.st_gid, follow_symlinks=not isinstance(made, Path))


def private_lock(file: Path) -> "FileLock":
    """Return a lock on the given file, which is created with mode 0600 and may not be a link. Raises NotWritable."""
    from filelock import FileLock

    folder = private_folder(file.parent)
    with to_be_written(f"write {file}"):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            hand_over(descriptor, folder)
        finally:
            os.close(descriptor)
    return FileLock(file, mode=0o600)


def write_private(file: Path, text: str) -> None:
    """Replace the file's content atomically, with mode 0600. If the file is a link, its target is replaced; but if root
    writes in another user's folder, a link that leads out of the folder is itself replaced.

    Readers see either the old or the new content, even after a power cut. Raises NotWritable.
    """
    with to_be_written(f"write {file}"):
        _replace(_target(file), text)


@contextmanager
def to_be_written(deed: str) -> Iterator[None]:
    """Convert an OSError in the block to NotWritable. The message names the action, such as "write /a/file", and a
    remedy.
    """
    try:
        yield
    except OSError as error:
        raise NotWritable(f"Cannot {deed}: {_advice(error)}") from error


def _target(file: Path) -> Path:
    """Return the file that `write_private` replaces: `file`, or the target of a link.

    If root writes in another user's folder, a link that leads out of the folder is not followed. Raises OSError.
    """
    folder = private_folder(file.parent).resolve()
    target = file.resolve()
    if _is_root() and folder.stat().st_uid != 0 and not target.is_relative_to(folder):
        return folder / file.name
    return target


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _replace(target: Path, text: str) -> None:
    import tempfile

    folder = private_folder(target.parent)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{target.name}.")  # mode 0600
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            hand_over(descriptor, folder)
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def _advice(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{reason}. Make room on its disk."
    if error.errno == errno.EISDIR:
        return f"{reason}, but a file belongs here. Move the folder away."
    if error.errno == errno.ELOOP:
        return "a symbolic link is in the path. Move the link away."
    return f"{reason}. Check the folder's permissions, or choose another folder ({HOME_VARIABLE} sets Jackdaw's own)."
