"""The privacy window: the data that has left this device, and the data that may leave it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
    from device_app.tui.edge.preferences import Companion, Preferences


class PrivateScreen(ModalScreen[None]):
    """A window that says how many bytes left this device for its stored answers, and what may be sent to a server.

    Esc or q closes it.
    """

    BINDINGS = [Binding("escape,q", "dismiss", show=False)]  # noqa: RUF012 (as Textual declares it)

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self._left = Static("Counting …", markup=False, classes="heading")
        self._can = Static(ways(None), markup=False)
        self._can.visible = False  # keeps its space while loading, as a scrollbar would appear later

    def compose(self) -> ComposeResult:
        """Yield the texts about data that may leave and that has left, in a scrolling window."""
        with Vertical(classes="window") as window:
            window.border_title = "Private"
            window.border_subtitle = "Esc back"
            with VerticalScroll():
                yield self._left
                yield self._can

    def on_mount(self) -> None:
        """Load the texts about data that may leave this device, and that has left it, in the background."""
        self.query_one(VerticalScroll).focus()
        self.run_worker(self._show())

    async def _show(self) -> None:
        can, left = await self._content(self._ways), await self._content(self._count)
        self._can.update(can)
        self._can.visible = True
        self._left.update(left)

    async def _content(self, part: Callable[[], Awaitable[Content]]) -> Content:
        try:
            return await part()
        except JackdawError as error:
            return Content.styled(safe(str(error)), "$error")

    async def _count(self) -> Content:
        return egress(*await self._preferences.egress())

    async def _ways(self) -> Content:
        return ways(await self._preferences.companion())


def egress(answers: int, left: int) -> Content:
    """Return a sentence: `left` bytes, or nothing, left the device for the `answers` answers stored here."""
    if not answers:
        return Content.assemble(("Nothing left this device", "$success bold"), ": nothing has been asked yet.")
    of = f"{answers:,} answer{'' if answers == 1 else 's'} stored here"
    if left:
        return Content.assemble((f"{left:,} bytes left this device", "$warning bold"), f" for the {of}.")
    return Content.assemble(("Nothing left this device", "$success bold"), f" for the {of}.")


_REACH = {
    "asked": "Questions that your files answer in part are sent only with /together or `jackdaw ask "
    "--together`, along with drafts of the answer.",
    "question": "Questions that your files answer in part are sent as well. Drafts of the answer are sent only "
    "with /together or `jackdaw ask --together`.",
    "fitting": "Questions that your files answer in part are sent as well, with drafts of the answer where that "
    "is faster (link.together = fitting).",
}
"""For each value of `link.together`: the data that may leave for questions that the files answer in part."""

_DRAFTS = "Drafts repeat text of your files: whoever runs the server can read facts, names and numbers in them."
_OPEN = (
    "With link.privacy = open, your model's token probabilities are sent with the drafts, which "
    "reveal far more of your files, and the weights of answer.weights_every."
)


def ways(companion: Companion | None) -> Content:
    """Return the text about data that may leave: to the companion server, if allowed, and to download models.

    With None there is no server.
    """
    asked = "Questions are answered on this device alone. No server is connected."
    other = "Jackdaw uses the network only for model files"
    if companion:
        address, own = safe(companion.address), companion.settings
        asked = f"Questions are answered on this device alone: {address} may not be asked, as link.allowed is off."
        if own.allowed:
            asked = (
                f"A question that your own files do not answer is sent to {address}, as is a request that needs no "
                "file, unless it holds a text or names of your files. If the answer moves "
                "there, its text so far is sent, too. Your files, their names and passages are never "
                f"sent. To send nothing, set link.allowed = false.\n\n{_REACH[own.together]} {_DRAFTS}"
            )
            asked += f" {_OPEN}" if own.privacy == "open" else ""
            other = "Otherwise, Jackdaw uses the network only for model files"
    lines = (
        asked,
        "",
        *([companion.spent, ""] if companion and companion.spent else []),
        f"{other}, when you download them. Their host sees which file you download, and none of your data.",
        "",
        "Your files, questions, answers and caches are in folders that only you can open. To "
        "list the folders: jackdaw paths",
    )
    return Content("\n").join(map(Content, lines))
