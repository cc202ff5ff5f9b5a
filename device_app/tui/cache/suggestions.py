"""A widget with suggested questions that are answered at once, by kept answers or by rules; a key asks one of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from device_app.tui.wording import safe_line
from shared.errors import JackdawError

KEYS = ("1", "2", "3")


class Suggestions(Static):
    """The suggested questions, in `choices`. If there are none, the widget shows what `explain` was given, or nothing.

    `is_loaded` becomes true once the questions were read.
    """

    class Chosen(Message):
        """The message that the person chose a question."""

        def __init__(self, question: str) -> None:
            super().__init__()
            self.question = question

    def __init__(self, load: Callable[[], Awaitable[Sequence[str]]]) -> None:
        super().__init__(classes="suggestions", markup=False)
        self._load = load
        self._otherwise = ""
        self.is_loaded = False
        self.choices: Sequence[str] = ()
        self.display = False

    def on_mount(self) -> None:
        """Load the suggestions."""
        self.reload()

    def reload(self) -> None:
        """Load the suggestions again."""
        self.run_worker(self._show(), exclusive=True)

    def explain(self, otherwise: str) -> None:
        """Show the text `otherwise` if there are no suggestions, now or later."""
        self._otherwise = otherwise
        if self.is_loaded:
            self._draw()

    def choose(self, key: str) -> bool:
        """Ask the question with this key; return whether there is such a question."""
        place = KEYS.index(key) if key in KEYS else len(KEYS)
        if place >= len(self.choices):
            return False
        self.post_message(self.Chosen(self.choices[place]))
        return True

    def action_choose(self, key: str) -> None:
        """Ask the question that the person clicked."""
        self.choose(key)

    async def _show(self) -> None:
        try:
            self.choices = await self._load()
        except JackdawError:  # the other parts of the screen show the error
            self.choices = ()
        self.is_loaded = True
        self._draw()

    def _draw(self) -> None:
        lines = [Content.styled("You may ask", "bold")]
        for key, question in zip(KEYS, self.choices, strict=False):
            click = Style.from_meta({"@click": f"choose({key!r})"})
            lines.append(Content.assemble((f"{key} ", "$accent bold"), safe_line(question)).stylize(click))
        if not self.choices:
            lines.append(Content.styled(self._otherwise, "$quiet"))
        self.display = bool(self.choices or self._otherwise)
        self.update(Content("\n").join(lines))
