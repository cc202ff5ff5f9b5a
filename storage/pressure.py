"""How much of a cache's memory it may use while the machine runs short: what the others need is given back in time."""

from pathlib import Path
from typing import Final

import psutil

RESERVE: Final = 256_000_000
"""Bytes that are left to the others of the machine, or of the container."""

LOOK_S: Final = 1.0
"""Seconds for which it is not looked again."""

_CGROUP = Path("/sys/fs/cgroup")


def limit(allowed: int, used: int, size: int, available: int) -> int:
    """Bytes that a cache of `size` may use now, where it was `allowed` so many and uses `used`. Pure.

    Below the reserve it shrinks by what is missing; it grows again when twice the reserve is there, so that it does not
    go to and fro.
    """
    if available < RESERVE:
        return max(0, min(allowed, used - (RESERVE - available)))
    return min(size, allowed + max(0, available - 2 * RESERVE))


def available(cgroup: Path = _CGROUP) -> int:
    """Bytes that could be used without another going short: of the machine, or of the container where that has less."""
    machine = int(psutil.virtual_memory().available)
    try:
        most = int((cgroup / "memory.max").read_text("ascii"))
        used = int((cgroup / "memory.current").read_text("ascii"))
        facts = dict(line.split() for line in (cgroup / "memory.stat").read_text("ascii").splitlines())
        return min(machine, max(0, most - used + int(facts["inactive_file"])))
    except (OSError, ValueError, KeyError):  # no such container, or one without a limit ("max")
        return machine
