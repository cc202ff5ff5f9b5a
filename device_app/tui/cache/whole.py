"""A window with all facts about one kept entry; each part is shown once its text is loaded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from device_app.tui.wording import safe_line
from shared.errors import JackdawError

Part = Callable[[], Awaitable[Content]]


class WholeScreen(ModalScreen[None]):
    """A scrolling window with all facts about one kept entry; Esc closes the window."""

    BINDINGS = [Binding("escape,q", "dismiss", show=False)]  # noqa: RUF012 (as Textual declares it)

    def __init__(self, title: str, parts: Sequence[Part]) -> None:
        super().__init__()
        self._heading = title
        self._parts = parts

    def compose(self) -> ComposeResult:
        """Yield a widget for each part, which is filled later."""
        with Vertical(classes="window") as window:
            window.border_title = self._heading
            window.border_subtitle = "Esc back"
            with VerticalScroll():
                for number in range(len(self._parts)):
                    yield Static(id=f"part-{number}", markup=False)

    def on_mount(self) -> None:
        """Load the parts' texts in the background."""
        self.query_one(VerticalScroll).focus()
        self.run_worker(self._fill())

    async def _fill(self) -> None:
        for number, part in enumerate(self._parts):
            shown = self.query_one(f"#part-{number}", Static)
            if number:
                shown.update(Content.styled("\n…", "$quiet"))
            try:
                shown.update(await part())
            except JackdawError as error:
                shown.update(Content.styled(safe_line(str(error)), "$warning"))
