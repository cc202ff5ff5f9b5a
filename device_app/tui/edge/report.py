"""Reports a fault of the app with the stacks of its threads. The report contains no data from files or questions."""

import os
import platform
import sys
import threading
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime

from shared.errors import NotWritable
from storage.paths import Paths
from storage.private import write_private


def report(what: str, tasks: Sequence[str]) -> str:
    """Write `what` went wrong, task names and all threads' stacks to a file; return its path, or why there is none."""
    from importlib.metadata import version

    names = {thread.ident: thread.name for thread in threading.enumerate()}
    lines = [
        f"{datetime.now(UTC).isoformat(timespec='seconds')} {what}",
        f"jackdaw {version('jackdaw')}, textual {version('textual')}, Python {platform.python_version()}",
        "",
        f"Tasks: {', '.join(sorted(tasks))}",
    ]
    for ident, frame in sys._current_frames().items():
        lines += ["", f"Thread {names.get(ident, ident)}:", *(line.rstrip() for line in traceback.format_stack(frame))]
    file = Paths.locate(os.environ).app_report
    try:
        write_private(file, "\n".join(lines) + "\n")
    except NotWritable as error:
        return f"no file: {error}"
    return f"{file}"
