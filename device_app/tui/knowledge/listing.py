"""What is known at a place, however much: filtered while it is typed, read a page at a time as it is scrolled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from device_app.tui.knowledge import rows

if TYPE_CHECKING:
    from textual.content import Content

    from device_app.tui.edge.facts import Holding, KnownFile, Totals
    from device_app.tui.edge.known import Known

    Row = Holding | KnownFile

PAGE = 100
"""Rows listed at a time."""


class Filter(Input):
    """Seen while it is typed into or holds something."""

    def on_blur(self) -> None:
        """Empty, it takes no room."""
        self.display = bool(self.value)


class Listing(Vertical):
    """Folders and single files, or the files `inside` one of them; `totals` are of all that is known.

    `trying` is awaited with what may fail; `named` gives a path as it is shown.
    """

    BINDINGS = [Binding("down", "to_list", show=False)]  # noqa: RUF012 (as Textual declares it)

    class Read(Message):
        """The rows are others."""

    class Chosen(Message):
        """A row is to be opened."""

        def __init__(self, row: Row) -> None:
            super().__init__()
            self.row = row

    def __init__(
        self,
        known: Known,
        clock: Callable[[], datetime],
        named: Callable[[bytes], str],
        trying: Callable[[Callable[[], Awaitable[None]]], Awaitable[object]],
    ) -> None:
        super().__init__(id="listing")
        self._known, self._clock, self._named, self._trying = known, clock, named, trying
        self.inside: Holding | None = None
        self.rows: list[Row] = []
        self.totals: Totals | None = None
        self.filter = Filter(placeholder="Filter by name", compact=True, classes="filter")
        self.filter.cursor_blink = False
        self.filter.display = False
        self.list = OptionList(id="holdings", compact=True, markup=False)
        self._whole = False
        self._reads = False
        self._landed = False

    def compose(self) -> ComposeResult:
        """The filter, the list."""
        yield self.filter
        yield self.list

    @property
    def highlighted(self) -> Row | None:
        """The row at hand."""
        at = self.list.highlighted
        return self.rows[at] if at is not None and at < len(self.rows) else None

    @property
    def words(self) -> str:
        """What the names have to hold."""
        return self.filter.value.strip()

    def go(self, inside: Holding | None) -> None:
        """Into a folder, or out again."""
        self.inside, self.rows = inside, []
        self.list.clear_options()
        self.list.focus()
        with self.prevent(Input.Changed):
            self.filter.value = ""
        self.filter.display = False
        self.reload()

    def begin_filter(self, words: str = "") -> None:
        """Let the person type what the names have to hold."""
        self.filter.display = True
        self.filter.value = words
        self.filter.focus()

    def end_filter(self) -> bool:
        """List everything again; whether there was a filter."""
        was = self.filter.display
        self.filter.value = ""
        self.filter.display = False
        self.list.focus()
        return was

    def reload(self) -> None:
        """Read the list again, as far as it was read."""
        self._read(self._load)

    def follow(self) -> None:
        """The same, unless that is under way: a large store takes longer than the next look."""
        if not self._reads:
            self.reload()

    def on_input_changed(self) -> None:
        """Filter while it is typed."""
        self.rows = []
        self.reload()

    def on_input_submitted(self) -> None:
        """To what is left."""
        self.action_to_list()

    def action_to_list(self) -> None:
        """From the filter into the list."""
        self.list.focus()

    def on_resize(self) -> None:
        """Lines are made for the width there is."""
        self.call_after_refresh(self._draw)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Read on near the end."""
        event.stop()
        self._read_on()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open it."""
        event.stop()
        if row := self.highlighted:
            self.post_message(self.Chosen(row))

    def _read_on(self) -> None:
        at = self.list.highlighted
        if not self._reads and not self._whole and at is not None and at >= len(self.rows) - 10:
            self._read(self._more)

    def _read(self, page: Callable[[], Awaitable[None]]) -> None:
        self._reads = True
        self._work(page)

    @work(exclusive=True, group="list")
    async def _work(self, page: Callable[[], Awaitable[None]]) -> None:
        self._landed = False
        await self._trying(page)
        self._reads = False
        if self._landed:  # the end may have been reached meanwhile
            self._read_on()

    async def _load(self) -> None:
        limit = max(PAGE, len(self.rows))
        page = await self._page(limit, 0)
        if not self.inside:
            self.totals = await self._known.totals()
        before, self.rows, self._whole = self.highlighted, page, len(page) < limit
        self._draw()
        paths = [row.path for row in page]
        if page:
            self.list.highlighted = paths.index(before.path) if before and before.path in paths else 0
        if page and self.screen.focused is None:  # it went when there was nothing to list yet
            self.list.focus()
        self._landed = True
        self.post_message(self.Read())

    async def _more(self) -> None:
        page = await self._page(PAGE, len(self.rows))
        self._whole = len(page) < PAGE
        self.rows += page
        self.list.add_options(Option(self._line(row)) for row in page)
        self._landed = True

    async def _page(self, limit: int, offset: int) -> list[Row]:
        if self.inside:
            return list(await self._known.files(self.inside.path, self.words, limit, offset))
        return list(await self._known.holdings(self.words, limit, offset))

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        at = self.list.highlighted
        self.list.set_options(Option(self._line(row)) for row in self.rows)
        self.list.highlighted = at
        self.list.display = bool(self.rows)
        self.set_class(not self.rows, "-empty")

    def _line(self, row: Row) -> Content:
        room = self.list.scrollable_content_region.width or self.app.size.width - 3  # hidden, it has no width yet
        width = max(room - 2, 8)
        name = self._named(row.path)
        if not self.inside:
            return rows.holding(row, name, width, self._clock())  # type: ignore[arg-type]
        short = name.removeprefix(self._named(self.inside.path)).lstrip("/")
        return rows.file(row, short or name, width, self._clock())  # type: ignore[arg-type]
