"""Ends the app on a signal, on ^q or after a fault, and kills it if it does not end in time.

Runs in a thread of its own, so that it depends neither on the event loop nor on any widget.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from asyncio import AbstractEventLoop, all_tasks
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from typing import TYPE_CHECKING, Any

from textual.app import App

from device_app.tui.running.liveness import EVERY_S, LOOP_LOOKS, Fault, Grace, Silence

if TYPE_CHECKING:
    from device_app.tui.running.driver import TerminalDriver

SIGNALS = (signal.SIGTERM, signal.SIGHUP)

_TYPED_S = 1.0
"""Seconds in which the app may handle ^q as an ordinary key, after the keys typed before it."""

_LAST_WORDS_S = 2.0
"""Seconds for the final output, in case the terminal accepts no more."""

_QUIT = 0
"""The byte in the pipe that stands for ^q; other bytes are signal numbers."""

_WAKE = 255

Report = Callable[[str, Sequence[str]], str]
"""The type of a function that writes a report of a fault, with the names of the event loop's tasks.

It returns the place of the report.
"""


class Ending:
    """Ends one app. `terminal` is the app's driver, once it draws; `report` writes a report and returns its place.

    `fault` is the fault for which the app has to end, if there is one. Every method may be called from any thread.
    """

    terminal: TerminalDriver | None = None
    fault: Fault | None = None
    has_ended = False
    """Whether the app has ended, so that the process only waits for its threads."""

    def __init__(self, app: App[Any], report: Report) -> None:
        self._app, self._report = app, report
        self._loop: AbstractEventLoop | None = None
        self._beats = 0
        self._has_beats = True
        self._written = ""
        self._asked: tuple[float, int] | None = None
        self._over = threading.Event()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the app in this context. Signals reach the thread even while the main thread runs no Python code."""
        handlers = {number: signal.signal(number, lambda number, _: self._ask(number)) for number in SIGNALS}
        before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        thread = threading.Thread(target=self._watch, name="ending", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._ask(_WAKE)
            thread.join()
            signal.set_wakeup_fd(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def begin(self, loop: AbstractEventLoop, *, has_beats: bool) -> None:
        """Store the app's event loop.

        `has_beats`: `beat` is called for each message; without that, a frozen loop cannot be detected.
        """
        self._loop, self._has_beats = loop, has_beats

    def beat(self) -> None:
        """Record that the event loop is alive. Called at each message, as many keys in a row leave a task no pause."""
        self._beats += 1

    def quit_pressed(self) -> None:
        """Record that the person wants to leave the app."""
        self._ask(_QUIT)

    def terminal_gone(self) -> None:
        """End the app, as its terminal is gone."""
        self._ask(signal.SIGHUP)

    def fail(self, fault: Fault) -> None:
        """End the app because of a fault."""
        self.fault = fault
        self.end(1)
        self._write_report(fault)

    def end(self, code: int) -> None:
        """End the app with this exit code."""
        if self._asked is None:
            self._asked = time.monotonic(), code
        self._exit(code)

    def print_fault(self) -> None:
        """Print the fault that ended the app, if there is one, on stderr."""
        if self.fault:
            with suppress(OSError):
                print(f"jackdaw: {self.fault.message(self._written)}", file=sys.__stderr__, flush=True)

    def _ask(self, number: int) -> None:
        with suppress(BlockingIOError):  # the pipe is full of requests
            os.write(self._writer, bytes([number]))

    def _exit(self, code: int) -> None:
        if self._loop and self._app.return_code is None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._app.exit, None, code)

    def _watch(self) -> None:
        silence, grace, seen = Silence(LOOP_LOOKS), Grace(), -1
        looked, worked = time.monotonic(), _worked_s()
        while not self._over.is_set():
            self._take_requests(max(0.0, looked + EVERY_S - time.monotonic()))
            self._request_exit()
            now = time.monotonic()
            if (passed := now - looked) < EVERY_S:
                continue
            before, worked = worked, _worked_s()
            busy = None if worked is None or before is None else (worked - before) / passed
            held_up = self.terminal is not None and self.terminal.is_held_up
            answered = self._beats != seen or not self._has_beats or held_up
            late_s = passed - EVERY_S
            if self._asked:
                if grace.look(late_s=late_s, busy=busy, reads_disk=_reads_disk()):
                    self._give_up(self._asked[1])
            elif silence.look(answered=answered, late_s=late_s, busy=busy):
                self.fault = Fault(f"The event loop was stuck in {_where()}")
                self._cut_off(1)
            looked, seen = now, self._beats

    def _take_requests(self, seconds: float) -> None:
        """Wait up to `seconds` for a signal or ^q, and record it."""
        if select([self._reader], [], [], seconds)[0]:
            for number in os.read(self._reader, 1_024):
                if number in SIGNALS:
                    self.end(128 + number)
                elif number == _QUIT and self._asked is None:
                    self._asked = time.monotonic(), 0

    def _request_exit(self) -> None:
        """Make the app exit if the quit key alone has not ended it."""
        if self._asked:
            asked_at, code = self._asked
            if time.monotonic() - asked_at > _TYPED_S:
                self._exit(code)

    def _give_up(self, code: int) -> None:
        """Kill an app that has not ended in time; the exit code is `code`, or 1 after a fault."""
        if code == 0 and not self.has_ended:
            self.fault = self.fault or Fault("The app did not end when it was asked to")
        self._cut_off(1 if self.fault else code)

    def _cut_off(self, code: int) -> None:
        """End the process at once, after restoring the terminal and printing the fault."""

        def last() -> None:
            if self.terminal:
                self.terminal.give_back()
            if self.fault:
                self._write_report(self.fault)
            self.print_fault()

        thread = threading.Thread(target=last, daemon=True)
        thread.start()
        thread.join(_LAST_WORDS_S)
        os._exit(code)

    def _write_report(self, fault: Fault) -> None:
        tasks = [task.get_name() for task in all_tasks(self._loop)] if self._loop else []
        self._written = self._report(fault.what, tasks)


def _where() -> str:
    """Return the place in the code that the main thread executes."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return f"{frame.f_code.co_qualname} ({frame.f_code.co_filename}:{frame.f_lineno})" if frame else "its start"


def _worked_s() -> float | None:
    """Return the main thread's processor time in seconds; None if the system does not count it."""
    ident = threading.main_thread().ident
    if ident is None or not hasattr(time, "pthread_getcpuclockid"):
        return None
    return time.clock_gettime(time.pthread_getcpuclockid(ident))


def _reads_disk() -> bool:
    """Return whether a thread of this process waits for a disk; False if the system does not say."""
    with suppress(OSError):
        return any(_state(stat) == "D" for stat in Path("/proc/self/task").glob("*/stat"))
    return False


def _state(stat: Path) -> str:
    with suppress(OSError):  # the thread has ended
        return stat.read_text().rpartition(") ")[2][:1]
    return ""
