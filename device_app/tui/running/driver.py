"""The app's terminal driver: takes over from the opening screen, and always restores the terminal at the end."""

from __future__ import annotations

import os
import termios
import time
from contextlib import suppress
from typing import Any

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from device_app.tui.actions import BY_ID
from device_app.tui.opening import ALTERNATE, Opening
from device_app.tui.running.ending import Ending

_WAITS_S = 10.0
"""Seconds after which keys are read even if the app has no input field (composer) yet, so that ^q works."""

_GIVEN_BACK = (
    "\x1b[?2026l\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"
    "\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""The text that ends every mode that Textual sets: mouse, bracketed paste and others.

It also shows the shell's screen and the cursor.
"""


class TerminalDriver(LinuxDriver):
    """A terminal driver of Textual. `is_held_up` is true while it waits for the terminal to accept output."""

    opening: Opening
    ending: Ending
    is_held_up = False
    _drawing = _waits = _is_suspended = False

    def __init__(self, app: App[Any], **how: Any) -> None:
        super().__init__(app, **how)
        self.ending.terminal = self

    def start_application_mode(self) -> None:
        """Continue from the opening screen without flicker, and keep the original modes that it has stored."""
        self._drawing, self._is_suspended = True, False
        first = self._waits = not self.opening.taken
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if first:
            self.attrs_before, self.opening.taken = self.opening.found, True

    def stop_application_mode(self) -> None:
        """Restore the terminal."""
        super().stop_application_mode()
        self._drawing = False

    def suspend_application_mode(self) -> None:
        """Restore the terminal while the app is suspended."""
        super().suspend_application_mode()
        self._is_suspended = True

    def _sigcont_application(self, *_: object) -> None:
        """Suspend and resume after a SIGSTOP, which no handler receives.

        Otherwise the app's terminal modes would be taken for the shell's. An app that has restored the terminal at its
        end does not set its modes again.
        """
        if self._drawing:
            self.suspend_application_mode()
            self._must_signal_resume = True
        if self._is_suspended:
            getattr(super(), "_sigcont_application", self.resume_application_mode)()  # Textual's own, if it has one

    def write(self, data: str) -> None:
        """Write the data, unless it switches to the screen that the opening screen has already shown."""
        if self.opening.taken or data != ALTERNATE:
            self.is_held_up = True
            try:
                super().write(data)
            finally:
                self.is_held_up = False

    def run_input_thread(self) -> None:
        """Read keys. Typed keys stay in the terminal until a composer can take them."""
        end = time.monotonic() + _WAITS_S
        while self._waits and not self.exit_event.wait(0.002):
            self._waits = time.monotonic() < end and not (self._app.screen_stack and self._app.focused)
        try:
            super().run_input_thread()
        except OSError:
            self.ending.terminal_gone()

    def process_message(self, message: Message) -> None:
        """Pass a message to the app. The quit key is also reported to `ending`, as a frozen app cannot handle keys."""
        if isinstance(message, events.Key) and message.key == BY_ID["quit"].key:
            self.ending.quit_pressed()
        super().process_message(message)

    def give_back(self) -> None:
        """Restore the terminal, from any thread and without the app's cooperation."""
        if self._drawing:
            with suppress(OSError):
                os.write(2, _GIVEN_BACK.encode())  # Textual writes there, too
            with suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.opening.found)
                termios.tcflush(self.fileno, termios.TCIFLUSH)


def driver_after(opening: Opening, ending: Ending) -> type[Driver]:
    """Return a driver class that continues from the opening screen."""
    return type("Successor", (TerminalDriver,), {"opening": opening, "ending": ending})
