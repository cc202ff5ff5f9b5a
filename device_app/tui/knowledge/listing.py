"""A list of files and folders of any length: filtered as the person types, read page by page on scrolling."""

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
"""The number of rows in a page."""


class Filter(Input):
    """The filter field, visible while it has the focus or contains text."""

    def on_blur(self) -> None:
        """Hide the filter field if it is empty."""
        self.display = bool(self.value)


class Listing(Vertical):
    """A list of folders and single files, or of the files `inside` one folder; `totals` are those of everything read.

    `trying` awaits work that may fail; `named` formats a path for display.
    """

    BINDINGS = [Binding("down", "to_list", show=False)]  # noqa: RUF012 (as Textual declares it)

    class Read(Message):
        """The message that the rows were read again."""

    class Chosen(Message):
        """The message that the person chose a row to open."""

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
        """Yield the filter and the list."""
        yield self.filter
        yield self.list

    @property
    def highlighted(self) -> Row | None:
        """The highlighted row; None if no row is highlighted."""
        at = self.list.highlighted
        return self.rows[at] if at is not None and at < len(self.rows) else None

    @property
    def words(self) -> str:
        """The words that the names have to contain."""
        return self.filter.value.strip()

    def go(self, inside: Holding | None) -> None:
        """Show the contents of a folder, or with None all folders."""
        self.inside, self.rows = inside, []
        self.list.clear_options()
        self.list.focus()
        with self.prevent(Input.Changed):
            self.filter.value = ""
        self.filter.display = False
        self.reload()

    def begin_filter(self, words: str = "") -> None:
        """Show the filter with these words and focus it."""
        self.filter.display = True
        self.filter.value = words
        self.filter.focus()

    def end_filter(self) -> bool:
        """Clear the filter and list everything again; return whether there was a filter."""
        was = self.filter.display
        self.filter.value = ""
        self.filter.display = False
        self.list.focus()
        return was

    def reload(self) -> None:
        """Read the loaded part of the list again."""
        self._read(self._load)

    def follow(self) -> None:
        """Read the list again, unless a read is still in progress, as is possible with a large store."""
        if not self._reads:
            self.reload()

    def on_input_changed(self) -> None:
        """Filter as the person types."""
        self.rows = []
        self.reload()

    def on_input_submitted(self) -> None:
        """Move the focus to the filtered list."""
        self.action_to_list()

    def action_to_list(self) -> None:
        """Move the focus from the filter to the list."""
        self.list.focus()

    def on_resize(self) -> None:
        """Draw the rows again for the new width."""
        self.call_after_refresh(self._draw)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Read more rows when the highlight nears the end."""
        event.stop()
        self._read_on()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open the selected row."""
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
        if page and self.screen.focused is None:  # the focus was lost while there was nothing to list
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
        room = self.list.scrollable_content_region.width or self.app.size.width - 3  # a hidden list has no width yet
        width = max(room - 2, 8)
        name = self._named(row.path)
        if not self.inside:
            return rows.holding(row, name, width, self._clock())  # type: ignore[arg-type]
        short = name.removeprefix(self._named(self.inside.path)).lstrip("/")
        return rows.file(row, short or name, width, self._clock())  # type: ignore[arg-type]
