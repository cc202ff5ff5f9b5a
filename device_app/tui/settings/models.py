"""The models screen: the resources that each model takes, which model is in use, and downloading another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from device_app.tui.actions import AppState, Place
from device_app.tui.area import AreaScreen
from device_app.tui.settings.wording import offer, progress, takes, title, unfit
from device_app.tui.wording import safe
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.tui.edge.preferences import Model, Preferences, Shelf

TICK_S = 0.2
"""Seconds between updates of a download's progress."""


class ModelsScreen(AreaScreen):
    """The models screen. `choose` is awaited with the model to use, and downloads it first if necessary."""

    PLACE = Place.MODELS

    def __init__(self, preferences: Preferences, choose: Callable[[Model], Awaitable[None]]) -> None:
        super().__init__()
        self._preferences = preferences
        self._choose = choose
        self._shelf: Shelf | None = None
        self._warned = ""
        self._list = OptionList(markup=False, compact=True, id="models")
        self._about = Static("Looking for models …", markup=False, id="about")
        self._progress = Static(markup=False, id="progress")

    def body(self) -> ComposeResult:
        """Yield the list, the highlighted model's facts, and the progress of a download."""
        with Container(id="sides"):
            yield self._list
            with VerticalScroll(id="detail", can_focus=False):
                yield self._about
        yield self._progress

    def on_mount(self) -> None:
        """Read the list of models, and update the download's progress at intervals."""
        self._list.focus()
        self._tick()
        self.set_interval(TICK_S, self._tick)
        self.run_worker(self.reload())

    def on_resize(self) -> None:
        """Draw the list again for the new width."""
        self.call_after_refresh(self._show)

    async def reload(self) -> None:
        """Read the list of models and the free disk space again."""
        try:
            self._shelf = await self._preferences.shelf()
        except JackdawError as error:
            self._about.update(Content.styled(safe(str(error)), "$error"))
            return
        self._show()

    async def pick(self, name: str) -> None:
        """Use the model with that name or file address, as if the person had chosen it in the list."""
        if self._shelf is None:
            await self.reload()
        for place, model in enumerate(self._shelf.models if self._shelf else ()):
            if name in (model.name, model.address):
                self._list.highlighted = place
                await self._enter(model)
                return
        self.app.notify(f"There is no model named {safe(name)}.", severity="warning", markup=False)

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        if (model := self._chosen()) and self._shelf:
            self._about.update(takes(model, self._shelf))
            doing = offer(model, warned=self._warned == model.name)
            self.status.doing = f"{doing} · Esc back" if self.app.size.width >= 60 else doing

    @on(OptionList.OptionSelected)
    def _selected(self) -> None:
        if model := self._chosen():
            self.run_worker(self._enter(model))

    async def _enter(self, model: Model) -> None:
        """Use a model; for a model that does not fit into memory, only after a warning and a second Enter."""
        if model.used:
            return
        if self._preferences.fetching and model.state != "present":
            self.status.doing = "only one download at a time"
        elif not model.forecast.fits_disk:
            self.app.notify(unfit(model), severity="warning", markup=False)
        elif unfit(model) and self._warned != model.name:
            self._warned = model.name
            self._moved()
        else:
            self.status.doing = "opening it" if model.state == "present" else "fetching"
            await self._choose(model)

    def action_cancel(self) -> None:
        """Stop the download."""
        self._preferences.stop()

    def _tick(self) -> None:
        fetch = self._preferences.fetching
        self._progress.display = fetch is not None
        self.status.states = frozenset({AppState.READING, *([AppState.FETCHING] if fetch else [])})
        if fetch:
            self._progress.update(progress(fetch, max(self.size.width - 4, 10)))

    def _chosen(self) -> Model | None:
        place = self._list.highlighted
        return self._shelf.models[place] if self._shelf and place is not None else None

    def _show(self) -> None:
        if self._shelf is None:
            return
        place = self._list.highlighted
        width = max(self._list.scrollable_content_region.width, 20)
        self._list.set_options(Option(title(model, width)) for model in self._shelf.models)
        used = next((n for n, model in enumerate(self._shelf.models) if model.used), 0)
        self._list.highlighted = used if place is None else place
        self._moved()
