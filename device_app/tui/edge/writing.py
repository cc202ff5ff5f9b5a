"""The text of an answer that is being written, and the stored turn that results."""

from dataclasses import dataclass, field, replace
from typing import Any

from storage.conversations import Turn

SHOW_EVERY_S = 0.1
"""The least seconds between two displays of new text, as each display takes a layout, which delays keys."""

TYPING_S, HELD_S = 0.15, 0.5
"""The delays of new text: it is shown `TYPING_S` seconds after the last key press, at the latest after `HELD_S`."""


@dataclass(slots=True)
class Writing:
    """The text of an answer so far. `new_turns` holds the answer's turn once it is in the store.

    `record` is None until the answer is complete. `shown` is the number of characters shown so far, `shown_at` the
    time, in seconds, at which text was last shown.
    """

    new_turns: list[Turn] = field(default_factory=list)
    text: str = ""
    record: dict[str, Any] | None = None
    shown: int = 0
    shown_at: float = 0.0

    @property
    def finished(self) -> bool:
        """Whether `finish` was called with the complete answer."""
        return self.record is not None

    @property
    def turn(self) -> Turn | None:
        """The turn with the text so far; None before the turn is in the store."""
        if not self.new_turns:
            return None
        return replace(self.new_turns[0], answer=self.text.strip(), complete=self.finished, record=self.record or {})

    def whole(self) -> Turn:
        """Return the answer's turn, which must be in the store."""
        turn = self.turn
        assert turn is not None
        return turn

    def add(self, text: str, now: float, typed_at: float = 0.0) -> str:
        """Add text written at `now`, in seconds; return the text to show now, "" for none.

        `typed_at` is the time of the last key press.
        """
        self.text += text
        show = ""
        if now - self.shown_at >= (HELD_S if now - typed_at < TYPING_S else SHOW_EVERY_S):
            show = self.text[self.shown :]
            self.shown, self.shown_at = len(self.text), now
        return show

    def finish(self, text: str, record: dict[str, Any]) -> None:
        """Set the complete text and its record."""
        self.text, self.record = text, record
