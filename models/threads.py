"""Chooses the number of threads to compute with."""

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

_CORES = Path("/sys/devices/system/cpu")

_BIG = {"cpu_capacity": 0.5, "cpufreq/cpuinfo_max_freq": 0.65}
"""The files in which Linux states a core's capacity or clock, and the share of the largest value from which on a core
counts as big. The clock is used where the capacity, which also counts work per cycle, is not stated: most phones' small
cores have less than 65% of the highest clock rate, and a laptop's have more.
"""


def threads(setting: int) -> int:
    """Return the setting or, if it is 0, the number of physical cores, but at most the number of big cores that this
    process may use (all usable cores, if they are alike).

    Each step of a model waits for the slowest thread: a thread on a small core of a phone slows all others.
    """
    if setting:
        return setting
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    big = len(big_cores(usable))
    return max(1, min(physical_cores() or big, big))


def physical_cores(folder: Path = _CORES) -> int:
    """Return the number of physical cores of this machine; 0 if the system does not state it."""
    for name in ("core_cpus_list", "thread_siblings_list"):
        with suppress(OSError, ValueError):
            if cores := {file.read_text("ascii") for file in folder.glob(f"cpu[0-9]*/topology/{name}")}:
                return len(cores)
    import psutil  # only where Linux does not state it: the import takes long

    return psutil.cpu_count(logical=False) or 0


def big_cores(usable: Collection[int], folder: Path = _CORES) -> Collection[int]:
    """Return those of the given cores that are big, by number: all of them if they are alike, or if Linux states
    nothing about them.
    """
    for name, share in _BIG.items():
        with suppress(OSError, ValueError):
            sizes = {core: int((folder / f"cpu{core}" / name).read_text("ascii")) for core in usable}
            if sizes and min(sizes.values()) > 0:
                return [core for core, size in sizes.items() if size >= share * max(sizes.values())]
    return usable
