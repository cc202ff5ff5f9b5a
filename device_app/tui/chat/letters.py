"""Letter keys in the transcript: a single letter acts as a key, several letters in a row begin a question."""

from __future__ import annotations

from textual import events
from textual.timer import Timer

from device_app.tui.actions import Place, letters
from device_app.tui.chat.folding import Folding
from device_app.tui.keyed import Forwards

ALONE_S = 0.25
"""Seconds after which a single letter acts as a key; even slow typists type the next letter sooner."""

_CALLS = {letter: action.call for letter, action in letters(Place.CHAT).items()}
_CALLS |= {str(number): f"screen.perform('sources', '{number}')" for number in range(1, 10)}


class Letters(Folding, Forwards):
    """A widget that holds back a letter until it is clear whether the letter acts as a key or begins a question."""

    _held = ""
    _waiting: Timer | None = None

    def forward(self, event: events.Key | events.Paste) -> bool:
        """Hold back a letter that may act as a key, unless another is held back, and return True.

        Return False for any other key. If that is printable, the letter held back goes to the composer before it;
        otherwise the letter acts as a key.
        """
        letter = event.character if isinstance(event, events.Key) else None
        if isinstance(event, events.Key) and not event.is_printable:
            self._act()
            return False
        if letter in _CALLS and not self._held:
            self._held = letter
            self._waiting = self.set_timer(ALONE_S, self._act)
            return True
        self.screen.write(self._let_go())  # type: ignore[attr-defined]
        return False

    @property
    def holds(self) -> bool:
        """Whether a typed letter is held back, as it is not yet clear whether it acts as a key or begins a question."""
        return bool(self._held)

    def _let_go(self) -> str:
        if self._waiting:
            self._waiting.stop()
        held, self._held = self._held, ""
        return held

    def _act(self) -> None:
        if held := self._let_go():
            self.call_later(self.run_action, _CALLS[held])
