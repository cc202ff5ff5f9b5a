"""Lowers the scheduling priority of single threads."""

import os
import sys
import threading
from contextlib import suppress


def be_nice(nice: int) -> None:
    """Lower this thread's priority to this nice value, on Linux. Threads that it starts inherit the priority."""
    if nice and sys.platform in ("linux", "android"):  # elsewhere a thread has no nice value of its own
        with suppress(OSError):
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, max(nice, os.getpriority(os.PRIO_PROCESS, thread)))
