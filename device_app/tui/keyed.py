"""Handles keys before the screen does: confirmations with y, and typed text that belongs to an input field."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any

from textual import events
from textual.widget import Widget
from textual.widgets import Input, OptionList

from device_app.tui.notices import TellingApp

CONFIRM_S = 6.0
"""Seconds in which a press of y confirms."""

READ_S = 0.7
"""Seconds in which nobody can have read the prompt; a y in this time belongs to a typed word."""

_Then = Callable[[], Coroutine[Any, Any, None]]


class Forwards(Widget):
    """A widget that takes no text itself and passes typed text on to an input field."""

    def forward(self, event: events.Key | events.Paste) -> bool:
        """Handle an event before the focused widget does; return whether the event is used up.

        The widget can thus move the focus first.
        """
        raise NotImplementedError


class FilteredList(OptionList, Forwards):
    """A list below a field that filters the list; typed letters go to the field."""

    def __init__(self, field: Input, id: str | None = None) -> None:
        super().__init__(markup=False, compact=True, id=id)
        self._field = field
        field.select_on_focus = False

    def forward(self, event: events.Key | events.Paste) -> bool:
        """Move the focus to the field, which then receives the event."""
        if isinstance(event, events.Paste) or event.is_printable:
            self.screen.set_focus(self._field)
        return False


class KeyedApp(TellingApp):
    """An app that asks for confirmation before it deletes anything, so that a typed letter never deletes."""

    _asked: tuple[_Then, float] | None = None

    def confirm(self, doing: str, then: _Then) -> None:
        """Ask to press y to `doing`, a verb phrase; run `then` if the person does, in time but not too soon.

        Other keys, clicks and time cancel.
        """
        self.notify(f"Press y to {doing}. Any other key: no.", severity="warning", markup=False, timeout=CONFIRM_S)
        self._asked = then, monotonic()

    async def on_event(self, event: events.Event) -> None:
        """Pass the next key to an open confirmation, and typed text to the widget's input field."""
        if isinstance(event, events.Key | events.MouseDown | events.Paste) and not event.is_forwarded:
            if self._answers(event):
                return
            focused = self.focused
            if isinstance(focused, Forwards) and not isinstance(event, events.MouseDown) and focused.forward(event):
                return
        await super().on_event(event)

    def _answers(self, event: events.Event) -> bool:
        """Pass a key to the open confirmation, if there is one; return whether that used the event up."""
        if self._asked is None:
            return False
        then, asked_at = self._asked
        yes, since = isinstance(event, events.Key) and event.character in ("y", "Y"), monotonic() - asked_at
        if yes and since < READ_S:
            return True
        self._asked = None
        self.clear_notifications()
        if not isinstance(event, events.Key) or since >= CONFIRM_S:
            return False
        if yes:
            self.run_worker(then())
            return True
        return event.key == "escape" or event.character in ("n", "N")
