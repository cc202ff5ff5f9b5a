"""The passages of one file, as they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from device_app.tui.knowledge import rows
from device_app.tui.wording import safe_line
from shared.errors import StoreError

if TYPE_CHECKING:
    from device_app.tui.edge.known import Known

MOST = 60
"""Passages shown of a file."""


class PassagesScreen(ModalScreen[None]):
    """Scrolls; any of the usual keys goes back."""

    BINDINGS = [Binding("escape,q,enter", "dismiss", show=False)]  # noqa: RUF012 (as Textual declares it)

    def __init__(self, known: Known, path: bytes, name: str) -> None:
        super().__init__()
        self._known = known
        self._path = path
        self._shown_name = name

    def compose(self) -> ComposeResult:
        """One column."""
        with Vertical(classes="window") as window:
            window.border_title = "Passages"
            window.border_subtitle = "Esc back"
            yield Static(Content.styled(safe_line(self._shown_name), "$quiet"), classes="heading", markup=False)
            with VerticalScroll():
                yield Static("…", classes="passages", markup=False)

    def on_mount(self) -> None:
        """Scroll at once; the text comes behind."""
        self.query_one(VerticalScroll).focus()
        self.run_worker(self._read())

    async def _read(self) -> None:
        shown = self.query_one(".passages", Static)
        try:
            some = await self._known.passages(self._path, MOST + 1)
        except StoreError as error:
            shown.update(Content.styled(safe_line(str(error)), "$error"))
            return
        shown.update(rows.passages(some, MOST) if some else "It is no longer among what is known.")
