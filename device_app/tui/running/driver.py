"""The app's terminal: taken over from what was shown while the app was imported, and given back whatever happens."""

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
"""Keys are read after so long even where there is no composer yet: ^q is one of them."""

_GIVEN_BACK = (
    "\x1b[?2026l\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"
    "\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""Ends every mode that Textual sets: no mouse, no bracketed paste, the shell's screen and its cursor."""


class TerminalDriver(LinuxDriver):
    """`is_held_up` while the app waits for the terminal to take what it has drawn."""

    opening: Opening
    ending: Ending
    is_held_up = False
    _drawing = _waits = _is_suspended = False

    def __init__(self, app: App[Any], **how: Any) -> None:
        super().__init__(app, **how)
        self.ending.terminal = self

    def start_application_mode(self) -> None:
        """Go on where the opening stands, so that nothing flickers, and keep the modes that it had found."""
        self._drawing, self._is_suspended = True, False
        first = self._waits = not self.opening.taken
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if first:
            self.attrs_before, self.opening.taken = self.opening.found, True

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        super().stop_application_mode()
        self._drawing = False

    def suspend_application_mode(self) -> None:
        """Give the terminal back for some time."""
        super().suspend_application_mode()
        self._is_suspended = True

    def _sigcont_application(self, *_: object) -> None:
        """Suspend and resume after a SIGSTOP too, which no handler sees: else the app's modes pass for the shell's.

        An app that has given the terminal back because it ends takes it no more.
        """
        if self._drawing:
            self.suspend_application_mode()
            self._must_signal_resume = True
        if self._is_suspended:
            getattr(super(), "_sigcont_application", self.resume_application_mode)()  # Textual's own, where it has one

    def write(self, data: str) -> None:
        """Write it, unless it shows the screen that the opening has shown already."""
        if self.opening.taken or data != ALTERNATE:
            self.is_held_up = True
            try:
                super().write(data)
            finally:
                self.is_held_up = False

    def run_input_thread(self) -> None:
        """Read keys. What was typed stays where it is until there is a composer for it."""
        end = time.monotonic() + _WAITS_S
        while self._waits and not self.exit_event.wait(0.002):
            self._waits = time.monotonic() < end and not (self._app.screen_stack and self._app.focused)
        try:
            super().run_input_thread()
        except OSError:
            self.ending.terminal_gone()

    def process_message(self, message: Message) -> None:
        """Pass it on. The key that quits goes to `ending` too: the app may be in a state in which no key reaches it."""
        if isinstance(message, events.Key) and message.key == BY_ID["quit"].key:
            self.ending.quit_pressed()
        super().process_message(message)

    def give_back(self) -> None:
        """The terminal as it was found, from any thread, and without anything that the app would have to do."""
        if self._drawing:
            with suppress(OSError):
                os.write(2, _GIVEN_BACK.encode())  # where Textual writes
            with suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.opening.found)
                termios.tcflush(self.fileno, termios.TCIFLUSH)


def driver_after(opening: Opening, ending: Ending) -> type[Driver]:
    """The driver that goes on where the opening stands."""
    return type("Successor", (TerminalDriver,), {"opening": opening, "ending": ending})
