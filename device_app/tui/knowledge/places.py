"""Typing a path: the list of completions above the input field, which keeps the focus."""

from __future__ import annotations

import asyncio
from itertools import takewhile

from textual import events, work
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from device_app.tui.wording import safe_line

COMMAND = "/add "


def path_in(text: str) -> str | None:
    """Return the path typed after the command /add; None for other text."""
    starts = text[: len(COMMAND)].lower() == COMMAND and "\n" not in text
    return text[len(COMMAND) :].lstrip() if starts else None


class Places(OptionList):
    """The list of folders and files whose path begins with the typed text."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(classes="places", compact=True, markup=False)
        self.display = False
        self._candidates: list[str] = []
        self._moved = False

    def follow(self, typed: str | None) -> None:
        """Offer completions of this path; hide the list for None."""
        if typed is None:
            self._offer([])
        else:
            self._look(typed)

    def move(self, step: int) -> None:
        """Highlight the previous or next entry."""
        self._moved = True
        if step < 0:
            self.action_cursor_up()
        else:
            self.action_cursor_down()

    def completed(self, typed: str) -> str:
        """Return the typed path extended as far as all entries that begin with it agree.

        If that adds nothing, or the person has used the arrows, return the highlighted entry. If no entry begins with
        the typed path, return the path unchanged.
        """
        fitting = [candidate for candidate in self._candidates if candidate.casefold().startswith(typed.casefold())]
        if not fitting:
            return typed
        if not self._moved and len(shared := _beginning(fitting)) > len(typed):
            return shared
        chosen = self._candidates[self.highlighted or 0]
        return chosen if chosen in fitting else fitting[0]

    def chosen(self) -> bool:
        """Return whether the person chose an entry with the arrows."""
        return self.display and self._moved

    @work(exclusive=True)
    async def _look(self, typed: str) -> None:
        from device_app.tui.edge import places

        candidates = await asyncio.to_thread(places.candidates, typed)
        self._offer([] if candidates == [typed] else candidates)

    def _offer(self, candidates: list[str]) -> None:
        self._candidates, self._moved = candidates, False
        self.display = bool(candidates)
        self.set_options(Option(Content(safe_line(candidate))) for candidate in candidates)
        self.highlighted = 0 if candidates else None


class PathField(Input):
    """The input field for a path. Tab completes it, the arrows choose a completion, Enter submits."""

    class Left(Message):
        """The message that the person cancelled the input of a path."""

    class Named(Message):
        """The message that the person submitted a path."""

        def __init__(self, typed: str) -> None:
            super().__init__()
            self.typed = typed

    def __init__(self, places: Places) -> None:
        hint = "A file or folder, such as ~/Documents"
        super().__init__(placeholder=hint, compact=True, classes="path", select_on_focus=False)
        self.cursor_blink = False
        self.display = False
        self._places = places

    def begin(self, typed: str = "~/") -> None:
        """Show the field with this path and focus it."""
        self.display = True
        self.value = typed
        self.cursor_position = len(typed)
        self.focus()
        self._places.follow(typed)

    def end(self) -> None:
        """Hide the field."""
        self.display = False
        self._places.follow(None)

    def on_input_changed(self) -> None:
        """Offer completions. A pasted absolute path or home path replaces the initial "~/"."""
        if self.value.startswith(("~//", "~/~")):
            self.value = self.value.removeprefix("~/")
            self.cursor_position = len(self.value)
        if self.display:
            self._places.follow(self.value)

    async def _on_key(self, event: events.Key) -> None:
        """Handle special keys directly, as bindings would run before text typed just ahead of them is inserted."""
        if event.key not in ("tab", "up", "down", "enter", "escape"):
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        if event.key == "escape":
            self.post_message(self.Left())
        elif event.key in ("up", "down"):
            self._places.move(-1 if event.key == "up" else 1)
        elif event.key == "tab" or self._places.chosen():
            self.value = self._places.completed(self.value)
            self.cursor_position = len(self.value)
        else:
            self.post_message(self.Named(self.value))


def _beginning(some: list[str]) -> str:
    return "".join(signs[0] for signs in takewhile(lambda signs: len(set(signs)) == 1, zip(*some, strict=False)))
