"""Maildir: a folder with a file per mail, moved from `new` to `cur` and renamed as its flags change."""

import os
import re
from pathlib import Path

_FLAGS = re.compile(rb"[:;!]2,[A-Za-z]*$")


def is_maildir(folder: Path) -> bool:
    """Whether the folder holds `cur`, `new` and `tmp`."""
    # Unlike Path.is_dir, this raises nothing where the folder may be listed but not entered.
    return all(os.path.isdir(folder / name) for name in ("cur", "new", "tmp"))  # noqa: PTH112


def in_maildir(path: Path) -> bool:
    """Whether the file is a delivered mail of a Maildir."""
    return path.parent.name in ("cur", "new") and is_maildir(path.parent.parent)


def identity(path: Path) -> bytes:
    """What names the file for as long as it is the same one: its path, of a mail in a Maildir whatever its flags."""
    if not in_maildir(path):
        return os.fsencode(path)
    return os.fsencode(path.parent.parent / "cur") + b"/" + _FLAGS.sub(b"", os.fsencode(path.name))
