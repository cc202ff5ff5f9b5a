"""A scroll view that blanks parts far from the view, and keeps the visible text in place when content above changes."""

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
"""The distance, in heights of the view, beyond which parts are folded; parts nearer than half of it are unfolded."""

_OFTEN_S = 0.1


class Folding(VerticalScroll):
    """A scroll view that folds (blanks) and unfolds the parts of answers, at any depth below it."""

    _due: Timer | None = None
    _folds = False
    _width = 0
    _changes = 0
    _kept: tuple[Widget, int] | None = None

    def on_resize(self, event: events.Resize) -> None:
        """Update the heights of blank parts for the new width."""
        if event.size.width != self._width:
            self._width = event.size.width
            for answer in self._answers:
                answer.guess(self._width)
        self.fold_soon()

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Fold and unfold parts after scrolling."""
        super().watch_scroll_y(old, new)
        self.fold_soon()

    def watch_virtual_size(self) -> None:
        """Fold and unfold parts after the content has changed."""
        self.fold_soon()

    def fold_soon(self) -> None:
        """Fold and unfold parts after the next layout, as only then positions are known."""
        if self._due is None:
            self._due = self.set_timer(_OFTEN_S, self._fold_now)

    def _fold_now(self) -> None:
        self._due = None
        if self._folds:
            self.fold_soon()
        elif not self.screen.selections:  # a selection is about to be copied
            self._folds = True
            self.call_after_refresh(self._begin_folding)  # on a busy machine, the layout is later than the timer

    def _begin_folding(self) -> None:
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
            # This cache keeps the styles of the last 1,024 widgets, even removed ones.
            StylesCache.get_inner_outer.cache_clear()

    async def keep_place(self, change: Awaitable[object]) -> None:
        """Make a change, and scroll so that the widget at the top of the view keeps its position after the layout."""
        if not self._changes:  # otherwise the last change is not laid out yet
            self._keep(self._at_top())
        self._changes += 1
        try:
            await change
        finally:
            self.call_after_refresh(self._bring_back)

    def _keep(self, widget: Widget | None) -> None:
        self._kept = (widget, self._row(widget)) if widget else None

    def _bring_back(self) -> None:
        """Scroll by the distance that the widget to be kept in place has moved, once, even if more layouts follow."""
        self._changes -= 1
        kept, before = self._kept or (None, 0)
        if kept and kept.is_attached:
            self._keep(kept)
            moved = self._row(kept) - before
            # If the person has scrolled above it meanwhile, they are reading there now.
            in_view = before < self.scroll_y + self.size.height
            if moved and in_view and not (self.is_anchored and not self._anchor_released):
                self.scroll_to(y=self.scroll_y + moved, animate=False, force=True, immediate=True)
        elif self._changes:
            self._keep(self._at_top())
        if not self._changes:
            self._kept = None

    def _row(self, widget: Widget) -> int:
        """Return the row in the whole content at which a widget begins, regardless of the scroll position."""
        row = 0
        for node in widget.ancestors_with_self:
            if node is self or not isinstance(node, Widget):
                break
            row += node.virtual_region.y
        return row

    def is_far(self, widget: Widget) -> bool:
        """Return whether a widget is more than `NEAR` heights of the view away from it, so that it may be folded."""
        return self._heights_to(widget) > NEAR

    def _is_near(self, widget: Widget) -> bool:
        return 0 <= self._heights_to(widget) < NEAR / 2

    def _heights_to(self, widget: Widget) -> float:
        """Return the distance from the view to a widget, in heights of the view; -1 for a widget without a position."""
        place, view = widget.region, self.region
        if not place.width:
            return -1.0
        return max(0, view.y - place.bottom, place.y - view.bottom) / max(view.height, 1)

    def _at_top(self) -> Widget | None:
        """Return the first visible widget: a part of an answer, else a widget beside one, else their container."""
        parts = [part for answer in self._answers for part in answer.parts if not part.blank]
        beside = [grandchild for child in self.children for grandchild in child.children]
        seen = (widget for widget in (*parts, *beside, *self.children) if widget.region.height)
        return next((widget for widget in seen if widget.region.overlaps(self.region)), None)

    @property
    def _answers(self) -> DOMQuery[AnswerText]:
        # Query by name: importing the class loads the Markdown parser, which the first screen does not need.
        return cast("DOMQuery[AnswerText]", self.query("AnswerText"))
