"""The lines that follow the reading of files, wherever they stand."""

from __future__ import annotations

from textual import events
from textual.widgets import Static

from device_app.tui.knowledge.reading import Phase, Reading, summary


class ReadingView(Static):
    """Bar, file at hand, time left. The app has `reading`. Hidden while nothing is read."""

    def __init__(self) -> None:
        super().__init__(classes="reading", markup=False)
        self.display = False
        self._reading = Reading()

    def on_mount(self) -> None:
        """Follow, from what holds now on."""
        self.watch(self.app, "reading", self._follow)

    def on_resize(self, event: events.Resize) -> None:
        """Draw for the width."""
        self._draw(event.size.width)

    def settle(self) -> None:
        """Say no more about what was read."""
        if self._reading.phase is Phase.DONE:
            self._follow(Reading())

    def _follow(self, reading: Reading) -> None:
        self._reading = reading
        self._draw(self.content_size.width or self.app.size.width - 2)

    def _draw(self, width: int) -> None:
        shown = summary(self._reading, width)
        self.display = bool(shown)
        self.update(shown)
