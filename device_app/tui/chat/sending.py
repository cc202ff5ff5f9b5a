"""The window that shows a whole request before it leaves this device, until the person sends or cancels it."""

from __future__ import annotations

from time import monotonic

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from device_app.tui import keyed
from device_app.tui.wording import safe


class SendScreen(ModalScreen[bool]):
    """A scrolling window with the request; y sends it, Esc cancels. The result is whether to send."""

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding("y,Y", "send", show=False),
        Binding("escape,n,N,q", "dismiss(False)", show=False),
    ]

    def __init__(self, request: str) -> None:
        super().__init__()
        self._request = request
        self._shown_at = monotonic()

    def compose(self) -> ComposeResult:
        """Yield an explanation, and the whole request."""
        with Vertical(classes="window") as window:
            window.border_title = "Send to the companion server?"
            window.border_subtitle = "y send · Esc cancel"
            with VerticalScroll():
                warning = Content.styled("This text leaves your device:", "$warning")
                yield Static(warning, classes="heading", markup=False)
                yield Static(safe(self._request), markup=False)

    def on_mount(self) -> None:
        """Focus the text, so that the arrow keys scroll the text."""
        self.query_one(VerticalScroll).focus()
        self._shown_at = monotonic()

    def action_send(self) -> None:
        """Send the request, unless the person pressed y too soon to have read it."""
        if monotonic() - self._shown_at >= keyed.READ_S:
            self.dismiss(True)
