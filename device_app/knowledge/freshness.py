"""Checks, when a question is asked, whether the files that its answer cites have changed since they were read.

A small changed file is read again while answering; if it is larger, or cannot be read now, the person is informed.
Passages of a deleted file are not used, but stay stored: `ingest` decides whether to delete them when it walks the
folder. Independent of models and ranking.
"""

import os
import shlex
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from device_app.knowledge.phone.sources import is_of_phone
from device_app.question.files import Looked, Stale
from shared.errors import GaveWay, JackdawError
from shared.trace import Trace
from storage.knowledge import FileState, KnowledgeStore
from storage.passages import show

Reread = Callable[[Path], str]
"""Reads a file again as `jackdaw add` does; returns why it could not be read, or "". Raises JackdawError."""

Condition = Literal["same", "changed", "gone", "away"]
"""The condition of a file: as it was read, changed since, deleted, or in a folder that cannot be opened now."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """Checks the files of passages. `looked` records the files checked for one answer: each is checked once.

    `reread` reads a changed file again. Raises StoreError.
    """

    store: KnowledgeStore
    reread: Reread

    def look(self, passages: Collection[int], looked: Looked, trace: Trace) -> bool:
        """Check the files of the given passages; return whether their changes may alter the results of a search."""
        return self.look_at(self.store.files_of(passages), looked, trace)

    def look_at(self, files: Iterable[FileState], looked: Looked, trace: Trace, *, whole: bool = False) -> bool:
        """Check the given files, as `look` does. With `whole`, a file read only in part counts as changed."""
        news = [self._settle(file, looked, trace, whole) for file in files if file.path not in looked.seen]
        return any(news)

    def are_gone(self, passages: Collection[int], looked: Looked) -> bool:
        """Return whether the file of at least one of the given passages was deleted."""
        return bool(looked.gone) and any(file.path in looked.gone for file in self.store.files_of(passages))

    def _settle(self, file: FileState, looked: Looked, trace: Trace, whole: bool) -> bool:
        """Check whether one file has changed, and read it again if so; return whether passages were added or removed.

        `whole` is as in `look_at`.
        """
        looked.seen.add(file.path)
        condition, path, size = _condition(self.store, file)
        if condition == "changed":
            return self._changed(file, path, size, looked, trace)
        if condition == "same" and whole and file.sha256 is None:
            return self._changed(file, path, size, looked, trace, "was not yet read to its end")
        name = show(file.path)
        if condition == "gone":
            looked.gone |= {file.path, *self._deleted_beside(path)}
            forget = f"To forget what was read of this file: jackdaw knowledge remove {shlex.quote(name)}"
            looked.stale.append(Stale(name, "gone", f"{name} is gone, so the answer does not use this file. {forget}"))
        elif condition == "away":
            reason = f"{name} cannot be opened. Is its disk connected? The answer uses the text read earlier."
            looked.stale.append(Stale(name, "away", reason))
        return condition == "gone"

    def _changed(
        self,
        file: FileState,
        path: Path,
        size: int,
        looked: Looked,
        trace: Trace,
        what: str = "has changed since it was read",
    ) -> bool:
        name, again = show(file.path), f"Read the file: jackdaw add {shlex.quote(show(os.fsencode(path)))}"
        if size > looked.room:
            why = f"is too large to read while you wait. {again}"
        else:
            looked.room -= size
            try:
                with trace.step("read again"):
                    why = self.reread(path)
                if not why:
                    looked.read = True
                    return True
                why = f"could not be read again: {why}."
            except GaveWay:
                why = f"takes too long to read while you wait. {again}"
            except JackdawError as error:  # another reader, a full disk: the old text stays
                why = f"was not read again. {error}"
        looked.stale.append(Stale(name, "changed", f"{name} {what}, and {why}"))
        return False

    def _deleted_beside(self, path: Path) -> Iterator[bytes]:
        """Yield the other deleted files of a deleted file's folder, since whole folders are deleted at once."""
        from device_app.knowledge.readers.maildir import in_maildir  # imports all readers, rarely needed by an answer

        for other in self.store.paths_under(os.fsencode(path.parent)):
            other_path = Path(os.fsdecode(other))
            if not in_maildir(other_path) and not os.path.lexists(other_path):
                yield other


def deleted(store: KnowledgeStore, files: Iterable[FileState]) -> frozenset[str]:
    """Return the printable paths of those of the files that were deleted."""
    return frozenset(show(file.path) for file in files if _condition(store, file)[0] == "gone")


def _condition(store: KnowledgeStore, file: FileState) -> tuple[Condition, Path, int]:
    """Return a file's condition, its current path and its size in bytes."""
    path = Path(os.fsdecode(file.path))
    if is_of_phone(file.path):
        return "same", path, 0
    try:
        path, status = status_of(path)
    except (FileNotFoundError, NotADirectoryError):
        return "gone" if _is_reachable(store, file.path) else "away", path, 0
    except OSError:
        return "away", path, 0
    same = (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns) and stat.S_ISREG(status.st_mode)
    return "same" if same else "changed", path, status.st_size


def _is_reachable(store: KnowledgeStore, path: bytes) -> bool:
    """Return whether the folder or file that the person added still exists, or at least its parent folder.

    If neither exists, the file may be on a drive that is not connected, for which `add` deletes nothing either.
    """
    roots = [root for root in store.folders() if path.startswith(root.rstrip(b"/") + b"/")] or [path]
    return any(os.path.isdir(root) or os.path.isdir(os.path.dirname(root)) for root in roots)  # noqa: PTH112, PTH120


def status_of(path: Path) -> tuple[Path, os.stat_result]:
    """Return a file's path and status, by its new name if it is a Maildir mail whose flags have changed.

    Raises OSError.
    """
    try:
        return path, path.stat()
    except FileNotFoundError:
        from device_app.knowledge.readers.maildir import identity, in_maildir

        if not in_maildir(path):
            raise
        encoded = os.fsencode(path)
        mails = (folder / name for folder in (path.parent, path.parent.parent / "new") for name in os.listdir(folder))  # noqa: PTH208
        mail = next((mail for mail in mails if mail.name.startswith(path.name) and identity(mail) == encoded), None)
        if mail is None:
            raise
        return mail, mail.stat()
