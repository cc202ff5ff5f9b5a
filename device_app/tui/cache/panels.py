"""The overview of the caches: suggested questions, savings, background work and space. Uses no store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from device_app.tui.cache import wording
from device_app.tui.cache.suggestions import Suggestions

if TYPE_CHECKING:
    from device_app.tui.edge.overview import Overview

ROOMY = 36
"""The height of the screen in rows from which the plots are drawn higher."""


class Panel(Static):
    """A panel whose content is drawn for the available width."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name, classes="panel", markup=False)
        self._draw: Callable[[int], Content] = lambda _: Content("")

    def show(self, draw: Callable[[int], Content]) -> None:
        """Draw the panel's content with this function from now on."""
        self._draw = draw
        self._redraw()

    def on_resize(self) -> None:
        """Draw the panel again for its new width."""
        self._redraw()

    def _redraw(self) -> None:
        if width := self.content_size.width:
            self.update(self._draw(width))


class Panels(VerticalScroll):
    """The panels of the overview, in two columns if there is room. `suggest` reads the suggested questions."""

    def __init__(self, suggest: Callable[[], Awaitable[Sequence[str]]]) -> None:
        super().__init__(id="overview")
        self.suggestions = Suggestions(suggest)
        self._saved, self._work, self._limits = Panel("saved"), Panel("work"), Panel("limits")

    def compose(self) -> ComposeResult:
        """Yield the panels; in a single column the most used panels come first."""
        with Horizontal(id="halves"):
            with Vertical():
                yield self.suggestions
                yield self._saved
            with Vertical():
                yield self._work
                yield self._limits

    def show(self, overview: Overview, now: datetime, *, here: bool) -> None:
        """Show the state of the caches at `now`, local time; `here` says whether this app does the background work."""
        rows = wording.PLOT_ROWS if self.app.size.height < ROOMY else 2 * wording.PLOT_ROWS
        self.suggestions.explain(wording.no_suggestions(overview))
        self._saved.show(lambda width: wording.saved(overview, now.date(), width, rows))
        self._limits.show(lambda width: wording.limits(overview, width))
        self._work.show(lambda width: wording.work_ahead(overview.worker, overview.ahead, now, width, here=here))
