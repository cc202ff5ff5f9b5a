"""The process's file descriptors: raises their limit, and divides them between files and connections."""

import sys
from dataclasses import dataclass
from pathlib import Path

FOR_FILES = 128
"""File descriptors reserved for files (the index and tokens when they are reloaded, and logs) and for the sockets of
the metrics port.
"""

UNKNOWN = 1024


@dataclass(frozen=True, slots=True)
class DescriptorBudget:
    """The most connections with a valid token, and the most connections that have not shown a token yet."""

    devices: int
    arriving: int


def budget(limit: int, opened: int, devices: int, arriving: int) -> DescriptorBudget:
    """Return how many connections fit under a limit of file descriptors, `opened` of which are in use.

    The result is at most `devices` connections with a token and `arriving` without one.
    """
    left = max(limit - opened - FOR_FILES, 8)
    arriving = max(min(arriving, left // 2), 4)
    return DescriptorBudget(min(devices, max(left - arriving, 4)), arriving)


def raise_limit() -> int:
    """Raise the process's descriptor limit as far as the system allows. Return the new limit."""
    if sys.platform == "win32":
        return UNKNOWN
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):  # macOS reports a higher limit than it allows
        return soft
    return hard if hard != resource.RLIM_INFINITY else 1 << 20


def opened() -> int:
    """Return the number of open file descriptors."""
    try:
        return sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:
        return 64
