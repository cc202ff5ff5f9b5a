"""Opens the app on this terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from device_app.tui.app import JackdawApp

if TYPE_CHECKING:
    from textual.driver import Driver

    from device_app.settings import App
    from device_app.tui.opening import Opening

_ENDING = (signal.SIGTERM, signal.SIGHUP)

LEAVE_S = 3.0
"""What the app's threads are given to come to an end. Whoever parses a large file cannot be told to."""


def run(look: App, opening: Opening | None) -> int:
    """Run the app until the person leaves it; its exit code."""
    before = threading.enumerate()
    app = JackdawApp(os.environ, look=look)
    if opening:
        app.driver_class = _successor(opening)
    asyncio.run(_run(app, mouse=look.mouse))
    if app.return_code == 128 + signal.SIGHUP:
        for stream in (1, 2):  # there is no terminal any more; what is flushed at the end goes nowhere, without a word
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    leave(before, app.return_code or 0, LEAVE_S)
    return app.return_code or 0


async def _run(app: JackdawApp, *, mouse: bool) -> None:
    """Let SIGTERM, and a terminal that is closed, end the app as the person would: all is kept, the terminal whole."""
    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, app.exit, None, 128 + number)
    await app.run_async(mouse=mouse)


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


def _successor(opening: Opening) -> type[Driver]:
    """A driver that goes on where the opening stands, so that nothing flickers, and gives back what that had found."""
    from textual.drivers.linux_driver import LinuxDriver

    from device_app.tui.opening import ALTERNATE

    class Successor(LinuxDriver):
        def start_application_mode(self) -> None:
            first = self._waits = not opening.taken
            super().start_application_mode()  # type: ignore[no-untyped-call]
            if first:
                self.attrs_before, opening.taken = opening.found, True

        def write(self, data: str) -> None:
            if opening.taken or data != ALTERNATE:
                super().write(data)

        def run_input_thread(self) -> None:
            # What was typed stays where it is until there is a composer for it.
            while self._waits and not self.exit_event.wait(0.002):
                self._waits = not (self._app.screen_stack and self._app.focused)
            super().run_input_thread()

    return Successor
