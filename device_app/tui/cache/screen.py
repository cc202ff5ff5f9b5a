"""The cache: an overview, the answers that are kept, the attention states that are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static

from device_app.tui.actions import Place, State
from device_app.tui.area import AreaScreen
from device_app.tui.cache import wording
from device_app.tui.cache.kept import KeptList, Row
from device_app.tui.cache.suggestions import KEYS, Suggestions
from device_app.tui.cache.whole import WholeScreen
from device_app.tui.wording import safe

if TYPE_CHECKING:
    from device_app.cache.control import Layer
    from device_app.tui.edge.caches import Caches, Overview

LOOK_S = 2.0
"""Between two looks at what the work ahead does."""

CONFIRM_S = 6.0
"""Within this time, a second press clears."""

ROOMY = 36
"""From this height on, plots are drawn higher."""

VIEWS = {"overview": "Overview", "answers": "Answers", "states": "States"}
_NO_ANSWERS = "No answer is kept yet. Ask something: its answer is kept, and there at once the next time."
_NO_STATES = "No attention state is kept yet. Ask something: what the model read for it is kept."
_NO_SUGGESTIONS = "Nothing yet. Once files were added, w predicts questions from them, and answers them."
_LAYERS = {"qa": "Answers", "kv": "States"}


class Panel(Static):
    """Draws for the width there is."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name, classes="panel", markup=False)
        self._draw: Callable[[int], Content] = lambda _: Content("")

    def show(self, draw: Callable[[int], Content]) -> None:
        """Draw so from now on."""
        self._draw = draw
        self._redraw()

    def on_resize(self) -> None:
        """Draw anew."""
        self._redraw()

    def _redraw(self) -> None:
        if width := self.content_size.width:
            self.update(self._draw(width))


