"""Recognises Maildir: a folder with one file per mail, moved from `new` to `cur` and renamed with its flags."""

import os
import re
from pathlib import Path

_FLAGS = re.compile(rb"[:;!]2,[A-Za-z]*$")


def is_maildir(folder: Path) -> bool:
    """Return whether the folder contains `cur`, `new` and `tmp`."""
    # Unlike Path.is_dir, this raises no error where the folder may be listed but not entered.
    return all(os.path.isdir(folder / name) for name in ("cur", "new", "tmp"))  # noqa: PTH112


def in_maildir(path: Path) -> bool:
    """Return whether the file is a delivered mail of a Maildir."""
    return path.parent.name in ("cur", "new") and is_maildir(path.parent.parent)


def identity(path: Path) -> bytes:
    """Return a stable identity of a file: its path or, for a mail in a Maildir, its path in `cur` without flags."""
    if not in_maildir(path):
        return os.fsencode(path)
    return os.fsencode(path.parent.parent / "cur") + b"/" + _FLAGS.sub(b"", os.fsencode(path.name))
