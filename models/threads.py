"""The number of threads to compute with."""

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

_CORES = Path("/sys/devices/system/cpu")

_BIG = {"cpu_capacity": 0.5, "cpufreq/cpuinfo_max_freq": 0.65}
"""What Linux says of a core, and the share of the largest from which a core is big. Where it does not say the capacity,
which counts work per cycle too, it says the clock: most phones' small cores have less than .65 of the largest one's,
and a laptop's have more.
"""


def threads(setting: int) -> int:
    """Return the setting or, if it is 0, the number of physical cores that this process may use, the big ones alone.

    Each step of a model waits for the slowest thread: a thread on a small core of a phone slows all others.
    """
    import psutil

    if setting:
        return setting
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    big = len(big_cores(usable))
    return max(1, min(psutil.cpu_count(logical=False) or big, big))


def big_cores(usable: Collection[int], folder: Path = _CORES) -> Collection[int]:
    """Return the big ones of these cores, by number: all of them where they are alike, or where Linux says nothing."""
    for name, share in _BIG.items():
        with suppress(OSError, ValueError):
            sizes = {core: int((folder / f"cpu{core}" / name).read_text("ascii")) for core in usable}
            if sizes and min(sizes.values()) > 0:
                return [core for core, size in sizes.items() if size >= share * max(sizes.values())]
    return usable
