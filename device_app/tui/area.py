"""A screen beside the chat: a title, what it shows, and a footer with the keys of its own actions.

Esc goes back to the chat. Its letters work wherever no input has the focus.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.widget import Widget

from device_app.tui.actions import AppState, Place, letters, of
from device_app.tui.notices import NoticeLine
from device_app.tui.status import StatusLine, TitleBar
from device_app.tui.wording import safe
from shared.errors import JackdawError


class AreaScreen(Screen[None]):
    """Subclasses name their place and title, compose `body`, and have an `action_ID` for each action of the place.

    What blocks goes through `records` or another part of the edge, in a worker; `trying` tells what failed.
    """

    PLACE: ClassVar[Place]

    def __init_subclass__(cls) -> None:
        """Bind the keys of the place's actions, the letters of the app's, and what the screen declares besides."""
        if "PLACE" in vars(cls):  # otherwise its base is bound already
            keys = [*letters(cls.PLACE).items(), *((action.key, action) for action in of(cls.PLACE) if action.key)]
            own: list[BindingType] = [Binding(key, action.call, action.title, show=False) for key, action in keys]
            cls.BINDINGS = [*own, Binding("escape", "back", "Back", show=False), *vars(cls).get("BINDINGS", ())]
        super().__init_subclass__()

    def __init__(self) -> None:
        super().__init__(classes="area")
        self.title_bar, self.status = TitleBar(), StatusLine(self.PLACE)
        self._problem = ""

    def compose(self) -> ComposeResult:
        """Title, body, status."""
        yield self.title_bar
        with Vertical(id="body"):
            yield from self.body()
        yield NoticeLine()
        yield self.status

    def body(self) -> ComposeResult:
        """What the area shows."""
        yield Widget()

    def on_mount(self) -> None:
        """Its name, and its keys."""
        self.title_bar.talk = self.PLACE.value.capitalize()
        self.status.states = self.states()

    def states(self) -> frozenset[AppState]:
        """What holds at first; letters are keys unless an input has the focus."""
        return frozenset({AppState.READING})

    def action_back(self) -> None:
        """To the chat."""
        self.dismiss()

    async def trying(self, work: Awaitable[object]) -> bool:
        """Whether the work was done; where it failed, the person is told why and what to do."""
        try:
            await work
        except JackdawError as error:
            self.app.notify(safe(str(error)), severity="error", markup=False, timeout=6)
            return False
        return True

    async def following(self, work: Callable[[], Awaitable[object]]) -> None:
        """Do what is done again and again; what fails is told once, until something else does."""
        try:
            await work()
        except JackdawError as error:
            if str(error) != self._problem:
                self.app.notify(safe(str(error)), severity="error", markup=False, timeout=6)
            self._problem = str(error)
        else:
            self._problem = ""

    def carry_out(self, work: Callable[..., Awaitable[object]], *given: Any) -> None:
        """Do what a person has asked for, to its end even where they leave the screen meanwhile."""
        self.app.run_worker(partial(work, *given))
