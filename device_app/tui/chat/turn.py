"""The view of one question and its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from device_app.tui import messages
from device_app.tui.chat.support import Support
from device_app.tui.wording import looked_up_line, safe

if TYPE_CHECKING:
    from device_app.tui.chat.answer import AnswerText
    from device_app.tui.edge.facts import Turn

MOST_SHOWN = 4_000
"""The most characters of a question that are shown."""


class TurnView(Vertical):
    """A stored turn, or a question being answered, which follows the messages with its ticket number.

    `instead_of` are the ids of the turns that this turn replaces; `model_only` says that the person asks the model
    alone.
    """

    def __init__(
        self,
        question: str,
        clock: Callable[[], datetime],
        turn: Turn | None = None,
        ticket: int = 0,
        instead_of: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.instead_of = instead_of
        self.question = question
        self.turn = turn
        self.ticket = ticket
        self.model_only = False
        self.support = Support(clock)
        self._text: AnswerText | None = None

    def compose(self) -> ComposeResult:
        """Yield the question, the answer and the lines below it."""
        # Imported late: it loads the Markdown parser, which the first screen does not need.
        from device_app.tui.chat.answer import AnswerText

        yield Static(_asked(self.question), classes="question", markup=False)
        self._text = AnswerText(safe(self.turn.answer) if self.turn else "")
        yield self._text
        yield self.support

    def on_mount(self) -> None:
        """Show the stored turn's sources and figures or, for a new question, that the files are being searched."""
        if self.turn:
            self.support.turn(self.turn)
        else:
            self.support.progress("looking through your files")

    @property
    def answer(self) -> str:
        """The part of the answer that is written so far."""
        return self.turn.answer if self.turn else ""

    def show_turn(self, turn: Turn) -> None:
        """Show the turn's new facts; the answer's text is unchanged."""
        self.turn = turn
        self.support.turn(turn)

    async def follow(self, event: messages.Event) -> None:
        """Update the view for an event of this question."""
        match event:
            case messages.FoundSources(sources=sources):
                if sources:
                    self.support.reading(sources)
            case messages.LookedUp(round=looked_up):
                self.support.progress(looked_up_line(looked_up), stays=True)
            case messages.Wrote(text=text):
                await self._write(safe(text))
            case messages.Finished(turn=turn, advice=advice):
                await self._settle(turn)
                self.support.turn(turn, advice)
            case messages.Stopped(turn=turn):
                await self._settle(turn)
                if turn:
                    self.support.turn(turn)
            case messages.Failed(turn=turn, reason=reason):
                await self._settle(turn)
                self.support.failure(reason)

    async def _write(self, text: str) -> None:
        if not self._text:
            return
        if not self._text.is_written:
            self.support.progress("writing", stays=True)
        await self._text.write(text)

    async def _settle(self, turn: Turn | None) -> None:
        """End the streaming and render the whole answer again, as its parts may have been parsed as other Markdown."""
        self.turn = turn
        if self._text:
            await self._text.settle(safe(turn.answer) if turn else None)


def _asked(question: str) -> Content:
    shown = safe(question).strip()
    if len(shown) > MOST_SHOWN:
        shown = f"{shown[:MOST_SHOWN]}… ({len(shown):,} characters)"
    return Content(shown)
