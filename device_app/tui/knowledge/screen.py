"""What is known: folders, the files in one, the passages of one; adding, removing, and how far reading is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from device_app.tui.actions import Place, State
from device_app.tui.area import AreaScreen
from device_app.tui.knowledge import rows
from device_app.tui.knowledge.passages import PassagesScreen
from device_app.tui.knowledge.places import PathField, Places
from device_app.tui.knowledge.reading import Phase, Reading
from device_app.tui.knowledge.view import ReadingView
from device_app.tui.wording import counted, safe, safe_line
from shared.errors import JackdawError, StoreError

if TYPE_CHECKING:
    from device_app.tui.edge.facts import Holding, KnownFile
    from device_app.tui.edge.ingestion import Reader
    from device_app.tui.edge.known import Known

PAGE = 100
"""Files listed at a time."""

LIVE_S = 2.0
"""While files are read, the list follows so often."""

_TEACHING = """\
Nothing has been read yet.

Press [bold $primary]a[/] and type the path of a folder, such as ~/Documents: Tab completes it. \
Notes, mails, chats, calendars, PDFs and office files in it are read, here on this device, and stay where they are."""


class KnowledgeScreen(AreaScreen):
    """A list of folders and single files; Enter goes into one, Esc comes back out."""

    PLACE = Place.KNOWLEDGE

    def __init__(
        self, known: Known, reader: Reader, clock: Callable[[], datetime], environment: Mapping[str, str]
    ) -> None:
        super().__init__()
        self._known = known
        self._reader = reader
        self._clock = clock
        self._environment = environment
        self._inside: Holding | None = None
        self._rows: list[Holding | KnownFile] = []
        self._all = False
        self._removing: bytes | None = None
        self._phase = Phase.IDLE
        self._heading = Static(classes="heading", markup=False)
        self._list = OptionList(id="holdings", compact=True, markup=False)
        self._note = Static(Content.from_markup(_TEACHING), classes="note", markup=False)
        self._places = Places()
        self._field = PathField(self._places)

    def body(self) -> ComposeResult:
        """Heading, list, what is being read, the line for a path."""
        yield self._heading
        yield self._list
        yield self._note
        yield ReadingView()
        yield self._places
        yield self._field

    def on_mount(self) -> None:
        """List, and follow what is being read."""
        super().on_mount()
        self._note.display = False
        self._list.focus()
        self.status.doing = "Esc back"
        self.watch(self.app, "reading", self._follow)
        self.set_interval(LIVE_S, self._live)
        self.reload()

    def reload(self) -> None:
        """Read the list anew."""
        self._load()

    def on_resize(self) -> None:
        """Lines are made for the width there is."""
        self.call_after_refresh(self._draw)

    # The list

    @work(exclusive=True, group="list")
    async def _load(self) -> None:
        try:
            if self._inside:
                found: Sequence[Holding | KnownFile] = await self._known.files(
                    self._inside.path, max(PAGE, len(self._rows))
                )
            else:
                found = await self._known.holdings()
        except StoreError as error:
            self._tell(str(error), "error")
            return
        self._all = not self._inside or len(found) < PAGE
        before = self._highlighted()
        self._rows = list(found)
        self._draw()
        paths = [row.path for row in self._rows]
        if before and before.path in paths:
            self._list.highlighted = paths.index(before.path)
        elif self._rows:
            self._list.highlighted = 0
        self._show_states()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        at = self._list.highlighted
        self._list.set_options(Option(self._row(row)) for row in self._rows)
        self._list.highlighted = at
        self._list.display = bool(self._rows)
        self._note.display = not self._rows and not self._inside and not self._reader.reading.goes_on
        self._heading.update(self._head())

    def _row(self, row: Holding | KnownFile) -> Content:
        room = self._list.scrollable_content_region.width or self.app.size.width - 3  # hidden, it has no width yet
        width = max(room - 2, 8)
        if not self._inside:
            return rows.holding(row, self._named(row.path), width, self._clock())  # type: ignore[arg-type]
        name = self._named(row.path).removeprefix(self._named(self._inside.path)).lstrip("/")
        return rows.file(row, name or self._named(row.path), width, self._clock())  # type: ignore[arg-type]

    def _head(self) -> Content:
        if self._inside:
            name = rows.shortened(safe_line(self._named(self._inside.path)), max(self.app.size.width - 14, 8))
            return Content.assemble((name, "$primary bold"), (f" · {counted(self._inside.files, 'file')}", "$quiet"))
        holdings: Sequence[Holding] = self._rows  # type: ignore[assignment]
        files, held = sum(one.files for one in holdings), sum(one.passages for one in holdings)
        if not holdings:
            return Content("")
        return Content.styled(f"{counted(files, 'file')}, {counted(held, 'passage')}", "$quiet")

    def _named(self, path: bytes) -> str:
        from device_app.tui.edge.places import named

        return named(path, self._environment)

    def _highlighted(self) -> Holding | KnownFile | None:
        at = self._list.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Read on near the end; what was to be removed is another matter now."""
        if event.option_list is not self._list:
            return
        row = self._highlighted()
        if row and row.path != self._removing:
            self._removing = None
        if not self._all and event.option_index >= len(self._rows) - 10:
            self._all = True  # until the next page says otherwise
            self._more()

    @work(group="more")
    async def _more(self) -> None:
        inside = self._inside
        if not inside:
            return
        try:
            found = await self._known.files(inside.path, PAGE, len(self._rows))
        except StoreError as error:
            self._tell(str(error), "error")
            return
        if inside is self._inside:
            self._rows += found
            self._list.add_options(Option(self._row(row)) for row in found)
            self._all = len(found) < PAGE

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Into a folder, or the passages of a file."""
        if event.option_list is not self._list or not (row := self._highlighted()):
            return
        event.stop()
        if not self._inside and self._is_folder(row):
            self._go(row)  # type: ignore[arg-type]
        elif reason := getattr(row, "reason", None):
            self._tell(f"{self._named(row.path)} could not be read: {reason}.")
        else:
            self.app.push_screen(PassagesScreen(self._known, row.path, self._named(row.path)))

    @staticmethod
    def _is_folder(row: Holding | KnownFile) -> bool:
        return getattr(row, "is_folder", False)

    def _go(self, inside: Holding | None) -> None:
        self._inside, self._rows, self._removing = inside, [], None
        self._list.clear_options()
        self.reload()

    def action_back(self) -> None:
        """Out of the folder, then to the chat."""
        if self._inside:
            self._go(None)
        else:
            self.dismiss()

    # Adding and removing

    def type_path(self, typed: str = "~/") -> None:
        """Let the person type a path."""
        self._field.begin(typed)
        self._show_states()

    @on(PathField.Left)
    def _stop_typing(self) -> None:
        self._field.end()
        self._list.focus()
        self._show_states()

    @on(PathField.Named)
    def _path_was_typed(self, event: PathField.Named) -> None:
        self.run_worker(self._add(event.typed), exclusive=True, group="add")

    async def _add(self, typed: str) -> None:
        if await self.app.add(typed):  # type: ignore[attr-defined]
            self._stop_typing()

    def action_remove(self) -> None:
        """Forget what is highlighted, when asked twice."""
        row = self._highlighted()
        if not row:
            self._tell("There is nothing to remove.")
        elif self._removing != row.path:
            self._removing = row.path
            self._tell(f"Once more, and this is forgotten: {self._what(row)}. Your files themselves stay.", "warning")
        else:
            self._removing = None
            self.run_worker(self._remove(row.path), group="remove")

    def _what(self, row: Holding | KnownFile) -> str:
        name = self._named(row.path)
        held = counted(row.passages, "passage")
        files = getattr(row, "files", 0)
        return f"{name}, {counted(files, 'file')} with {held}" if files > 1 else f"{name} with {held}"

    async def _remove(self, path: bytes) -> None:
        name = self._named(path)
        try:
            removed = await self._reader.remove(path)
        except JackdawError as error:
            self._tell(str(error), "error")
            return
        told = f"Forgotten: {name}."
        if removed.watched and removed.files:
            told += f" {removed.watched} is still read, and it with that, unless you remove the folder."
        self._tell(told)
        if self._inside and self._inside.path == path:
            self._go(None)
        else:
            self.reload()

    # Reading

    def action_update(self) -> None:
        """Bring the folders up to date."""
        self._reader.update()

    def action_pause(self) -> None:
        """Stop reading."""
        if self._reader.reading.goes_on:
            self._reader.pause()
        else:
            self._tell("There is nothing to pause.")

    def action_resume(self) -> None:
        """Go on reading."""
        if self._reader.reading.stands_still:
            self._reader.resume()
        else:
            self._tell("There is nothing to go on with.")

    def _follow(self, reading: Reading) -> None:
        if reading.phase is not self._phase:
            self._phase = reading.phase
            self.reload()
        self._show_states()

    def _live(self) -> None:
        if self._phase is Phase.READING and len(self._rows) <= PAGE:
            self.reload()

    def _show_states(self) -> None:
        reading = self._reader.reading
        if self._field.display:  # letters are typed there
            self.status.states = frozenset()
            return
        found = {
            State.READING,
            *([State.INGESTING] if reading.goes_on else []),
            *([State.PAUSED] if reading.stands_still else []),
            *([State.HELD] if self._rows else []),
        }
        self.status.states = frozenset(found)

    def _tell(self, text: str, severity: str = "information") -> None:
        self.app.notify(safe(text), severity=severity, markup=False, timeout=6)  # type: ignore[arg-type]
