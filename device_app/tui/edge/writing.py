"""An answer while it is written, and the turn it becomes."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

from storage.conversations import Turn

SAVE_EVERY_S = 1.0
"""What is written is kept at least so often: a process that is killed loses no more."""

SHOW_EVERY_S = 0.1
"""What is written is shown no more often: each time costs a layout, which a key would have to wait for."""

TYPING_S, HELD_S = 0.15, 0.5
"""So soon after a key nothing is shown, unless it has been held back for so long."""


@dataclass(slots=True)
class Writing:
    """The text so far. `new_turns` holds the turn once the store has it."""

    new_turns: list[Turn] = field(default_factory=list)
    text: str = ""
    record: dict[str, Any] | None = None
    saved_at: float | None = None
    shown: int = 0
    shown_at: float = 0.0

    @property
    def finished(self) -> bool:
        """Whether the answer stands."""
        return self.record is not None

    @property
    def turn(self) -> Turn | None:
        """The turn as far as it goes; None before it has new_turns."""
        if not self.new_turns:
            return None
        return replace(self.new_turns[0], answer=self.text.strip(), complete=self.finished, record=self.record or {})

    def whole(self) -> Turn:
        """The turn, which has new_turns."""
        turn = self.turn
        assert turn is not None
        return turn

    def add(self, text: str, now: float, typed_at: float = 0.0) -> tuple[str, bool]:
        """Add what was written at `now`, in seconds: what is to be shown of it, and whether it is time to save.

        `typed_at` is when the last key came.
        """
        self.text += text
        show = ""
        if now - self.shown_at >= (HELD_S if now - typed_at < TYPING_S else SHOW_EVERY_S):
            show = self.text[self.shown :]
            self.shown, self.shown_at = len(self.text), now
        if self.saved_at is None:
            self.saved_at = now
        save = now - self.saved_at >= SAVE_EVERY_S
        if save:
            self.saved_at = now
        return show, save

    def give_up_saving(self) -> None:
        """Write on without: the whole answer is stored at its end, if it then can be."""
        self.saved_at = math.inf

    def finish(self, text: str, record: dict[str, Any]) -> None:
        """The answer stands."""
        self.text, self.record = text, record
