"""How an app draws on a page: textual's own driver, which ends the app when its server has gone."""

from textual import messages
from textual.drivers.web_driver import WebDriver


class PageDriver(WebDriver):
    """Reads what is typed from the server, and draws to it."""

    def run_input_thread(self) -> None:
        """Read to the end; a server that was killed says no goodbye."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self.process_message(messages.ExitApp())
