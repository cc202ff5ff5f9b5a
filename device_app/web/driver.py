"""The app's driver on a web page: textual's web driver, which also ends the app when its server has gone."""

from textual import messages
from textual.drivers.web_driver import WebDriver


class PageDriver(WebDriver):
    """The terminal driver for a web page: reads input from the web server and sends it what the app draws."""

    def run_input_thread(self) -> None:
        """Read input until the stream ends, then exit the app: a killed server sends no exit message."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self.process_message(messages.ExitApp())
