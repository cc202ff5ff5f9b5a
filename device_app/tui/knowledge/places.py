"""A path while it is typed: what it may become, above the line where it is typed. The focus stays there."""

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
    """The path that is being typed behind the command that takes one; None where none is."""
    starts = text[: len(COMMAND)].lower() == COMMAND and "\n" not in text
    return text[len(COMMAND) :].lstrip() if starts else None


class Places(OptionList):
    """Folders and files whose path begins with what was typed."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(classes="places", compact=True, markup=False)
        self.display = False
        self._candidates: list[str] = []
        self._moved = False

    def follow(self, typed: str | None) -> None:
        """Offer what this may become; nothing for None."""
        if typed is None:
            self._offer([])
        else:
            self._look(typed)

    def move(self, step: int) -> None:
        """Choose the one above or below."""
        self._moved = True
        if step < 0:
            self.action_cursor_up()
        else:
            self.action_cursor_down()

    def completed(self, typed: str) -> str:
        """What was typed and, as far as it is plain, what follows; the chosen one where one was chosen."""
        fitting = [candidate for candidate in self._candidates if candidate.casefold().startswith(typed.casefold())]
        if not fitting:
            return typed
        if not self._moved and len(shared := _beginning(fitting)) > len(typed):
            return shared
        chosen = self._candidates[self.highlighted or 0]
        return chosen if chosen in fitting else fitting[0]

    def chosen(self) -> bool:
        """Whether one was chosen with the arrows."""
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
    """The line where a path is typed. Tab completes, the arrows choose, Enter takes it."""

    class Left(Message):
        """The person changed their mind."""

    class Named(Message):
        """The path was typed."""

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
        """Take the focus with this path."""
        self.display = True
        self.value = typed
        self.cursor_position = len(typed)
        self.focus()
        self._places.follow(typed)

    def end(self) -> None:
        """Go."""
        self.display = False
        self._places.follow(None)

    def on_input_changed(self) -> None:
        """Offer what fits. A whole path behind the home that stood there takes its place."""
        if self.value.startswith(("~//", "~/~")):
            self.value = self.value.removeprefix("~/")
            self.cursor_position = len(self.value)
        if self.display:
            self._places.follow(self.value)

    async def _on_key(self, event: events.Key) -> None:
        """Keys with a meaning here. Bindings would overtake what was typed just before them."""
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
