"""The welcome text in an empty conversation: today's events, new documents, what to ask about, and how to begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from device_app.tui import messages
from device_app.tui.knowledge.first_run import FirstRun
from device_app.tui.wording import counted, safe_line

if TYPE_CHECKING:
    from device_app.commands.today import Today
    from device_app.tui.edge.facts import Totals

_BAR = 24
_TALL = 24
"""The height in rows from which on the introduction and the filters are shown beside the news."""

_EVENTS = 4
"""The most events of today that the welcome text shows."""


class Welcome(Vertical):
    """The welcome text of an empty conversation; before any file was read, also how to add files.

    `is_shown` becomes true once the numbers of files and passages are known.
    """

    def __init__(self) -> None:
        super().__init__(id="welcome")
        self._shown = Static(markup=False)
        self._first_run = FirstRun()
        self._known: Content = Content("")
        self._today: Content = Content("")
        self._models: Content = Content("")
        self._connected = self._has_news = False
        self.is_shown = False

    def compose(self) -> ComposeResult:
        """Yield the welcome text, then the widget that offers folders to read on the first run."""
        yield self._shown
        yield self._first_run

    def on_mount(self) -> None:
        """Show the part of the text that needs no store."""
        self._show()

    def know(self, totals: Totals) -> None:
        """Show what the person can ask about, from the totals of the store."""
        self.is_shown = True
        if totals.passages:
            self._known = Content.assemble(
                ("You can ask about ", "$quiet"),
                counted(totals.passages, "passage"),
                (f" from {counted(totals.files, 'file')}.", "$quiet"),
            )
        else:
            self._known = Content("")
            self.run_worker(self._first_run.begin())
        self._show()

    def show_today(self, today: Today) -> None:
        """Show today's events, and the documents that are new since yesterday."""
        self._today = Content("\n").join(part for part in (_on_today(today), _new(today)) if part)
        self._has_news = bool(today.events or today.next or today.new)
        self._show()

    def miss(self, missing: messages.Missing) -> None:
        """Show which models are missing, and how to download them."""
        size = f" ({missing.size / 1e6:,.0f} MB)" if missing.size else ""
        self._models = Content.assemble(
            ("Models to download: ", "$warning"),
            f"{safe_line(' and '.join(missing.names))}{size}.\n",
            ("Enter", "$primary bold"),
            " downloads them. None of your data is sent.",
        )
        self._show()

    def fetch(self, fetching: messages.Fetching) -> None:
        """Show the progress of a download."""
        done = fetching.done / fetching.total if fetching.total else 0.0
        bar = "━" * round(done * _BAR)
        progress = f"{fetching.done / 1e6:,.0f}/{fetching.total / 1e6:,.0f} MB" if fetching.total else ""
        self._models = Content.assemble(
            f"{safe_line(fetching.doing)}\n",
            (bar, "$primary"),
            ("─" * (_BAR - len(bar)), "$border-blurred"),
            (f" {progress}", "$quiet"),
        )
        self._show()

    def link(self, *, connected: bool) -> None:
        """Show whether the companion server can be asked, when the link to it changes."""
        self._connected = connected
        self._show()

    def ready(self) -> None:
        """Remove the text about missing models."""
        self._models = Content("")
        self._show()

    def _show(self) -> None:
        head = Content.assemble(("Jackdaw", "$primary bold"), " answers from your own files, on this device.")
        if self._connected:
            head += Content.styled("\nThe companion server is asked what your files do not answer.", "$quiet")
        is_crowded = self._has_news and self.app.size.height < _TALL
        known = self._known
        if is_crowded:  # leave room for suggestions
            head = Content("")
        elif known:
            known += Content.assemble(("\nFilters: ", "$quiet"), ("from:anna in:mail after:2026-03", "$primary"))
        self._shown.update(Content("\n\n").join([part for part in (head, self._today, known, self._models) if part]))


def _on_today(today: Today) -> Content:
    """Return the text about today's events; without a calendar, how to add one."""
    if not today.has_calendar:
        return Content.styled("Add a calendar (.ics) to see here what is on today.", "$quiet")
    if not today.events:
        following = f" Next: {safe_line(today.next)}" if today.next else ""
        return Content.assemble(("Nothing is on today.", "bold"), following)
    lines = [Content.styled("Today", "bold"), *(Content(f"  {safe_line(event)}") for event in today.events[:_EVENTS])]
    if (more := len(today.events) - _EVENTS) > 0:
        lines.append(Content.styled(f"  and {more:,} more: What is on today?", "$quiet"))
    return Content("\n").join(lines)


def _new(today: Today) -> Content:
    """Return the text about documents that are new since yesterday; empty if there are none."""
    if not today.new:
        return Content("")
    newest = f", the newest: {today.newest}" if today.newest else ""
    return Content.assemble(("New since yesterday ", "bold"), safe_line(f"{', '.join(today.new)}{newest}"))
