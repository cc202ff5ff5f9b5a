"""File descriptors of the process: as many as the system allows, shared out between files and connections."""

import sys
from dataclasses import dataclass
from pathlib import Path

FOR_FILES = 128
"""Kept for files: the index and the tokens as they are read again, logs, the sockets of the metrics."""

UNKNOWN = 1024


@dataclass(frozen=True, slots=True)
class DescriptorBudget:
    """How many connections there may be with a token, and how many that have not shown one yet."""

    devices: int
    arriving: int


def budget(limit: int, opened: int, devices: int, arriving: int) -> DescriptorBudget:
    """What a limit of descriptors leaves, of which so many are open already. At most what was asked for."""
    left = max(limit - opened - FOR_FILES, 8)
    arriving = max(min(arriving, left // 2), 4)
    return DescriptorBudget(min(devices, max(left - arriving, 4)), arriving)


def raise_limit() -> int:
    """Let the process open as many descriptors as the system lets it; how many that is."""
    if sys.platform == "win32":
        return UNKNOWN
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):  # macOS knows a lower limit than it tells
        return soft
    return hard if hard != resource.RLIM_INFINITY else 1 << 20


def opened() -> int:
    """Descriptors that are open now."""
    try:
        return sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:
        return 64
