"""The window that shows a source: a passage with the text around it, its file and its date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from device_app.presentation import place_in
from device_app.tui.wording import safe, safe_line
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.tui.edge.facts import Passage
    from device_app.tui.edge.records import Records


class SourceScreen(ModalScreen[None]):
    """A window with one source of an answer; keys switch to the answer's other sources."""

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding("escape,q", "dismiss", show=False),
        Binding("right,n", "turn(1)", show=False),
        Binding("left,p", "turn(-1)", show=False),
        Binding("y", "copy", show=False),
        Binding("e", "edit", show=False),
        *(Binding(str(number), f"open({number})", show=False) for number in range(1, 10)),
    ]

    def __init__(self, records: Records, sources: Sequence[dict[str, Any]], number: int) -> None:
        super().__init__()
        self._records = records
        self._sources = sources
        self._number = number

    def compose(self) -> ComposeResult:
        """Yield a fixed heading and the scrolling text."""
        with Vertical(classes="window") as window:
            others = " · ←→ others" if len(self._sources) > 1 else ""
            window.border_subtitle = f"y copies · e edits{others} · Esc back"
            yield Static(classes="heading", markup=False)
            with VerticalScroll():
                yield Static(classes="before", markup=False)
                yield Static(classes="passage", markup=False)
                yield Static(classes="behind", markup=False)

    def on_mount(self) -> None:
        """Show the chosen source."""
        self.query_one(VerticalScroll).focus()
        self.action_open(self._number)

    def action_turn(self, step: int) -> None:
        """Show the next or previous source of the answer."""
        self.action_open((self._number - 1 + step) % len(self._sources) + 1)

    def action_open(self, number: int) -> None:
        """Show the source with that number, if there is one."""
        if 1 <= number <= len(self._sources):
            self._number = number
            self.run_worker(self._show(self._sources[number - 1]), exclusive=True)

    def action_copy(self) -> None:
        """Copy the passage."""
        text = self.query_one(".passage", Static).content
        self.app.copy_to_clipboard(str(text))
        self.app.notify("The passage is copied.")

    def action_edit(self) -> None:
        """Open the source's file in the person's editor, at the passage."""
        source = self._sources[self._number - 1]
        self.app.run_worker(self.app.edit(source))  # type: ignore[attr-defined]

    async def _show(self, source: dict[str, Any]) -> None:
        self.query_one(".window").border_title = f"Source {self._number} of {len(self._sources)}"
        try:
            passage, gone = await self._read(source)
        except JackdawError as error:
            passage, gone = None, str(error)
        self.query_one(".heading", Static).update(_heading(source, gone))
        self._fill(passage, source)
        if passage and passage.before:
            self.call_after_refresh(self.query_one(".passage").scroll_visible, animate=False, top=True)

    async def _read(self, source: dict[str, Any]) -> tuple[Passage | None, str]:
        """Return the source's passage with the text around it; or None and the reason why it is not available."""
        if source["side"] == "server":
            return None, "One of the server's passages, as it was when you asked:"
        passage = await self._records.passage(source["id"])
        return passage, "" if passage else "This passage was changed or deleted. The answer used this text:"

    def _fill(self, passage: Passage | None, source: dict[str, Any]) -> None:
        kept = ("", source.get("text", source["snippet"]), "")
        before, text, behind = (passage.before, passage.passage.text, passage.behind) if passage else kept
        for name, part in (("before", before), ("passage", text), ("behind", behind)):
            shown = self.query_one(f".{name}", Static)
            shown.update(_marked(safe(part), source.get("words", ())))
            shown.display = bool(part)


def _marked(text: str, words: Sequence[str]) -> Content:
    """Return the text with these words marked."""
    content = Content(text)
    each = "|".join(map(re.escape, dict.fromkeys(filter(None, words))))
    for match in re.finditer(rf"\b(?:{each})\b", text, re.IGNORECASE) if each else ():
        content = content.stylize("$accent bold", match.start(), match.end())
    return content


def _heading(source: dict[str, Any], gone: str) -> Content:
    place = ", ".join(
        filter(None, (safe_line(source["path"]), place_in(source["path"], source["line"], source["page"])))
    )
    date = (source["date"] or "")[:16].replace("T", " ").removesuffix(" 00:00")
    lines = [
        Content.styled(safe_line(source["title"]), "bold"),
        Content.styled(place, "$quiet"),
        *([Content.styled(date, "$quiet")] if date else []),
    ]
    if gone:
        lines.append(Content.styled(safe_line(gone), "$warning"))
    return Content("\n").join(lines)
