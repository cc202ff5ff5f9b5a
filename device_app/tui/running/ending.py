"""How the app comes to its end: asked by a signal, by ^q or by a fault, and cut off where it does not heed that.

A thread of its own sees to it, so that it depends neither on the event loop nor on any widget.
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
from select import select
from typing import TYPE_CHECKING, Any

from textual.app import App

from device_app.tui.running.liveness import EVERY_S, LOOP_LOOKS, Fault, Silence

if TYPE_CHECKING:
    from device_app.tui.running.driver import TerminalDriver

SIGNALS = (signal.SIGTERM, signal.SIGHUP)

GRACE_S = 6.0
"""What the app is given to end in an orderly way."""

_TYPED_S = 1.0
"""What ^q is given to be handled as any key, behind those that were typed before it."""

_LAST_S = 2.0
"""What telling the person may take at the very end: a terminal that takes nothing more holds up nothing."""

_QUIT = 0
"""Stands for ^q where other bytes are signals' numbers."""

_WAKE = 255

Report = Callable[[str, Sequence[str]], str]
"""Writes down a fault, with the names of the event loop's tasks; where that can be read."""


class Ending:
    """Ends one app. `terminal` is where it draws, once it does; `report` writes a fault down and says where.

    `fault` is why it has to end, if that is so. Every method may be called from any thread.
    """

    terminal: TerminalDriver | None = None
    fault: Fault | None = None
    has_ended = False
    """Whether the app itself has: what is waited for then are its threads."""

    def __init__(self, app: App[Any], report: Report) -> None:
        self._app, self._report = app, report
        self._loop: AbstractEventLoop | None = None
        self._beats = 0
        self._written = ""
        self._asked: tuple[float, int] | None = None
        self._over = threading.Event()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See to it for so long. Signals reach the thread even while the main thread runs no Python."""
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

    def begin(self, loop: AbstractEventLoop) -> None:
        """The app runs in this loop."""
        self._loop = loop

    def beat(self) -> None:
        """The event loop lives: many keys at once are handled without a pause, in which a task could look."""
        self._beats += 1

    def quit_pressed(self) -> None:
        """The person wants to leave."""
        self._ask(_QUIT)

    def terminal_gone(self) -> None:
        """There is nobody to show anything to."""
        self._ask(signal.SIGHUP)

    def fail(self, fault: Fault) -> None:
        """End the app because of a fault."""
        self.fault = fault
        self.end(1)
        self._write_report(fault)

    def end(self, code: int) -> None:
        """End the app with this code."""
        if self._asked is None:
            self._asked = time.monotonic(), code
        self._exit(code)

    def tell(self) -> None:
        """Say on stderr what the fault is."""
        if self.fault:
            with suppress(OSError):
                print(f"jackdaw: {self.fault.told(self._written)}", file=sys.__stderr__, flush=True)

    def _ask(self, number: int) -> None:
        with suppress(BlockingIOError):  # it is full of wishes
            os.write(self._writer, bytes([number]))

    def _exit(self, code: int) -> None:
        if self._loop and self._app.return_code is None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._app.exit, None, code)

    def _watch(self) -> None:
        silence, seen = Silence(LOOP_LOOKS), -1
        looked, worked = time.monotonic(), _worked_s()
        while not self._over.is_set():
            self._heed(max(0.0, looked + EVERY_S - time.monotonic()))
            self._insist()
            now = time.monotonic()
            if (passed := now - looked) < EVERY_S:
                continue
            before, worked = worked, _worked_s()
            busy = None if worked is None or before is None else (worked - before) / passed
            held_up = self.terminal is not None and self.terminal.is_held_up
            answered = self._beats != seen or self._asked is not None or held_up
            if silence.look(answered=answered, late_s=passed - EVERY_S, busy=busy):
                self.fault = Fault(f"The event loop was stuck in {_where()}")
                self._cut_off(1)
            looked, seen = now, self._beats

    def _heed(self, seconds: float) -> None:
        """Wait so long for a wish, and heed it."""
        if select([self._reader], [], [], seconds)[0]:
            for number in os.read(self._reader, 1_024):
                if number in SIGNALS:
                    self.end(128 + number)
                elif number == _QUIT and self._asked is None:
                    self._asked = time.monotonic(), 0

    def _insist(self) -> None:
        """Ask the app for what was so far only typed; cut off what was asked for long ago."""
        if self._asked:
            asked_at, code = self._asked
            waited = time.monotonic() - asked_at
            if waited > GRACE_S:
                if code == 0 and not self.has_ended:
                    self.fault = self.fault or Fault("The app did not end when it was told to")
                self._cut_off(1 if self.fault else code)
            if waited > _TYPED_S:
                self._exit(code)

    def _cut_off(self, code: int) -> None:
        """End the process: the terminal first, then the words."""

        def last() -> None:
            if self.terminal:
                self.terminal.give_back()
            if self.fault:
                self._write_report(self.fault)
            self.tell()

        telling = threading.Thread(target=last, daemon=True)
        telling.start()
        telling.join(_LAST_S)
        os._exit(code)

    def _write_report(self, fault: Fault) -> None:
        tasks = [task.get_name() for task in all_tasks(self._loop)] if self._loop else []
        self._written = self._report(fault.what, tasks)


def _where() -> str:
    """Where the main thread stands."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return f"{frame.f_code.co_qualname} ({frame.f_code.co_filename}:{frame.f_lineno})" if frame else "its start"


def _worked_s() -> float | None:
    """Processor time of the main thread; None where the system does not tell."""
    ident = threading.main_thread().ident
    if ident is None or not hasattr(time, "pthread_getcpuclockid"):
        return None
    return time.clock_gettime(time.pthread_getcpuclockid(ident))
