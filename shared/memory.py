"""The available memory, on the machine or within the limits of the process's container."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")

_LIMITS = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)
"""The files of control groups of version 2 and of version 1.

They hold the limit, the memory in use and its parts; the named part is cached files, which the kernel drops first.
"""


def available(cgroup: Path = _CGROUP) -> int:
    """Return the bytes of memory available without swapping, on the machine or in the container, whichever is less."""
    import psutil

    return min([int(psutil.virtual_memory().available), *_within_limits(cgroup)])


def _within_limits(cgroup: Path) -> Iterator[int]:
    for limit, used, parts, reclaimable in _LIMITS:
        with suppress(OSError, ValueError, KeyError):  # not in a container, or one without a limit ("max")
            most, taken = (int((cgroup / name).read_text("ascii")) for name in (limit, used))
            sizes = dict(line.split() for line in (cgroup / parts).read_text("ascii").splitlines())
            yield max(0, most - taken + int(sizes[reclaimable]))
