"""Opens the app on this terminal."""

import os
import sys
import threading
import time
from collections.abc import Collection

from device_app.tui.app import JackdawApp
from device_app.tui.edge.preferences import look

LEAVE_S = 3.0
"""What the app's threads are given to come to an end. Whoever parses a large file cannot be told to."""


def run(*, mouse: bool) -> int:
    """Run the app until the person leaves it; its exit code. Raises SettingError."""
    before = threading.enumerate()
    chosen = look(os.environ)
    app = JackdawApp(os.environ, look=chosen)
    app.run(mouse=mouse and chosen.mouse)
    leave(before, app.return_code or 0, LEAVE_S)
    return app.return_code or 0


def leave(before: Collection[threading.Thread], code: int, seconds: float) -> None:
    """Wait so long for the threads begun since `before`; where one goes on, end the process with the code.

    The shell is the person's again then. What was finished is stored, whatever is cut off here.
    """
    end = time.monotonic() + seconds
    begun = [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]
    for thread in begun:
        thread.join(max(0.0, end - time.monotonic()))
    if any(thread.is_alive() for thread in begun):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
