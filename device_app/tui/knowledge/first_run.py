"""The first run: choose a folder, watch it being read, ask one of three questions about it. Each takes one key."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from device_app.tui.knowledge.reading import Reading
from device_app.tui.knowledge.view import ReadingView
from device_app.tui.wording import safe_line


class FirstRun(Vertical):
    """The part of the welcome before any file was read. `choices` are the texts for the keys 1, 2, 3 …."""

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self.choices: Sequence[str] = ()
        self._folders: Sequence[str] = ()
        self._status = Static(markup=False)

    def compose(self) -> ComposeResult:
        """Yield the progress of reading, then the choices."""
        yield ReadingView()
        yield self._status

    def on_mount(self) -> None:
        """Follow the reading of files."""
        self.watch(self.app, "reading", self._follow)

    async def begin(self) -> None:
        """Offer the folders that exist."""
        from device_app.tui.edge import places

        self._folders = await asyncio.to_thread(places.likely, self.app.environment)  # type: ignore[attr-defined]
        self.display = True
        self._follow(self.app.reading)  # type: ignore[attr-defined]

    def _follow(self, reading: Reading) -> None:
        if reading.questions:
            self.choices = reading.questions
            self._status.update(_asking(reading.questions))
        elif reading.goes_on:
            self.choices = ()
            meanwhile = "You can already ask about the files read so far." if reading.passages else ""
            self._status.update(Content.styled(meanwhile, "$quiet"))
        else:
            self.choices = [f"/add {folder}" for folder in self._folders]
            self._status.update(_choosing(self._folders))


def _choosing(folders: Sequence[str]) -> Content:
    lines = [Content("No files have been read yet. Which folder first?"), Content()]
    lines += [_choice(number, folder) for number, folder in enumerate(folders, 1)]
    lines += [Content()] if folders else []
    typed = Content.assemble(
        ("/add ", "$primary bold"), ("and a path reads another folder; Tab completes it.", "$quiet")
    )
    return Content("\n").join([*lines, typed])


def _asking(questions: Sequence[str]) -> Content:
    lines = [Content("Ask about your files, for example:"), Content()]
    return Content("\n").join([*lines, *(_choice(number, question) for number, question in enumerate(questions, 1))])


def _choice(number: int, text: str) -> Content:
    return Content.assemble((f"  {number} ", "$accent bold"), safe_line(text))
