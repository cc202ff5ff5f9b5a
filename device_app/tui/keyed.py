"""What a key means before the screen sees it: a yes to a question, or text for the line where text is typed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any

from textual import events
from textual.widget import Widget
from textual.widgets import Input, OptionList

from device_app.tui.notices import TellingApp

CONFIRM_S = 6.0
"""Within this time, y says yes."""

READ_S = 0.7
"""So long nobody has read what is asked: a y that comes sooner is the end of a word that was typed."""

_Then = Callable[[], Coroutine[Any, Any, None]]


class Forwards(Widget):
    """A widget in which nothing is typed: what is typed there all the same goes where it can be."""

    def forward(self, event: events.Key | events.Paste) -> bool:
        """Called before it is passed on, so that the next key finds the focus moved; whether it ends here."""
        raise NotImplementedError


class FilteredList(OptionList, Forwards):
    """Under a field that filters it: letters reach the field."""

    def __init__(self, field: Input, id: str | None = None) -> None:
        super().__init__(markup=False, compact=True, id=id)
        self._field = field
        field.select_on_focus = False

    def forward(self, event: events.Key | events.Paste) -> bool:
        """Into the field with it."""
        if isinstance(event, events.Paste) or event.is_printable:
            self.screen.set_focus(self._field)
        return False


class KeyedApp(TellingApp):
    """Nothing is deleted by the key that asks for it, nor by what is typed on."""

    _asked: tuple[_Then, float] | None = None

    def confirm(self, doing: str, then: _Then) -> None:
        """Do something if the person says yes once they can have read it; any other key, a click and time say no."""
        self.notify(f"Press y to {doing}. Any other key: no.", severity="warning", markup=False, timeout=CONFIRM_S)
        self._asked = then, monotonic()

    async def on_event(self, event: events.Event) -> None:
        """A question is answered by the next key, whatever it is; y, n and Esc do nothing besides."""
        if isinstance(event, events.Key | events.MouseDown | events.Paste) and not event.is_forwarded:
            if self._answers(event):
                return
            focused = self.focused
            if isinstance(focused, Forwards) and not isinstance(event, events.MouseDown) and focused.forward(event):
                return
        await super().on_event(event)

    def _answers(self, event: events.Event) -> bool:
        """Answer what was asked, if anything; whether the event ends with that."""
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
