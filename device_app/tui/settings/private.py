"""What left this device, and what can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from device_app.tui.wording import safe
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.tui.edge.preferences import Preferences


class PrivateScreen(ModalScreen[None]):
    """Scrolls; any of the usual keys goes back."""

    BINDINGS = [Binding("escape,q", "dismiss", show=False)]  # noqa: RUF012 (as Textual declares it)

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self._left = Static("Counting …", markup=False, classes="heading")

    def compose(self) -> ComposeResult:
        """One column."""
        with Vertical(classes="window") as window:
            window.border_title = "Private"
            window.border_subtitle = "Esc back"
            with VerticalScroll():
                yield self._left
                yield Static(_told(), markup=False)

    def on_mount(self) -> None:
        """Count, while the rest is read."""
        self.query_one(VerticalScroll).focus()
        self.run_worker(self._count())

    async def _count(self) -> None:
        try:
            answers, left = await self._preferences.egress()
        except JackdawError as error:
            self._left.update(Content.styled(safe(str(error)), "$error"))
            return
        self._left.update(egress(answers, left))


def egress(answers: int, left: int) -> Content:
    """What left for the answers that are kept."""
    if not answers:
        return Content.assemble(("Nothing left this device", "$success bold"), ": nothing has been asked yet.")
    of = f"{answers:,} answer{'' if answers == 1 else 's'} kept here"
    if left:
        return Content.assemble((f"{left:,} bytes left this device", "$warning bold"), f" for the {of}.")
    return Content.assemble(("Nothing left this device", "$success bold"), f" for the {of}.")


def _told() -> Content:
    lines = (
        "Questions are answered on this device alone. There is no server that Jackdaw could send anything to.",
        "",
        "It goes to the network for one thing: model files, when you fetch them. Whoever keeps them sees which one was "
        "asked for, and nothing of yours.",
        "",
        "Your files, questions, answers and what is kept ahead lie in folders that only you can open: `jackdaw paths` "
        "names them.",
    )
    return Content("\n").join(map(Content, lines))
