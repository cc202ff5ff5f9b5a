"""The turns of one conversation, the latest at the bottom. Earlier ones are mounted when they are scrolled to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual import events
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from device_app.tui.actions import Place, of
from device_app.tui.chat.turn import TurnView

if TYPE_CHECKING:
    from device_app.tui.edge.facts import Turn

PAGE = 6
"""Turns mounted at a time."""

MOST = 24
"""Turns that stay mounted when new ones come: the memory of a long talk stays bounded."""


class Transcript(VerticalScroll):
    """Scrolls with the answer that is written, until the person scrolls away."""

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        *(
            Binding(action.letter, action.call, show=False)
            for action in (*of(Place.CHAT), *of(Place.APP))
            if action.letter
        ),
        *(Binding(str(number), f"screen.perform('sources', '{number}')", show=False) for number in range(1, 10)),
        Binding("enter", "screen.perform('sources', '1')", show=False),
        Binding("up,k", "select(-1)", show=False),
        Binding("down,j", "select(1)", show=False),
        Binding("i", "leave", show=False),
        Binding("slash", "leave('/')", show=False),
    ]

    class Left(Message):
        """The person wants to write, perhaps beginning with this."""

        def __init__(self, typed: str = "") -> None:
            super().__init__()
            self.typed = typed

    def __init__(self, clock: Callable[[], datetime], *children: Widget) -> None:
        self._more = Static(classes="earlier", markup=False)
        super().__init__(self._more, *children, id="transcript")
        self._clock = clock
        self._earlier: Sequence[Turn] = ()
        self._selected: TurnView | None = None

    def on_mount(self) -> None:
        """Stay at the bottom."""
        self.anchor()

    @property
    def views(self) -> list[TurnView]:
        """The turns that are mounted."""
        return list(self.query_children(TurnView))

    @property
    def selected(self) -> TurnView | None:
        """The turn that actions are about: the one chosen, or the last."""
        views = self.views
        return self._selected if self._selected in views else views[-1] if views else None

    async def show(self, turns: Sequence[Turn], chosen: int | None = None) -> None:
        """Show these turns in place of all that is shown; the one with the chosen id is selected."""
        with self.app.batch_update():
            await self.remove_children([child for child in self.children if child is not self._more])
            last = next((place for place, turn in enumerate(turns) if turn.id == chosen), len(turns))
            first = max(0, min(len(turns) - PAGE, last - 1))
            self._earlier = turns[:first]
            await self.mount(*map(self._view, turns[first:]))
            self._tell_earlier()
        self._select(next((view for view in self.views if view.turn and view.turn.id == chosen), None))
        if chosen is None:
            self.anchor()

    async def begin(self, question: str, ticket: int, instead_of: TurnView | None = None) -> TurnView:
        """Show a question that is being answered, in the place of a turn and those behind it."""
        gone = self.views[self.views.index(instead_of) :] if instead_of else []
        far = [one for one in self.views[: -MOST + 1] if one.turn and one not in gone]
        self._earlier = (*self._earlier, *(one.turn for one in far if one.turn))
        view = TurnView(question, self._clock, ticket=ticket)
        with self.app.batch_update():
            for one in (*gone, *far):
                await one.remove()
            await self.mount(view)
            self._tell_earlier()
        self._select(None)
        self.anchor()
        return view

    async def action_select(self, step: int) -> None:
        """Select the turn before or behind."""
        views = self.views
        if not views or self.selected is None:
            return
        place = views.index(self.selected) + step
        if place < 0 and self._earlier:
            place += await self._show_earlier()
            views = self.views
        self._select(views[max(0, min(place, len(views) - 1))])

    def action_leave(self, typed: str = "") -> None:
        """Go to the composer."""
        self.post_message(self.Left(typed))

    def on_focus(self) -> None:
        """Show which turn the keys are about."""
        self._mark(shown=True)

    def on_blur(self) -> None:
        """Keys go elsewhere."""
        self._mark(shown=False)

    async def on_click(self, event: events.Click) -> None:
        """Earlier turns come by a click on their line."""
        if event.widget is self._more:
            await self._show_earlier()

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Earlier turns come when the top is reached."""
        super().watch_scroll_y(old, new)
        if new <= 0 < old and self._earlier:
            self.run_worker(self._show_earlier(), exclusive=True, group="earlier")

    async def _show_earlier(self) -> int:
        """Mount another page above; how many turns came."""
        coming = self._earlier[-PAGE:]
        self._earlier = self._earlier[: -len(coming)] if coming else ()
        if coming:
            self.release_anchor()
            height = self.virtual_size.height
            await self.mount(*map(self._view, coming), after=self._more)
            self._tell_earlier()
            self.call_after_refresh(lambda: self.scroll_to(y=self.virtual_size.height - height, animate=False))
        return len(coming)

    def _view(self, turn: Turn) -> TurnView:
        return TurnView(turn.question, self._clock, turn)

    def _tell_earlier(self) -> None:
        count = len(self._earlier)
        self._more.display = count > 0
        self._more.update(Content.styled(f"↑ {count} earlier", "$quiet"))

    def _select(self, view: TurnView | None) -> None:
        self._selected = view
        self._mark(shown=self.has_focus)
        if view:
            self.release_anchor()
            view.scroll_visible(animate=False)

    def _mark(self, *, shown: bool) -> None:
        for view in self.views:
            view.set_class(shown and view is self.selected, "-selected")