class CacheScreen(AreaScreen):
    """What was kept ahead of questions, what that saved, and what is done about it."""

    PLACE = Place.CACHE
    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding("tab", "next_view", show=False, priority=True),
        *(Binding(key, f"choose({key!r})", show=False) for key in KEYS),
    ]

    def __init__(self, caches: Caches, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self._caches, self._clock = caches, clock
        self._overview: Overview | None = None
        self._clearing: tuple[str, float] = ("", 0.0)
        self._switcher = ContentSwitcher(initial="overview")
        self._tabs = Static(id="views", markup=False)
        self._suggestions = Suggestions(self._suggest, _NO_SUGGESTIONS)
        self._saved, self._work, self._limits = Panel("saved"), Panel("work"), Panel("limits")
        self._answers = KeptList(caches.entries, self._entry_rows, id="answers", empty=_NO_ANSWERS)
        self._states = KeptList(caches.passages, self._states_rows, id="states", empty=_NO_STATES)
        self._limit = Input(placeholder="qa 100 or kv 500, in megabytes", id="limit", compact=True)
        self._limit.cursor_blink = False

    def body(self) -> ComposeResult:
        """The names of the views, then one of them."""
        yield self._tabs
        with self._switcher:
            with VerticalScroll(id="overview"), Horizontal(id="halves"):
                with Vertical():
                    yield self._suggestions
                    yield self._saved
                with Vertical():
                    yield self._work
                    yield self._limits
            yield self._answers
            yield self._states
        yield self._limit

    def on_mount(self) -> None:
        """Show the overview, and look again now and then."""
        super().on_mount()
        self._limit.display = False
        self._show_tabs()
        self.status.doing = "Esc back"
        self.query_one("#overview").focus()
        self.reload()
        self.set_interval(LOOK_S, self._look)

    def reload(self) -> None:
        """Read everything anew."""
        self.run_worker(self.trying(self._read_overview()), exclusive=True, group="overview")
        self._suggestions.reload()
        for kept in (self._answers, self._states):
            if kept.display:
                kept.reload()

    # The overview

    async def _suggest(self) -> Sequence[str]:
        return await self._caches.suggestions(self._clock().astimezone().date())

    def _look(self) -> None:
        """See what the work ahead does: all is read anew only where it did something."""
        self.run_worker(self.trying(self._look_again()), exclusive=True, group="overview")

    async def _look_again(self) -> None:
        worker, before = await self._caches.worker(), self._overview
        if before is None or worker.last != before.worker.last:
            await self._read_overview()
        elif worker != before.worker:
            self._overview = replace(before, worker=worker)
            self._show_overview()

    async def _read_overview(self) -> None:
        self._overview = await self._caches.overview(self._clock().astimezone().date(), wording.MOST_DAYS)
        self._show_overview()

    def _show_overview(self) -> None:
        found, now = self._overview, self._clock().astimezone()
        if found is None:
            return
        rows = wording.PLOT_ROWS if self.app.size.height < ROOMY else 2 * wording.PLOT_ROWS
        self._saved.show(lambda width: wording.saved(found, now.date(), width, rows))
        self._limits.show(lambda width: wording.limits(found, width))
        here = self._caches.working
        self._work.show(lambda width: wording.work_ahead(found.worker, found.ahead, now, width, here=here))
        self._show_tabs()

    def _show_tabs(self) -> None:
        found = self._overview
        counts = {"answers": found.answers.entries, "states": found.states.passages} if found else {}
        parts = []
        for view, name in VIEWS.items():
            here = view == self._switcher.current
            told = f" {name} {counts[view]:,} " if view in counts else f" {name} "
            click = Style.from_meta({"@click": f"screen.view({view!r})"})
            parts.append(Content.styled(told, "$primary bold reverse") if here else Content(told).stylize(click))
        self._tabs.update(Content(" ").join(parts))

    # The views

    def action_view(self, view: str) -> None:
        """Show a view."""
        self._switcher.current = view
        self._show_tabs()
        target: Widget = self.query_one("#overview") if view == "overview" else self._kept(view).filter
        target.focus()

    def action_next_view(self) -> None:
        """The next one."""
        names = list(VIEWS)
        self.action_view(names[(names.index(str(self._switcher.current)) + 1) % len(names)])

    def action_cache_overview(self) -> None:
        """The overview."""
        self.action_view("overview")

    def action_cache_answers(self, words: str = "") -> None:
        """The answers, perhaps those with these words."""
        self.action_view("answers")
        self._answers.filter.value = words

    def action_cache_states(self, words: str = "") -> None:
        """The states, perhaps those with these words."""
        self.action_view("states")
        self._states.filter.value = words

    def _kept(self, view: str) -> KeptList:
        return self._answers if view == "answers" else self._states

    async def _entry_rows(self, ids: Sequence[int]) -> Sequence[Row]:
        now = self._clock()
        return [(one.id, wording.entry_row(one, now)) for one in await self._caches.some_entries(ids)]

    async def _states_rows(self, ids: Sequence[int]) -> Sequence[Row]:
        now = self._clock()
        return [(one.passage, wording.states_row(one, now)) for one in await self._caches.some_states(ids)]

    @on(KeptList.Chosen, "#answers")
    def _answer_chosen(self, event: KeptList.Chosen) -> None:
        async def entry() -> Content:
            found = await self._caches.some_entries([event.key])
            return wording.entry_whole(found[0], self._clock()) if found else Content("It is gone by now.")

        async def weighed() -> Content:
            return wording.weighed(await self._caches.weigh(event.key))

        self.app.push_screen(WholeScreen("A kept answer", (entry, weighed)))

    @on(KeptList.Chosen, "#states")
    def _states_chosen(self, event: KeptList.Chosen) -> None:
        async def states() -> Content:
            found = await self._caches.states(event.key)
            return wording.states_whole(found, self._clock()) if found else Content("They are gone by now.")

        self.app.push_screen(WholeScreen("Kept attention states", (states,)))

    # Keys

    def on_descendant_focus(self) -> None:
        """Letters are keys where nothing is typed."""
        self.status.states = frozenset() if isinstance(self.focused, Input) else frozenset({State.READING})

    def action_back(self) -> None:
        """Out of the limit, out of the filter's words, then to the chat."""
        if self._limit.display:
            self._close_limit()
        elif isinstance(self.focused, Input) and self.focused.value:
            self.focused.value = ""
        else:
            super().action_back()

    def action_choose(self, key: str) -> None:
        """Ask one of the suggested questions."""
        self._suggestions.choose(key)

    # What a person does

    def action_limit(self, given: str = "") -> None:
        """Set a limit, or ask which."""
        if given:
            self.run_worker(self._set_limit(given))
            return
        self._limit.display = True
        self._limit.value = ""
        self._limit.focus()

    @on(Input.Submitted, "#limit")
    def _limit_given(self, event: Input.Submitted) -> None:
        event.stop()
        self._close_limit()
        if event.value.strip():
            self.run_worker(self._set_limit(event.value))

    def _close_limit(self) -> None:
        self._limit.display = False
        self.action_view(str(self._switcher.current))

    async def _set_limit(self, given: str) -> None:
        layer, _, number = given.strip().lower().partition(" ")
        try:
            megabytes = float(number.removesuffix("mb"))
        except ValueError:
            megabytes = -1.0
        if layer not in _LAYERS or not 0 <= megabytes < float("inf"):
            self._tell(f"“{given}” is no limit. Give qa or kv and megabytes: /limit kv 500", "warning")
            return
        evicted = 0

        async def limit() -> None:
            nonlocal evicted
            evicted = await self._caches.limit(cast("Layer", layer), megabytes)

        if await self.trying(limit()):
            gone = f"; {evicted:,} went" if evicted else ""
            self._tell(f"{_LAYERS[layer]} may take {megabytes:g} MB{gone}.")
            self.reload()

    async def action_clear(self, what: str = "") -> None:
        """Clear answers, states or both, when asked twice."""
        if what not in ("", "answers", "states"):
            self._tell("Clear answers or states, or both: /clear answers", "warning")
            return
        layers = {"answers": what in ("", "answers"), "states": what in ("", "states")}
        now, (asked, until) = self._clock().timestamp(), self._clearing
        if asked != f"clear {what}" or now > until:
            self._clearing = f"clear {what}", now + CONFIRM_S
            if await self.trying(self._read_overview()) and self._overview:
                self._tell(f"Once more, and {wording.forecast(self._overview, layers)} go.", "warning")
            return
        self._clearing = "", 0.0
        if await self.trying(self._caches.clear(**layers)):
            self._tell("Cleared. Your files and your conversations stay.")
            self.reload()

    async def action_ahead_pause(self) -> None:
        """Pause the work ahead, or let it go on."""
        paused = not (self._overview and self._overview.worker.paused)
        if await self.trying(self._caches.pause(paused=paused)):
            if paused:
                self._caches.stop()
            self._tell("Nothing is worked ahead until you press p again." if paused else "It goes on when idle.")
            self._look()

    def action_ahead_now(self) -> None:
        """Work ahead here and now, or stop that."""
        if self._caches.working:
            self._caches.stop()
            return
        self.app.run_worker(self._work_ahead())
        self._look()

    async def _work_ahead(self) -> None:
        why: str | None = None

        async def work() -> None:
            nonlocal why
            why = await self._caches.work()

        if await self.trying(work()):
            self._tell(f"It stopped: {why}." if why else "All that could be prepared is prepared.")
        if self.is_attached:
            self.reload()

    def _tell(self, text: str, severity: str = "information") -> None:
        self.app.notify(safe(text), severity=severity, markup=False, timeout=CONFIRM_S)  # type: ignore[arg-type]
