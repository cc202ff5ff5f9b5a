"""The knowledge screen: folders, their files, and their passages; adding, removing, and the progress of reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from device_app.tui.actions import AppState, Place
from device_app.tui.area import AreaScreen
from device_app.tui.knowledge import rows
from device_app.tui.knowledge.listing import PAGE, Listing
from device_app.tui.knowledge.passages import PassagesScreen
from device_app.tui.knowledge.places import PathField, Places
from device_app.tui.knowledge.reading import Phase, Reading
from device_app.tui.knowledge.view import ReadingView
from device_app.tui.wording import counted, safe, safe_line
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.tui.edge.facts import Holding
    from device_app.tui.edge.ingestion import Reader
    from device_app.tui.edge.known import Known
    from device_app.tui.knowledge.listing import Row

LIVE_S = 2.0
"""Seconds between updates of the list while files are read."""

_TEACHING = """\
Nothing has been read yet.

Press [bold $primary]a[/] and type the path of a folder, such as ~/Documents: Tab completes it. \
Notes, mails, chats, calendars, PDFs and office files in it are read, here on this device, and stay where they are."""


class KnowledgeScreen(AreaScreen):
    """The knowledge screen, a list of folders and single files; Enter opens a folder, Esc leaves the folder."""

    PLACE = Place.KNOWLEDGE

    def __init__(
        self, known: Known, reader: Reader, clock: Callable[[], datetime], environment: Mapping[str, str]
    ) -> None:
        super().__init__()
        self._known = known
        self._reader = reader
        self._clock = clock
        self._environment = environment
        self._phase = Phase.IDLE
        self._heading = Static(classes="heading", markup=False)
        self._listing = Listing(known, clock, self._named, self.following)
        self._note = Static(classes="note", markup=False)
        self._places = Places()
        self._field = PathField(self._places)

    def body(self) -> ComposeResult:
        """Yield the heading, the list, the progress of reading, and the field for a path."""
        yield self._heading
        yield self._listing
        yield self._note
        yield ReadingView()
        yield self._places
        yield self._field

    def on_mount(self) -> None:
        """Read the list, and watch the progress of reading files."""
        super().on_mount()
        self._note.display = False
        self._listing.list.focus()
        self.status.doing = "Esc back"
        self.watch(self.app, "reading", self._follow)
        self.set_interval(LIVE_S, self._live)
        self.reload()

    def reload(self) -> None:
        """Read the list again."""
        self._listing.reload()

    def on_resize(self) -> None:
        """Draw the heading again for the new width."""
        self.call_after_refresh(self._show)

    # The list

    @on(Listing.Read)
    def _show(self) -> None:
        listing = self._listing
        empty = listing.totals is not None and not listing.rows
        at_first = not listing.inside and not self._reader.reading.goes_on
        self._note.display = empty and (bool(listing.words) or at_first)
        if listing.words:
            self._note.update(Content(f"No file name contains “{safe_line(listing.words)}”. Esc lists all files."))
        else:
            self._note.update(Content.from_markup(_TEACHING))
        self._heading.update(self._head())
        self._show_states()

    def _head(self) -> Content:
        listing = self._listing
        if inside := listing.inside:
            name = rows.shortened(safe_line(self._named(inside.path)), max(self.app.size.width - 14, 8))
            return Content.assemble((name, "$primary bold"), (f" · {counted(inside.files, 'file')}", "$quiet"))
        totals = listing.totals
        if not totals or not (listing.rows or listing.words):
            return Content("")
        return Content.styled(f"{counted(totals.files, 'file')}, {counted(totals.passages, 'passage')}", "$quiet")

    def _named(self, path: bytes) -> str:
        from device_app.tui.edge.places import named

        return named(path, self._environment)

    @on(Listing.Chosen)
    def _chosen(self, event: Listing.Chosen) -> None:
        """Open a folder, or the passages of a file."""
        row = event.row
        if not self._listing.inside and self._is_folder(row):
            self._go(row)  # type: ignore[arg-type]
        elif reason := getattr(row, "reason", None):
            # The name comes last, as it may be too long for the line.
            self._announce(f"This file could not be read: {reason}. {self._named(row.path)}")
        else:
            self.app.push_screen(PassagesScreen(self._known, row.path, self._named(row.path)))

    @staticmethod
    def _is_folder(row: Row) -> bool:
        return getattr(row, "is_folder", False)

    def _go(self, inside: Holding | None) -> None:
        self._listing.go(inside)

    def action_filter(self, words: str = "") -> None:
        """Show the filter for names."""
        self._listing.begin_filter(words)

    def on_descendant_focus(self) -> None:
        """Update which keys are available: letters act as keys unless an input has the focus."""
        self._show_states()

    def action_back(self) -> None:
        """Leave the filter, then the folder, then the screen."""
        if self._listing.end_filter():
            return
        if self._listing.inside:
            self._go(None)
        else:
            self.dismiss()

    # Adding and removing

    def type_path(self, typed: str = "~/") -> None:
        """Show the field for a path, with `typed` in it."""
        self._field.begin(typed)
        self._show_states()

    @on(PathField.Left)
    def _stop_typing(self) -> None:
        self._field.end()
        self._listing.list.focus()
        self._show_states()

    @on(PathField.Named)
    def _path_was_typed(self, event: PathField.Named) -> None:
        self.run_worker(self._add(event.typed), exclusive=True, group="add")

    async def _add(self, typed: str) -> None:
        if await self.app.add(typed):  # type: ignore[attr-defined]
            self._stop_typing()

    def action_remove(self) -> None:
        """Remove the highlighted entry from the knowledge, after the person confirms."""
        row = self._listing.highlighted
        if not row:
            self._announce("Choose a folder or a file, then press d.")
            return
        doing = f"forget {self._what(row)}; your files stay"
        self.app.confirm(safe(doing), partial(self._remove, row.path))  # type: ignore[attr-defined]

    def _what(self, row: Row) -> str:
        name = rows.shortened(safe_line(self._named(row.path)), 32)
        held = counted(row.passages, "passage")
        files = getattr(row, "files", 0)
        return f"{name}, {counted(files, 'file')} with {held}" if files > 1 else f"{name} with {held}"

    async def _remove(self, path: bytes) -> None:
        name = self._named(path)
        try:
            removed = await self._reader.remove(path)
        except JackdawError as error:
            self._announce(str(error), "error")
            return
        message = f"Forgotten: {name}."
        if removed.watched and removed.files:
            message += f" It will be read again with the folder {removed.watched}, unless you remove that folder."
        self._announce(message)
        for view in self.query(ReadingView):  # its summary is outdated
            view.settle()
        if (inside := self._listing.inside) and inside.path == path:
            self._go(None)
        elif self.is_attached:
            self.reload()

    # Reading

    def action_update(self) -> None:
        """Read new and changed files in the added folders."""
        if self._listing.inside or any(self._is_folder(row) for row in self._listing.rows) or self._listing.words:
            self._reader.update()
        else:
            self._announce("No folder was added. To update a single file, add the file again.")

    def action_pause(self) -> None:
        """Pause the reading of files."""
        if self._reader.reading.goes_on:
            self._reader.pause()
        else:
            self._announce("No files are being read.")

    def action_resume(self) -> None:
        """Resume the reading of files."""
        if self._reader.reading.stands_still:
            self._reader.resume()
        else:
            self._announce("Reading is not paused.")

    def _follow(self, reading: Reading) -> None:
        if reading.phase is not self._phase:
            self._phase = reading.phase
            self.reload()
        self._show_states()

    def _live(self) -> None:
        if self._phase is Phase.READING and len(self._listing.rows) <= PAGE:
            self._listing.follow()

    def _show_states(self) -> None:
        reading = self._reader.reading
        if isinstance(self.focused, Input):  # letters are typed there
            self.status.states = frozenset()
            return
        states = {
            AppState.READING,
            *([AppState.INGESTING] if reading.goes_on else []),
            *([AppState.PAUSED] if reading.stands_still else []),
            *([AppState.HELD] if self._listing.rows else []),
        }
        self.status.states = frozenset(states)

    def _announce(self, text: str, severity: str = "information") -> None:
        self.app.notify(safe(text), severity=severity, markup=False, timeout=6)  # type: ignore[arg-type]
