"""Paths on the disk: completing a typed path, and suggesting folders for the first run."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from device_app.commands.knowledge import absolute
from device_app.knowledge.readers.formats import READERS
from device_app.system.phone import storage_advice
from shared.errors import UsageError
from storage.passages import show

LIKELY = ("Documents", "Notes", "Mail", "storage/shared/Documents", "storage/shared")
"""Folders under a person's home that are likely to hold documents; the last two exist on phones."""

_MOST_ENTRIES = 20_000
"""The most names examined in one folder; in a larger folder, the person has to type more of the name."""

_MOST_SHOWN = 50


def likely(environment: Mapping[str, str], most: int = 4) -> list[str]:
    """Return at most `most` likely folders that exist and are not empty, as a person would type them."""
    home = Path(environment.get("HOME") or "~").expanduser()
    named = [*_own_documents(home, environment), *LIKELY]
    return [f"~/{name}" for name in dict.fromkeys(named) if _holds_something(home / name)][:most]


def _own_documents(home: Path, environment: Mapping[str, str]) -> list[str]:
    """Return the localised documents folder under the home folder, from the desktop's settings (xdg-user-dirs)."""
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "user-dirs.dirs"
    try:
        said = config.read_text(errors="replace")
    except OSError:
        return []
    return re.findall(r'^XDG_DOCUMENTS_DIR="\$HOME/([^"]+?)/?"', said, re.MULTILINE)


def candidates(typed: str) -> list[str]:
    """Return completions of a typed path: folders first, with a slash at the end, then readable files.

    Case is ignored. Hidden names are offered once a dot is typed; names with unprintable characters never are.
    """
    if typed == "~":
        return ["~/"]
    head, _, start = typed.rpartition("/")
    head = f"{head}/" if head or typed.startswith("/") else ""
    try:
        with os.scandir(Path(head or ".").expanduser()) as entries:
            matching = [entry for entry in itertools.islice(entries, _MOST_ENTRIES) if _is_offered(entry, start)]
            named = [f"{entry.name}/" if _is_folder(entry) else entry.name for entry in matching]
    except (OSError, ValueError, RuntimeError):  # RuntimeError: the home of an unknown user
        return []
    return [head + name for name in sorted(named, key=lambda name: (not name.endswith("/"), name.casefold()))][
        :_MOST_SHOWN
    ]


def checked(typed: str) -> Path:
    """Return the typed path as absolute. Raises UsageError if nothing can be read there."""
    if not typed.strip():
        raise UsageError("Name a file or folder to read, for example ~/Documents")
    try:
        path = absolute(typed.strip())
        exists = os.path.lexists(path)
    except (ValueError, RuntimeError):
        exists, path = False, Path(typed)
    if exists and os.access(path, os.R_OK | (os.X_OK if _is_directory(path) else 0)):
        return path
    if advice := storage_advice(path):
        raise UsageError(f"{advice}.")
    if not exists:
        raise UsageError(f"There is no file or folder {path}. Check the name; Tab completes it.")
    raise UsageError(f"You may not read {path}. Change its permissions, or name another.")


def named(path: bytes, environment: Mapping[str, str]) -> str:
    """Return a path for display, with ~ for the home folder. The caller still has to sanitise it."""
    whole, home = show(path), environment.get("HOME", "").rstrip("/")
    return f"~{whole[len(home) :]}" if home and (whole == home or whole.startswith(f"{home}/")) else whole


def _is_offered(entry: os.DirEntry[str], start: str) -> bool:
    name = entry.name
    if not name.isprintable() or (name.startswith(".") and not start.startswith(".")):
        return False
    if not name.casefold().startswith(start.casefold()):
        return False
    return _is_folder(entry) or Path(name).suffix.lower() in READERS


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 (Path.is_dir raises in a folder without permission)


def _holds_something(folder: Path) -> bool:
    def names() -> Iterator[str]:
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in entries if not entry.name.startswith("."))

    try:
        return next(names(), None) is not None
    except OSError:
        return False
