"""The widget that shows the progress of reading files, used on several screens."""

from __future__ import annotations

from textual import events
from textual.widgets import Static

from device_app.tui.knowledge.reading import Phase, Reading, summary


class ReadingView(Static):
    """The progress bar, the current file and the time left, from the app's `reading`. Hidden if no file is read."""

    def __init__(self) -> None:
        super().__init__(classes="reading", markup=False)
        self.display = False
        self._reading = Reading()

    def on_mount(self) -> None:
        """Watch the app's `reading`, starting with its present value."""
        self.watch(self.app, "reading", self._follow)

    def on_resize(self, event: events.Resize) -> None:
        """Draw the progress for the new width."""
        self._draw(event.size.width)

    def settle(self) -> None:
        """Remove the summary that is shown once reading has finished."""
        if self._reading.phase is Phase.DONE:
            self._follow(Reading())

    def _follow(self, reading: Reading) -> None:
        self._reading = reading
        self._draw(self.content_size.width or self.app.size.width - 2)

    def _draw(self, width: int) -> None:
        shown = summary(self._reading, width)
        self.display = bool(shown)
        self.update(shown)
