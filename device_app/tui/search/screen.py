"""The search screen: a field, and below it the results in files and conversations, updated as the person types."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from device_app.commands.search_results import Results, Side, Sort
from device_app.presentation import search_summary
from device_app.tui.actions import AppState, Place
from device_app.tui.area import AreaScreen
from device_app.tui.keyed import FilteredList
from device_app.tui.search import rows
from device_app.tui.wording import safe, safe_line
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.tui.edge.records import Records
    from device_app.tui.edge.searches import Searches

_SIDES = {Side.BOTH: "files and conversations", Side.FILES: "files", Side.CONVERSATIONS: "conversations"}
_MOST_COMPLETIONS = 4


class SearchScreen(AreaScreen):
    """One field over files and conversations; Enter opens a result, Tab completes a filter."""

    PLACE = Place.SEARCH

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding("tab", "complete", show=False),
        Binding("down", "down", show=False),
        Binding("up", "up", show=False),
    ]

    def __init__(
        self, searches: Searches, records: Records, clock: Callable[[], datetime], environment: Mapping[str, str]
    ) -> None:
        super().__init__()
        self._environment = environment
        self._searches, self._records, self._clock = searches, records, clock
        self._side, self._sort = Side.BOTH, Sort.RELEVANCE
        self._results: Results | None = None
        self._completions: tuple[str, ...] = ()
        self._is_reading = self._opens = False
        self._field = Input(placeholder="Search in files and conversations", compact=True, classes="filter")
        self._field.cursor_blink = False
        self._summary = Static(classes="note", markup=False)
        self._list = FilteredList(self._field, id="results")
        self._help = Static(classes="help", markup=False)

    def body(self) -> ComposeResult:
        """Yield the field, a line on the parsed search, the results, and the help for an empty field."""
        yield self._field
        yield self._summary
        yield self._list
        yield self._help

    def on_mount(self) -> None:
        """Focus the field."""
        super().on_mount()
        self._field.focus()
        self.status.doing = "Esc back"
        self._show()
        if not self._field.value:
            self.on_input_changed()  # reads what later keys need

    def states(self) -> frozenset[AppState]:
        """Return no app states: in particular, letters do not act as keys, but are typed into the field."""
        return frozenset()

    def begin(self, words: str) -> None:
        """Put these words into the field and search for them."""
        self._field.value = words
        self._field.cursor_position = len(words)
        self._field.focus()

    # Typing

    def on_input_changed(self) -> None:
        """Search as the person types."""
        self._is_reading, self._opens = True, False
        self._read(self._field.value)

    def on_input_submitted(self) -> None:
        """Open the first result, once it is shown."""
        self._opens = self._is_reading
        if not self._is_reading:
            self._list.action_select()

    def action_complete(self) -> None:
        """Complete the filter that is being typed."""
        if self._completions:
            self.begin(self._completions[0])

    def action_down(self) -> None:
        """Move the focus from the field to the results."""
        if self._list.option_count:
            self._list.focus()

    def action_up(self) -> None:
        """Move the focus from the results to the field."""
        self._field.focus()

    def action_side(self, name: str = "") -> None:
        """Search in files, in conversations or in both: `name`, or the next of these."""
        sides = list(Side)
        if name and name not in sides:
            self._announce("Choose where to search: /side files, /side conversations or /side both")
            return
        self._side = Side(name) if name else sides[(sides.index(self._side) + 1) % len(sides)]
        self.on_input_changed()

    def action_order(self, name: str = "") -> None:
        """Sort by the order `name`, relevance or date; without a name, by the other order."""
        if name and name not in list(Sort):
            self._announce("Choose an order: /order relevance or /order date")
            return
        self._sort = Sort(name) if name else next(sort for sort in Sort if sort is not self._sort)
        self.on_input_changed()

    @work(exclusive=True)
    async def _read(self, text: str) -> None:
        try:
            completions = await self._searches.completions(text)
            today = self._clock().astimezone().date()
            results = await self._searches.search(text, today, self._side, self._sort) if text.strip() else None
        except JackdawError as error:
            self._is_reading = self._opens = False
            self._announce(str(error), "error")
            return
        self._completions, self._results, self._is_reading = tuple(completions), results, False
        self._show()
        if self._opens:
            self._opens = False
            self._list.action_select()

    def _show(self) -> None:
        results = self._results
        options = rows.options(results, self.app.size.width, self._named) if results else []
        self._list.set_options(options)
        self._list.highlighted = 1 if options else None  # below the heading
        self._list.display = bool(options)
        self._help.display = not options
        self._summary.update(self._line())
        nothing = Content("Nothing matches.") if results and not results.search.is_empty else Content("")
        self._help.update(nothing if results and not self._completions else rows.filter_help())

    def _named(self, path: str) -> str:
        from device_app.tui.edge.places import named

        return named(os.fsencode(path), self._environment)

    def _line(self) -> Content:
        order = "by date" if self._sort is Sort.DATE else "by relevance"
        lines = [Content.styled(f"{_SIDES[self._side]} · {order}", "$quiet")]
        if self._results:
            lines += [Content.styled(safe_line(line), "$quiet") for line in search_summary(self._results)]
        if self._completions:
            some = " · ".join(map(safe_line, self._completions[:_MOST_COMPLETIONS]))
            lines.append(Content.assemble(("Tab: ", "$quiet"), (some, "$primary")))
        return Content("\n").join(lines)

    # Results

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open a file's passage or a conversation, or add a filter."""
        event.stop()
        side, _, rest = str(event.option_id).partition(":")
        if side == "narrow":
            self.begin(f"{self._field.value.strip()} {rest}")
        elif self._results and side == "file":
            self._open_file(int(rest))
        elif self._results:
            turn = self._results.turns[int(rest)].turn
            chat: Any = self.app.screen_stack[0]
            self.dismiss()
            chat.run_worker(chat.open_conversation(turn.conversation_id, turn.id))

    def _open_file(self, place: int) -> None:
        from device_app.tui.chat.source import SourceScreen

        assert self._results is not None
        sources = [
            {
                "side": "device",
                "id": result.passage.id,
                "title": result.passage.title or result.passage.path.rpartition("/")[2],
                "path": result.passage.path,
                "page": result.passage.page,
                "line": result.passage.line,
                "date": result.passage.date,
                "snippet": result.passage.text,
                "words": [result.snippet.text[start:end] for start, end in result.snippet.marks],
            }
            for result in self._results.files
        ]
        self.app.push_screen(SourceScreen(self._records, sources, place + 1))

    def _announce(self, text: str, severity: str = "warning") -> None:
        self.app.notify(safe(text), severity=severity, markup=False, timeout=6)  # type: ignore[arg-type]
