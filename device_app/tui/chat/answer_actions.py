"""Actions on finished answers: opening a source, copying, explaining, marking as wrong, exporting."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.screen import Screen

from device_app.tui.chat.support import Support
from device_app.tui.chat.transcript import Transcript
from device_app.tui.edge.answers import Answers
from device_app.tui.edge.records import Records
from device_app.tui.wording import safe
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.commands.history import Format

_CODE = re.compile(r"^(```+|~~~+)[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)


class AnswerActions(Screen[None]):
    """The part of the chat screen with actions on the transcript's selected answer."""

    def __init__(self, answers: Answers, records: Records, transcript: Transcript) -> None:
        super().__init__(id="chat")
        self._answers = answers
        self._records = records
        self._conversation: int | None = None
        self.transcript = transcript

    def action_sources(self, number: str = "1") -> None:
        """Open a source of the selected answer."""
        chosen = self.transcript.selected
        sources = chosen.turn.record.get("sources", []) if chosen and chosen.turn else []
        place = int(number) if number.isdecimal() else 1
        if not 1 <= place <= len(sources):
            self._announce(f"There is no source {place}." if sources else "This answer has no sources.")
            return
        from device_app.tui.chat.source import SourceScreen

        self.app.push_screen(SourceScreen(self._records, sources, place))

    @on(Support.SourceChosen)
    def _source_chosen(self, event: Support.SourceChosen) -> None:
        self.action_sources(str(event.number))

    def action_copy(self, what: str = "") -> None:
        """Copy the selected answer, or the code in it."""
        if what == "code":
            self.action_copy_code()
        elif what:
            self._announce("Use /copy for the answer, or /copy code for its code.", "warning")
        elif (chosen := self.transcript.selected) and chosen.answer:
            self._copy(chosen.answer, "The answer is copied.")
        else:
            self._announce("There is no answer to copy.")

    def action_copy_code(self) -> None:
        """Copy the code in the selected answer."""
        chosen = self.transcript.selected
        blocks = _CODE.findall(chosen.answer + "\n") if chosen else []
        if blocks:
            self._copy("\n".join(code for _, code in blocks).rstrip("\n"), "The code is copied.")
        else:
            self._announce("There is no code in this answer.")

    def action_why(self) -> None:
        """Show the explanation of the selected answer."""
        chosen = self.transcript.selected
        if not (chosen and chosen.turn and chosen.turn.complete and chosen.turn.record):
            self._announce("This answer is incomplete, so it has no explanation.")
            return
        from device_app.tui.chat.why import WhyScreen

        self.app.push_screen(WhyScreen(self._answers, chosen.turn))

    def action_guess(self) -> None:
        """Show the model's guess, or hide it again."""
        chosen = self.transcript.selected
        if not (chosen and chosen.turn and chosen.turn.record.get("guess")):
            self._announce("There is no guess of the model for this answer.")
            return
        chosen.support.action_guess()

    async def action_wrong(self) -> None:
        """Mark the selected answer as wrong, or remove the mark; show the consequences."""
        chosen = self.transcript.selected
        if not (chosen and chosen.turn):
            self._announce("There is no answer to mark as wrong.")
            return
        try:
            message, turn = await self._records.mark_wrong(chosen.turn)
        except JackdawError as error:
            self._announce(str(error), "warning")
            return
        chosen.show_turn(turn)
        self._announce(message)

    async def action_export(self, kind: str = "md") -> None:
        """Write the conversation to a new file in the working folder, as `kind` says: "md" (also "") or "json"."""
        if kind not in ("", "md", "json"):
            self._announce("Choose a format: /export md or /export json", "warning")
        elif self._conversation is not None:
            try:
                form: Format = "json" if kind == "json" else "md"
                file = await self._records.export(self._conversation, form, Path.cwd())
                self._announce(f"Conversation saved to {file}")
            except FileNotFoundError:
                self._announce(
                    "The folder where Jackdaw was started is gone. Start Jackdaw in another folder to export.", "error"
                )
            except JackdawError as error:
                self._announce(str(error), "error")

    def _copy(self, text: str, message: str) -> None:
        self.app.copy_to_clipboard(text)
        self._announce(message)

    def _announce(self, text: str, severity: str = "information") -> None:
        self.app.notify(safe(text), severity=severity, markup=False, timeout=6)  # type: ignore[arg-type]
