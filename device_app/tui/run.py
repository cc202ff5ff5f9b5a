"""Opens the app on this terminal."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from typing import TYPE_CHECKING

from device_app.tui.app import JackdawApp

if TYPE_CHECKING:
    from textual.driver import Driver

    from device_app.settings import App
    from device_app.tui.opening import Opening


def run(look: App, opening: Opening | None) -> int:
    """Run the app until the person leaves it; its exit code."""
    app = JackdawApp(os.environ, look=look)
    if opening:
        app.driver_class = _successor(opening)
    app.run(mouse=look.mouse)
    return app.return_code or 0


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
                ended = partial(self._app.exit, return_code=128 + signal.SIGTERM)
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended)

        def write(self, data: str) -> None:
            if opening.taken or data != ALTERNATE:
                super().write(data)

        def run_input_thread(self) -> None:
            # What was typed stays where it is until there is a composer for it.
            while self._waits and not self.exit_event.wait(0.002):
                self._waits = not (self._app.screen_stack and self._app.focused)
            super().run_input_thread()

    return Successor
