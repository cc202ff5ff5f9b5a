"""A scroll that folds what is far from its view, and keeps what is read in its place when things above it change."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, cast

from textual import events
from textual._styles_cache import StylesCache
from textual.containers import VerticalScroll
from textual.css.query import DOMQuery
from textual.timer import Timer
from textual.widget import Widget

if TYPE_CHECKING:
    from device_app.tui.chat.answer import AnswerText

NEAR = 2
"""What is further away than so many heights of the view is folded; what comes nearer than half of that unfolds."""

_OFTEN_S = 0.1


class Folding(VerticalScroll):
    """Its parts may be anywhere in it."""

    _due: Timer | None = None
    _folds = False
    _width = 0
    _changes = 0
    _kept: tuple[Widget, int] | None = None

    def on_resize(self, event: events.Resize) -> None:
        """What is blank takes another room."""
        if event.size.width != self._width:
            self._width = event.size.width
            for answer in self._answers:
                answer.guess(self._width)
        self.fold_soon()

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Other parts are near."""
        super().watch_scroll_y(old, new)
        self.fold_soon()

    def watch_virtual_size(self) -> None:
        """Something came or grew."""
        self.fold_soon()

    def fold_soon(self) -> None:
        """Look what is near and what is far, a little later: where everything lies takes a layout to know."""
        if self._due is None:
            self._due = self.set_timer(_OFTEN_S, self._fold_now)

    def _fold_now(self) -> None:
        self._due = None
        if self._folds:
            self.fold_soon()
        elif not self.screen.selections:  # what is marked is to be copied
            self._folds = True
            self.run_worker(self._fold(), group="folding")

    async def _fold(self) -> None:
        try:
            for answer in self._answers:
                for part in answer.parts:
                    if part.blank and self._is_near(part):
                        await self.keep_place(answer.unfold(part))
                    elif not part.blank and self.is_far(part):
                        await answer.fold(part)
        finally:
            self._folds = False
            # It holds on to how the last 1,024 widgets looked, those that are gone included.
            StylesCache.get_inner_outer.cache_clear()

    async def keep_place(self, change: Awaitable[object]) -> None:
        """Make a change; what stands at the top of the view stands there still when it is laid out."""
        if not self._changes:  # else what is kept in its place is not laid out yet
            self._keep(self._at_top())
        self._changes += 1
        try:
            await change
        finally:
            self.call_after_refresh(self._bring_back)

    def _keep(self, widget: Widget | None) -> None:
        self._kept = (widget, self._row(widget)) if widget else None

    def _bring_back(self) -> None:
        """Scroll as far as what is kept in its place has moved: once, whatever else is still to be laid out."""
        self._changes -= 1
        kept, before = self._kept or (None, 0)
        if kept and kept.is_attached:
            self._keep(kept)
            moved = self._row(kept) - before
            # Who has scrolled above it meanwhile reads there now.
            in_view = before < self.scroll_y + self.size.height
            if moved and in_view and not (self.is_anchored and not self._anchor_released):
                self.scroll_to(y=self.scroll_y + moved, animate=False, force=True, immediate=True)
        elif self._changes:
            self._keep(self._at_top())
        if not self._changes:
            self._kept = None

    def _row(self, widget: Widget) -> int:
        """Where it begins within all that scrolls, wherever that is scrolled to."""
        row = 0
        for node in widget.ancestors_with_self:
            if node is self or not isinstance(node, Widget):
                break
            row += node.virtual_region.y
        return row

    def is_far(self, widget: Widget) -> bool:
        """Whether it may go: nobody sees it soon."""
        return self._heights_to(widget) > NEAR

    def _is_near(self, widget: Widget) -> bool:
        return 0 <= self._heights_to(widget) < NEAR / 2

    def _heights_to(self, widget: Widget) -> float:
        """Heights of the view between it and a widget; negative where that has no place yet."""
        place, view = widget.region, self.region
        if not place.width:
            return -1.0
        return max(0, view.y - place.bottom, place.y - view.bottom) / max(view.height, 1)

    def _at_top(self) -> Widget | None:
        """The first that is within the view: a part of an answer, else what stands beside one, else what holds it."""
        parts = [part for answer in self._answers for part in answer.parts if not part.blank]
        beside = [grandchild for child in self.children for grandchild in child.children]
        seen = (widget for widget in (*parts, *beside, *self.children) if widget.region.height)
        return next((widget for widget in seen if widget.region.overlaps(self.region)), None)

    @property
    def _answers(self) -> DOMQuery[AnswerText]:
        # By name: the class brings the Markdown parser along, which the first screen does not need.
        return cast("DOMQuery[AnswerText]", self.query("AnswerText"))
