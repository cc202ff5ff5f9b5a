"""The turns of a conversation, the latest at the bottom. Only turns near the view are mounted if there are many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from device_app.tui.chat.letters import Letters
from device_app.tui.chat.turn import TurnView
from device_app.tui.wording import safe
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.tui.edge.facts import Turn

PAGE = 6
"""The number of turns that are mounted (given widgets) at a time."""

MOST = 24
"""The most turns that stay mounted when further turns are added, which limits the memory of a long conversation."""

Load = Callable[[Sequence[int]], Awaitable[Sequence["Turn"]]]
"""The type of a function that reads the turns with the given ids, in the order of the ids. It raises StoreError."""


class Transcript(Letters):
    """The scrolling view of a conversation's turns.

    It follows an answer being written until the person scrolls away.
    """

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding("enter", "screen.perform('sources', '1')", show=False),
        Binding("up", "select(-1)", show=False),
        Binding("down", "select(1)", show=False),
        Binding("ctrl+up", "choose(-1)", show=False),
        Binding("ctrl+down", "choose(1)", show=False),
    ]

    def __init__(self, clock: Callable[[], datetime], load: Load, *children: Widget) -> None:
        self._above = Static(classes="earlier", markup=False)
        self._below = Static(classes="earlier", markup=False)
        super().__init__(self._above, *children, self._below, id="transcript")
        self._clock = clock
        self._load = load
        self._earlier: Sequence[int] = ()
        self._later: Sequence[int] = ()
        self._selected: TurnView | None = None

    def on_mount(self) -> None:
        """Keep the view scrolled to the bottom."""
        self.anchor()

    @property
    def views(self) -> list[TurnView]:
        """The turns (questions with answers) that have widgets now."""
        return list(self.query_children(TurnView))

    @property
    def selected(self) -> TurnView | None:
        """The turn to which actions apply: the selected turn, or the last one."""
        views = self.views
        return self._selected if self._selected in views else views[-1] if views else None

    async def show(self, turns: Sequence[int], chosen: int | None = None) -> None:
        """Show the turns with the given ids in place of the present ones, and select `chosen`, or scroll to the end.

        Raises StoreError.
        """
        last = next((place for place, turn in enumerate(turns) if turn == chosen), len(turns))
        first = max(0, min(len(turns) - PAGE, last - 1))
        shown = await self._load(turns[first : first + PAGE])
        with self.app.batch_update():
            await self.remove_children([child for child in self.children if child not in (self._above, self._below)])
            self._earlier, self._later = turns[:first], turns[first + PAGE :]
            await self.mount(*map(self._view, shown), after=self._above)
            self._tell_others()
        self._select(next((view for view in self.views if view.turn and view.turn.id == chosen), None))
        if self._selected:
            self.call_after_refresh(self._selected.scroll_visible, animate=False)
        else:
            self.anchor()

    async def begin(self, question: str, ticket: int, instead_of: TurnView | None = None) -> TurnView:
        """Show a question being answered, at the end or in place of `instead_of` and the turns after it.

        Messages about the question have the number `ticket`. Raises StoreError.
        """
        if instead_of is None:
            await self.go_to_end()
        gone = self.views[self.views.index(instead_of) :] if instead_of else []
        view = TurnView(question, self._clock, ticket=ticket, instead_of=(*_ids(gone), *self._later))
        with self.app.batch_update():
            self._later = ()
            for removed in gone:
                await removed.remove()
            await self.mount(view, before=self._below)
            await self._drop_earlier(far=False)
            self._tell_others()
        self._select(None)
        self.anchor()
        return view

    async def go_to_end(self) -> None:
        """Mount the last turns and scroll to the end. Raises StoreError."""
        if self._later:
            await self.show((*self._earlier, *_ids(self.views), *self._later))

    async def take_back(self, view: TurnView) -> None:
        """Remove the turn `view`, and show again the turns that it had replaced. Raises StoreError."""
        mounted = _ids(other for other in self.views if other is not view)
        first, *others = view.instead_of
        await self.show((*self._earlier, *mounted, *view.instead_of), first if others else None)

    def swiped(self, lines: int) -> None:
        """Scroll by this number of lines, and stop following the answer unless its end is reached."""
        # At once, because a swipe is a burst of keys, each of which starts where the last one ended.
        self.scroll_to(y=self.scroll_y + lines, animate=False, immediate=True)

    async def action_select(self, step: int) -> None:
        """Select the previous or next turn; if Up and Down are swipes, scroll instead."""
        if self.app.is_swiped:  # type: ignore[attr-defined]
            self.swiped(step)
        else:
            await self.action_choose(step)

    async def action_choose(self, step: int) -> None:
        """Select the previous or next turn."""
        views = self.views
        if not views or self.selected is None:
            return
        place = views.index(self.selected) + step
        if place < 0 and self._earlier:
            place += await self._show_earlier()
        elif place >= len(views) and self._later:
            place -= await self._show_later()
        views = self.views
        self._select(views[max(0, min(place, len(views) - 1))])

    def on_focus(self) -> None:
        """Mark the turn to which keys apply."""
        self._mark(shown=True)

    def on_blur(self) -> None:
        """Remove the mark of the turn to which keys apply; a selected turn stays marked, as commands apply to it."""
        self._mark(shown=False)

    async def on_click(self, event: events.Click) -> None:
        """Mount further turns when the person clicks the line for them."""
        if event.widget is self._above:
            await self._show_earlier()
        elif event.widget is self._below:
            await self._show_later()

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Mount further turns when the person scrolls to an end of the mounted ones."""
        super().watch_scroll_y(old, new)
        if new <= 0 < old and self._earlier:
            self.run_worker(self._show_earlier(), exclusive=True, group="others")
        elif new >= self.max_scroll_y > old and self._later:
            self.run_worker(self._show_later(), exclusive=True, group="others")

    async def _show_earlier(self) -> int:
        """Mount another page above; return the number of turns added."""
        coming = await self._loaded(self._earlier[-PAGE:])
        if coming:
            self.release_anchor()
            self._earlier = self._earlier[: -len(coming)]
            await self.keep_place(self.mount(*map(self._view, coming), after=self._above))
            await self._drop_later()
            self._tell_others()
        return len(coming)

    async def _show_later(self) -> int:
        """Mount another page below; return the number of turns unmounted above."""
        coming = await self._loaded(self._later[:PAGE])
        before = len(self._earlier)
        if coming:
            self.release_anchor()
            self._later = self._later[len(coming) :]
            await self.mount(*map(self._view, coming), before=self._below)
            await self.keep_place(self._drop_earlier())
            self._tell_others()
        return len(self._earlier) - before

    async def _loaded(self, turns: Sequence[int]) -> Sequence[Turn]:
        try:
            return await self._load(turns) if turns else ()
        except JackdawError as error:
            self.app.notify(safe(str(error)), severity="error", markup=False)
            return ()

    async def _drop_earlier(self, *, far: bool = True) -> None:
        """Unmount the first turns if there are too many and they are far from the view; unsaved turns stay mounted."""
        gone = [view for view in self.views[:-MOST] if view.turn and (self.is_far(view) or not far)]
        self._earlier = (*self._earlier, *_ids(gone))
        await self.remove_children(gone)

    async def _drop_later(self) -> None:
        """Unmount the last turns that are too many and far from the view, unless an answer is being written there."""
        gone = [view for view in self.views[MOST:] if self.is_far(view)]
        if gone and self.views[-1].turn:
            self._later = (*_ids(gone), *self._later)
            await self.remove_children(gone)

    def _view(self, turn: Turn) -> TurnView:
        return TurnView(turn.question, self._clock, turn)

    def _tell_others(self) -> None:
        for line, others, label in (
            (self._above, self._earlier, "↑ {} earlier"),
            (self._below, self._later, "↓ {} later"),
        ):
            line.display = bool(others)
            line.update(Content.styled(label.format(len(others)), "$quiet"))

    def _select(self, view: TurnView | None) -> None:
        self._selected = view
        self._mark(shown=self.has_focus)
        if view:
            self.release_anchor()
            view.scroll_visible(animate=False)

    def _mark(self, *, shown: bool) -> None:
        for view in self.views:
            view.set_class(view is self._selected or (shown and view is self.selected), "-selected")


def _ids(views: Iterable[TurnView]) -> tuple[int, ...]:
    return tuple(view.turn.id for view in views if view.turn)
