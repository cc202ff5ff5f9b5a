"""Runs the app on this terminal."""

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
from device_app.tui.edge.report import report
from device_app.tui.running import pumps
from device_app.tui.running.ending import Ending
from device_app.tui.running.liveness import Fault
from device_app.tui.running.watch import watch

if TYPE_CHECKING:
    from device_app.commands.opening import MakeDevice
    from device_app.settings import App
    from device_app.tui.opening import Opening

LEAVE_S = 3.0
"""The seconds that the app's threads have to end. A thread that parses a large file cannot be interrupted."""


def run(look: App, opening: Opening | None, make: MakeDevice | None = None) -> int:
    """Run the app with the appearance `look`, and return its exit code.

    It takes the terminal over from `opening`, if given. `make` creates its devices, see `commands.opening`.
    """
    before = threading.enumerate()
    app = JackdawApp(os.environ, look=look, make=make)
    ending = Ending(app, report)
    if opening:
        from device_app.tui.running.driver import driver_after

        app.driver_class = driver_after(opening, ending)
    with ending.watching():
        asyncio.run(_run(app, ending, mouse=look.mouse))
    if app.return_code == 128 + signal.SIGHUP:
        for stream in (1, 2):  # the terminal is gone; discard what is flushed at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    ending.print_fault()
    code = 1 if ending.fault else app.return_code or 0
    leave(before, code, LEAVE_S)
    return code


async def _run(app: JackdawApp, ending: Ending, *, mouse: bool) -> None:
    """Run the app, and check meanwhile that it responds."""
    ending.begin(asyncio.get_running_loop(), has_beats=pumps.on_each_message(ending.beat))
    watching = asyncio.create_task(_watch(app, ending))
    await app.run_async(mouse=mouse)
    ending.has_ended = True
    if pumps.ended_alone(app):
        ending.fail(Fault("The message loop of the app has ended"))
    ending.end(app.return_code or 0)  # the event loop's own shutdown may hang after this
    watching.cancel()


async def _watch(app: JackdawApp, ending: Ending) -> None:
    if fault := await watch(app, ending.beat):
        ending.fail(fault)
    else:
        ending.end(app.return_code or 0)


def leave(before: Collection[threading.Thread], code: int, seconds: float) -> None:
    """Wait for the threads started since `before`; if one is still alive, end the process with the exit code `code`.

    The person thus gets the shell back. Finished work is stored, even if other work is interrupted.
    """
    end = time.monotonic() + seconds
    started = [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]
    for thread in started:
        thread.join(max(0.0, end - time.monotonic()))
    if any(thread.is_alive() for thread in started):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
