"""The base class of all screens except the chat: a title, a body, and a footer with the keys of the screen's actions.

Esc returns to the chat. Letter keys work while no input field has the focus.
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
    """The base class of every screen except the chat.

    Subclasses set `PLACE`, compose `body` and define a method `action_ID` for each of their actions.

    Blocking work runs in a worker, through `records` or another part of `tui/edge`; `trying` shows its errors.
    """

    PLACE: ClassVar[Place]

    def __init_subclass__(cls) -> None:
        """Bind the keys of the screen's actions, the letters of the app's actions, and the subclass's own bindings."""
        if "PLACE" in vars(cls):  # otherwise its base class is bound already
            keys = [*letters(cls.PLACE).items(), *((action.key, action) for action in of(cls.PLACE) if action.key)]
            own: list[BindingType] = [Binding(key, action.call, action.title, show=False) for key, action in keys]
            cls.BINDINGS = [*own, Binding("escape", "back", "Back", show=False), *vars(cls).get("BINDINGS", ())]
        super().__init_subclass__()

    def __init__(self) -> None:
        super().__init__(classes="area")
        self.title_bar, self.status = TitleBar(), StatusLine(self.PLACE)
        self._problem = ""

    def compose(self) -> ComposeResult:
        """Yield the title bar, the body, the notice line and the status line."""
        yield self.title_bar
        with Vertical(id="body"):
            yield from self.body()
        yield NoticeLine()
        yield self.status

    def body(self) -> ComposeResult:
        """Yield the widgets of the screen's body."""
        yield Widget()

    def on_mount(self) -> None:
        """Show the screen's name and its keys."""
        self.title_bar.talk = self.PLACE.value.capitalize()
        self.status.states = self.states()

    def states(self) -> frozenset[AppState]:
        """Return the initial states of the screen.

        In the state READING, letters act as keys unless an input has the focus.
        """
        return frozenset({AppState.READING})

    def action_back(self) -> None:
        """Return to the chat."""
        self.dismiss()

    async def trying(self, work: Awaitable[object]) -> bool:
        """Await the work; return whether it succeeded. On an error, show the reason and the next step."""
        try:
            await work
        except JackdawError as error:
            self.app.notify(safe(str(error)), severity="error", markup=False, timeout=6)
            return False
        return True

    async def following(self, work: Callable[[], Awaitable[object]]) -> None:
        """Await work that is repeated at intervals. Show an error unless the last time ended with the same error."""
        try:
            await work()
        except JackdawError as error:
            if str(error) != self._problem:
                self.app.notify(safe(str(error)), severity="error", markup=False, timeout=6)
            self._problem = str(error)
        else:
            self._problem = ""

    def carry_out(self, work: Callable[..., Awaitable[object]], *given: Any) -> None:
        """Complete the work that the person requested, even if the person leaves the screen meanwhile."""
        self.app.run_worker(partial(work, *given))
