"""A list widget for kept entries, of any length: filtered as the person types, loaded page by page on scrolling."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from device_app.tui.keyed import FilteredList
from device_app.tui.wording import counted, safe_line
from shared.errors import JackdawError

PAGE = 50

Row = tuple[int, Content]
"""The id of an entry, and the content of its row."""


class KeptList(Vertical):
    """A filtered list of entries, which `noun` names for the person; without entries, the text `empty` is shown.

    `ids` returns the ids of the entries with the typed words, in order; `rows` reads the rows of some ids.
    """

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding("down", "down", show=False),
        Binding("up", "up", show=False),
    ]

    class Chosen(Message):
        """The message, sent to the screen, that the person chose an entry to see it in full."""

        def __init__(self, kept: KeptList, key: int) -> None:
            super().__init__()
            self.kept = kept
            self.key = key

        @property
        def control(self) -> KeptList:
            """The list that sent the message."""
            return self.kept

    def __init__(
        self,
        ids: Callable[[str], Awaitable[Sequence[int]]],
        rows: Callable[[Sequence[int]], Awaitable[Sequence[Row]]],
        *,
        id: str,
        noun: str,
        empty: str,
    ) -> None:
        super().__init__(id=id, classes="kept")
        self._read_ids, self._read_rows, self._noun, self._empty = ids, rows, noun, empty
        self._ids: Sequence[int] = ()
        self._read = 0
        self.filter = Input(placeholder="Type to filter · Tab: next view", compact=True)
        self.filter.cursor_blink = False
        self.list = FilteredList(self.filter)
        self._note = Static("", classes="note", markup=False)

    def compose(self) -> ComposeResult:
        """Yield the filter, the count and the list."""
        yield self.filter
        yield self._note
        yield self.list

    def on_show(self) -> None:
        """Read the list when it is first shown."""
        self.reload()

    def reload(self) -> None:
        """Read the list of entries again in the background."""
        self._begin(self._fill)

    def on_input_changed(self) -> None:
        """Filter as the person types."""
        self.reload()

    def on_input_submitted(self) -> None:
        """Show the first entry that matches the filter in full."""
        self.list.action_select()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Read the next page when the highlight nears the end of the list."""
        if event.option_index >= self._read - 5 and self._read < len(self._ids):
            self._begin(self._more)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Show the selected entry in full."""
        event.stop()
        self.post_message(self.Chosen(self, int(str(event.option_id))))

    def action_down(self) -> None:
        """Move the focus from the filter to the list."""
        self.list.focus()

    def action_up(self) -> None:
        """Move the focus from the list to the filter."""
        self.filter.focus()

    @work(exclusive=True, group="kept")
    async def _begin(self, reading: Callable[[], Awaitable[None]]) -> None:
        try:
            await reading()
        except JackdawError as error:
            self._note.update(safe_line(str(error)))

    async def _fill(self) -> None:
        words = self.filter.value.strip()
        self._ids, self._read = await self._read_ids(words), 0
        self.list.clear_options()
        note = f"{len(self._ids):,} with “{safe_line(words)}”" if words else counted(len(self._ids), self._noun)
        note += " · Enter opens" if self._ids else ""
        self._note.update(note if self._ids or words else self._empty)
        await self._more()
        self.list.highlighted = 0 if self.list.option_count else None

    async def _more(self) -> None:
        page = self._ids[self._read : self._read + PAGE]
        rows = await self._read_rows(page)
        self._read += len(page)
        self.list.add_options(Option(row, id=str(key)) for key, row in rows)
