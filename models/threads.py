"""How many threads to compute with."""

import os


def threads(setting: int) -> int:
    """The setting, or one for each physical core that this process may use."""
    import psutil

    if setting:
        return setting
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or usable, usable))
