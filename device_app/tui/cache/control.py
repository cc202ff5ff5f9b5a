"""The person's actions on the caches: limits, clearing, background work. Independent of how the caches are shown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import work

from device_app.settings.change import overruled
from device_app.tui.actions import Place
from device_app.tui.area import AreaScreen
from device_app.tui.cache import wording
from device_app.tui.wording import safe

if TYPE_CHECKING:
    from device_app.commands.caches import Layer
    from device_app.tui.edge.caches import Caches
    from device_app.tui.edge.overview import Overview

_LAYERS = {"qa": "Answers", "kv": "States"}


class CacheControl(AreaScreen):
    """The base of the cache screen.

    Subclasses show `_overview`, which `read_overview` sets; `reload` reads everything again.
    """

    PLACE = Place.CACHE

    def __init__(self, caches: Caches, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self._caches, self._clock = caches, clock
        self._overview: Overview | None = None

    async def read_overview(self) -> None:
        """Read the state of the caches into `_overview`."""
        self._overview = await self._caches.overview(self._clock().astimezone().date(), wording.MOST_DAYS)

    def reload(self) -> None:
        """Read the caches and all shown entries again."""

    def limit_in(self, given: str) -> tuple[Layer, float] | None:
        """Parse a limit such as "kv 500" into cache and megabytes; show a warning and return None if invalid."""
        layer, _, number = given.strip().lower().partition(" ")
        try:
            megabytes = float(number.removesuffix("mb"))
        except ValueError:
            megabytes = -1.0
        if layer not in _LAYERS or not 0 <= megabytes < float("inf"):
            self._announce(f"“{given}” is not a limit. Type qa or kv and megabytes, such as kv 500", "warning")
            return None
        return cast("Layer", layer), megabytes

    async def set_limit(self, layer: Layer, megabytes: float) -> None:
        """Set the limit of a cache ("qa": answers, "kv": states) and evict its entries that exceed it."""
        evicted = 0

        async def limit() -> None:
            nonlocal evicted
            evicted = await self._caches.limit(layer, megabytes)

        if await self.trying(limit()):
            if before := overruled(f"cache.{layer}_mb", self.app.environment):  # type: ignore[attr-defined]
                self._announce(f"{megabytes:g} MB was saved in your settings. {before}", "warning")
            else:
                gone = f"; {evicted:,} deleted" if evicted else ""
                self._announce(f"{_LAYERS[layer]} may take {megabytes:g} MB{gone}.")
            self._reload_if_shown()

    def action_clear(self, what: str = "") -> None:
        """Delete the kept answers, the attention states or both, after the person confirms."""
        if what not in ("", "answers", "states"):
            self._announce("Choose what to clear: /clear answers, /clear states, or /clear for both", "warning")
        else:
            self._ask_to_clear(what)

    @work
    async def _ask_to_clear(self, what: str) -> None:
        if await self.trying(self.read_overview()) and self._overview:
            if wording.is_clear(self._overview, _chosen(what)):
                self._announce("The cache is empty: there is nothing to clear.")
                return
            gone = wording.forecast(self._overview, _chosen(what))
            self.app.confirm(f"clear {gone}", partial(self._clear, what))  # type: ignore[attr-defined]

    async def _clear(self, what: str) -> None:
        if await self.trying(self._caches.clear(**_chosen(what))):
            self._announce("Cache cleared. Your files and conversations stay.")
            self._reload_if_shown()

    def action_ahead_pause(self) -> None:
        """Pause or resume the background work that fills the caches."""
        self.carry_out(self._pause, not (self._overview and self._overview.worker.paused))

    async def _pause(self, paused: bool) -> None:
        if await self.trying(self._caches.pause(paused=paused)):
            if paused:
                self._caches.stop()
            self._announce(
                "Background work is paused until you press p again."
                if paused
                else "Background work continues when idle."
            )
            self._reload_if_shown()

    def action_ahead_now(self) -> None:
        """Start, or stop, filling the caches ahead of questions in this app."""
        if self._caches.working:
            self._caches.stop()
            return
        self.carry_out(self._work_ahead)
        self.reload()

    async def _work_ahead(self) -> None:
        if self._caches.working:  # the key was pressed twice
            return
        why: str | None = None

        async def ahead() -> None:
            nonlocal why
            why = await self._caches.work()

        if await self.trying(ahead()):
            how = " Press p to resume." if why and self._overview and self._overview.worker.paused else ""
            self._announce(f"Preparing stopped: {why}.{how}" if why else "All possible answers are prepared.")
        self._reload_if_shown()

    def _reload_if_shown(self) -> None:
        if self.is_attached:
            self.reload()

    def _announce(self, text: str, severity: str = "information") -> None:
        self.app.notify(safe(text), severity=severity, markup=False, timeout=6)  # type: ignore[arg-type]


def _chosen(what: str) -> dict[str, bool]:
    return {"answers": what in ("", "answers"), "states": what in ("", "states")}
