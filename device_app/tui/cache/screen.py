"""The cache screen with three views: an overview, kept answers, kept attention states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static

from device_app.tui.actions import AppState
from device_app.tui.cache import entries
from device_app.tui.cache.control import CacheControl
from device_app.tui.cache.kept import KeptList, Row
from device_app.tui.cache.panels import Panels
from device_app.tui.cache.suggestions import KEYS
from device_app.tui.cache.whole import WholeScreen
from device_app.tui.keyed import FilteredList

if TYPE_CHECKING:
    from device_app.tui.edge.caches import Caches

LOOK_S = 2.0
"""Seconds between two checks of the background work."""

VIEWS = {"overview": "Overview", "answers": "Answers", "states": "States"}
_NO_ANSWERS = "No answer is saved yet. Ask something: the next time, the answer comes at once."
_NO_STATES = "No attention state is saved yet. Ask something: what the model reads is saved."


class CacheScreen(CacheControl):
    """The screen that shows the caches and their savings, and lets the person control them."""

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding("tab", "next_view", show=False, priority=True),
        *(Binding(key, f"choose({key!r})", show=False) for key in KEYS),
    ]

    def __init__(self, caches: Caches, clock: Callable[[], datetime]) -> None:
        super().__init__(caches, clock)
        self._switcher = ContentSwitcher(initial="overview")
        self._tabs = Static(id="views", markup=False)
        self._panels = Panels(self._suggest)
        self._looks = False
        self._answers = KeptList(caches.entries, self._entry_rows, id="answers", noun="question", empty=_NO_ANSWERS)
        self._states = KeptList(caches.passages, self._states_rows, id="states", noun="passage", empty=_NO_STATES)
        self._limit = Input(placeholder="Megabytes: qa 100 or kv 500", id="limit", compact=True)
        self._limit.cursor_blink = False

    def body(self) -> ComposeResult:
        """Yield the tabs, the selected view and the limit's input field."""
        yield self._tabs
        with self._switcher:
            yield self._panels
            yield self._answers
            yield self._states
        yield self._limit

    def on_mount(self) -> None:
        """Show the overview, and update it at intervals."""
        super().on_mount()
        self._limit.display = False
        self._show_tabs()
        self.status.doing = "Esc back"
        self._panels.focus()
        self.reload()
        self.set_interval(LOOK_S, self._look)

    def reload(self) -> None:
        """Read the overview and the shown list again."""
        self._read_or_tell()
        self._panels.suggestions.reload()
        for kept in (self._answers, self._states):
            if kept.display:
                kept.reload()

    # The overview

    async def _suggest(self) -> Sequence[str]:
        return await self._caches.suggestions(self._clock().astimezone())

    def _look(self) -> None:
        """Check the background work, unless the last check is still running, as is possible with a large store."""
        if not self._looks:
            self._looks = True
            self._look_once()

    @work(group="look")
    async def _look_once(self) -> None:
        try:
            await self.following(self._look_again)
        finally:
            self._looks = False

    async def _look_again(self) -> None:
        """Update the worker's state; read everything again only if the worker has completed another step."""
        worker, before = await self._caches.worker(), self._overview
        if before is None or worker.last != before.worker.last:
            await self._read_anew()
        elif worker != before.worker:
            self._overview = replace(before, worker=worker)
            self._show_overview()

    @work(exclusive=True, group="overview")
    async def _read_or_tell(self) -> None:
        await self.trying(self._read_anew())

    async def _read_anew(self) -> None:
        await self.read_overview()
        self._show_overview()

    def _show_overview(self) -> None:
        overview, now = self._overview, self._clock().astimezone()
        if overview is None:
            return
        self._panels.show(overview, now, here=self._caches.working)
        self._show_tabs()
        self._show_states()

    def _show_tabs(self) -> None:
        overview = self._overview
        counts = {"answers": overview.answers.answered, "states": overview.states.passages} if overview else {}
        parts = []
        for view, name in VIEWS.items():
            here = view == self._switcher.current
            label = f" {name} {counts[view]:,} " if view in counts else f" {name} "
            click = Style.from_meta({"@click": f"screen.view({view!r})"})
            parts.append(Content.styled(label, "$primary bold reverse") if here else Content(label).stylize(click))
        self._tabs.update(Content(" ").join(parts))

    # The views

    def action_view(self, view: str) -> None:
        """Show the view with this name, and focus it."""
        self._switcher.current = view
        self._show_tabs()
        target: Widget = self._panels if view == "overview" else self._kept(view).filter
        target.focus()

    def action_next_view(self) -> None:
        """Show the view after the current one."""
        names = list(VIEWS)
        self.action_view(names[(names.index(str(self._switcher.current)) + 1) % len(names)])

    def action_cache_overview(self) -> None:
        """Show the overview of the caches."""
        self.action_view("overview")

    def action_cache_answers(self, words: str = "") -> None:
        """Show the kept answers, filtered by words if given."""
        self.action_view("answers")
        self._answers.filter.value = words

    def action_cache_states(self, words: str = "") -> None:
        """Show the kept attention states, filtered by words if given."""
        self.action_view("states")
        self._states.filter.value = words

    def _kept(self, view: str) -> KeptList:
        return self._answers if view == "answers" else self._states

    async def _entry_rows(self, ids: Sequence[int]) -> Sequence[Row]:
        now = self._clock()
        return [(entry.id, entries.entry_row(entry, now)) for entry in await self._caches.some_entries(ids)]

    async def _states_rows(self, ids: Sequence[int]) -> Sequence[Row]:
        now = self._clock()
        return [(state.passage, entries.states_row(state, now)) for state in await self._caches.some_states(ids)]

    @on(KeptList.Chosen, "#answers")
    def _answer_chosen(self, event: KeptList.Chosen) -> None:
        async def entry() -> Content:
            entries_found = await self._caches.some_entries([event.key])
            return (
                entries.entry_whole(entries_found[0], self._clock())
                if entries_found
                else Content("This answer was deleted meanwhile.")
            )

        async def weighed() -> Content:
            return entries.weighed(await self._caches.weigh(event.key))

        self.app.push_screen(WholeScreen("A saved answer", (entry, weighed)))

    @on(KeptList.Chosen, "#states")
    def _states_chosen(self, event: KeptList.Chosen) -> None:
        async def states() -> Content:
            states = await self._caches.states(event.key)
            return (
                entries.states_whole(states, self._clock())
                if states
                else Content("These states were deleted meanwhile.")
            )

        self.app.push_screen(WholeScreen("Saved attention states", (states,)))

    # Keys

    def on_descendant_focus(self) -> None:
        """Update which keys are available: letters act as keys unless a field or a filtered list has the focus."""
        self._show_states()

    def _show_states(self) -> None:
        typed = isinstance(self.focused, Input | FilteredList)
        is_paused = self._overview is not None and self._overview.worker.paused
        states = {*([] if typed else [AppState.READING]), *([AppState.RESTING] if is_paused else [])}
        self.status.states = frozenset(states)

    def action_back(self) -> None:
        """Close the limit's field, clear the filter, or return to the chat: the first that applies."""
        if self._limit.display:
            self._close_limit()
        elif isinstance(self.focused, Input) and self.focused.value:
            self.focused.value = ""
        else:
            super().action_back()

    def action_choose(self, key: str) -> None:
        """Ask one of the suggested questions."""
        self._panels.suggestions.choose(key)

    # The limit

    def action_limit(self, given: str = "") -> None:
        """Set a limit, or open the field to type it."""
        if limit := self.limit_in(given) if given else None:
            self.carry_out(self.set_limit, *limit)
            return
        self._limit.display = True
        self._limit.value = given
        self._limit.focus()

    @on(Input.Submitted, "#limit")
    def _limit_given(self, event: Input.Submitted) -> None:
        event.stop()
        limit = self.limit_in(event.value) if event.value.strip() else None
        if limit:
            self.carry_out(self.set_limit, *limit)
        if limit or not event.value.strip():
            self._close_limit()

    def _close_limit(self) -> None:
        self._limit.display = False
        self.action_view(str(self._switcher.current))
