"""What the app has to say in passing: the latest, on a line of its own that covers nothing."""

from __future__ import annotations

from textual.app import App
from textual.content import Content
from textual.notifications import SeverityLevel
from textual.reactive import reactive
from textual.timer import Timer
from textual.widgets import Static

_MARKS = {"information": ("· ", "$primary"), "warning": ("! ", "$warning"), "error": ("✗ ", "$error")}


class NoticeLine(Static):
    """The latest notice, while it counts. A window that lies over its screen shows it as a toast."""

    def __init__(self) -> None:
        super().__init__(markup=False, classes="notice")
        self.display = False

    def on_mount(self) -> None:
        """Follow the app."""
        self.watch(self.app, "notice", self._show)

    def _show(self, notice: Content | None) -> None:
        self.display = notice is not None
        self.update(notice or "")


class TellingApp(App[None]):
    """A notice takes the place of the one before, so that no two alike are seen."""

    notice: reactive[Content | None] = reactive[Content | None](None)
    _until: Timer | None = None

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Tell something, as it is: what holds foreign text has passed `safe`."""
        self.clear_notifications()
        seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        super().notify(message, title=title, severity=severity, timeout=seconds, markup=markup)
        self.notice = Content.assemble(_MARKS[severity], (f"{title}: " if title else "", "bold"), message)
        self._until = self.set_timer(seconds, self.clear_notifications)

    def clear_notifications(self) -> None:
        """Say no more."""
        super().clear_notifications()
        if self._until:
            self._until.stop()
        self.notice = None
