"""The app: its themes, its screens, and what can be done on all of them. Knows no model and no database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from device_app.tui.actions import ACTIONS, BY_ID, Action, Place, available
from device_app.tui.chat.screen import ChatScreen
from device_app.tui.edge.answers import Answers
from device_app.tui.edge.records import Records
from device_app.tui.sizes import BY_HEIGHT, BY_WIDTH
from device_app.tui.themes import THEMES


class JackdawApp(App[None]):
    """One person's Jackdaw on a terminal."""

    TITLE = "Jackdaw"
    CSS_PATH: ClassVar = ["jackdaw.tcss"]
    COMMANDS: ClassVar = {lambda: _palette()}  # noqa: PLW0108  (defined below)
    HORIZONTAL_BREAKPOINTS: ClassVar = BY_WIDTH
    VERTICAL_BREAKPOINTS: ClassVar = BY_HEIGHT
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(action.key, action.id, action.title, show=False, priority=True)
        for action in ACTIONS
        if action.key and action.place is Place.APP
    ]

    def __init__(
        self, environment: Mapping[str, str], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name
        self._answers = Answers(environment, self._post)
        self._records = Records(environment)
        self._chat = ChatScreen(self._answers, self._records, clock)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """What the style sheet needs of a theme that is none of ours."""
        return {"quiet": "#8f9bac"}

    def get_default_screen(self) -> ChatScreen:
        """The chat is there from the first paint on."""
        return self._chat

    def on_unmount(self) -> None:
        """Stop the threads; they end within a batch of the model."""
        self._answers.close()
        self._records.close()

    def available(self) -> list[Action]:
        """What can be done now."""
        return [action for action in ACTIONS if available(action, self._chat.states())]

    async def perform(self, action_id: str) -> None:
        """Do an action that was chosen in the palette."""
        if BY_ID[action_id].place is Place.CHAT:
            while self.screen is not self._chat:
                self.pop_screen()
        await self._chat.action_perform(action_id)

    def action_theme(self, name: str = "") -> None:
        """The theme of that name, or the next."""
        names = [theme.name for theme in THEMES]
        if name and name not in names:
            self.notify(f"There is {', '.join(names)}.", severity="warning", markup=False)
            return
        self.theme = name or names[(names.index(self.theme) + 1) % len(names)]

    def action_help(self) -> None:
        """Every command and key."""
        from device_app.tui.help import HelpScreen

        self.push_screen(HelpScreen())

    def _post(self, message: object) -> None:
        if self.is_running:
            self._chat.post_message(message)  # type: ignore[arg-type]


def _palette() -> type:
    from device_app.tui.palette import Actions

    return Actions
