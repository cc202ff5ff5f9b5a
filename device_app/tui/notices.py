"""Notices to the person: the latest is shown on a line of its own, which covers nothing."""

from __future__ import annotations

from textual.app import App
from textual.content import Content
from textual.notifications import SeverityLevel
from textual.reactive import reactive
from textual.timer import Timer
from textual.widgets import Static

_MARKS = {"information": ("· ", "$primary"), "warning": ("! ", "$warning"), "error": ("✗ ", "$error")}


class NoticeLine(Static):
    """The line that shows the latest notice while it is valid. Over a modal window the notice is shown as a toast."""

    def __init__(self) -> None:
        super().__init__(markup=False, classes="notice")
        self.display = False

    def on_mount(self) -> None:
        """Follow the app's `notice` attribute."""
        self.watch(self.app, "notice", self._show)

    def _show(self, notice: Content | None) -> None:
        self.display = notice is not None
        self.update(notice or "")


class TellingApp(App[None]):
    """An app in which a new notice replaces the last one, so that no notice is shown twice."""

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
        """Show a notice without markup; untrusted text in it must have passed `safe`."""
        self.clear_notifications()
        seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        super().notify(message, title=title, severity=severity, timeout=seconds, markup=markup)
        self.notice = Content.assemble(_MARKS[severity], (f"{title}: " if title else "", "bold"), message)
        self._until = self.set_timer(seconds, self.clear_notifications)

    def action_help_quit(self) -> None:
        """Say which keys quit and stop, as Ctrl+C does neither; Textual's own notice needs markup."""
        self.notify("To quit, press Ctrl+Q. To stop an answer, press Esc.")

    def clear_notifications(self) -> None:
        """Remove the notice."""
        super().clear_notifications()
        if self._until:
            self._until.stop()
        self.notice = None
