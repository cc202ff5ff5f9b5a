"""The window with the passages of one file, as stored."""

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
"""The most passages shown of a file."""


class PassagesScreen(ModalScreen[None]):
    """A window with a file's passages; Esc, q or Enter closes it."""

    BINDINGS = [Binding("escape,q,enter", "dismiss", show=False)]  # noqa: RUF012 (as Textual declares it)

    def __init__(self, known: Known, path: bytes, name: str) -> None:
        super().__init__()
        self._known = known
        self._path = path
        self._shown_name = name

    def compose(self) -> ComposeResult:
        """Yield the file's name and the scrolling passages."""
        with Vertical(classes="window") as window:
            window.border_title = "Passages"
            window.border_subtitle = "Esc back"
            yield Static(Content.styled(safe_line(self._shown_name), "$quiet"), classes="heading", markup=False)
            with VerticalScroll():
                yield Static("…", classes="passages", markup=False)

    def on_mount(self) -> None:
        """Focus the text, and load the passages."""
        self.query_one(VerticalScroll).focus()
        self.run_worker(self._read())

    async def _read(self) -> None:
        shown = self.query_one(".passages", Static)
        try:
            some = await self._known.passages(self._path, MOST + 1)
        except StoreError as error:
            shown.update(Content.styled(safe_line(str(error)), "$error"))
            return
        shown.update(rows.passages(some, MOST) if some else "This file was removed from the knowledge.")
