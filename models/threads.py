"""The number of threads to compute with."""

import os


def threads(setting: int) -> int:
    """Return the setting or, if it is 0, the number of physical cores that this process may use."""
    import psutil

    if setting:
        return setting
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or usable, usable))
