"""The path from a question to its answer: asking, following the events, stopping, asking again, editing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Unpack

from textual import on

from device_app.tui import messages
from device_app.tui.actions import AppState
from device_app.tui.cache.suggestions import Suggestions
from device_app.tui.chat.answer_actions import AnswerActions
from device_app.tui.chat.composer import Commands, Composer
from device_app.tui.chat.sending import SendScreen
from device_app.tui.chat.transcript import Transcript
from device_app.tui.chat.turn import TurnView
from device_app.tui.chat.welcome import Welcome
from device_app.tui.edge.answers import Answers, Request
from device_app.tui.edge.records import Records
from device_app.tui.knowledge.first_run import FirstRun
from device_app.tui.knowledge.places import Places
from device_app.tui.status import StatusLine, TitleBar
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.question.options import Asked

LATE_S = 1.0
"""Seconds after the end of an answer in which Esc counts as a late attempt to stop the answer."""


class Asking(AnswerActions):
    """The part of the chat screen that asks questions. Only one question is answered at a time."""

    def __init__(self, answers: Answers, records: Records, clock: Callable[[], datetime]) -> None:
        super().__init__(answers, records, Transcript(clock, records.turns, Welcome()))
        self._ticket = 0
        self._answering: TurnView | None = None
        self._editing: TurnView | None = None
        self._missing = self._agreed = False
        self._ended_at = -LATE_S
        commands, self.places = Commands(), Places()
        self.title_bar, self.status = TitleBar(), StatusLine()
        self.uses: dict[str, int] = {}
        self.composer = Composer(commands, self.places, self.states, self.choices, answers.types, self.uses)
        self.commands = commands

    @property
    def answering(self) -> bool:
        """Whether a question is being answered."""
        return self._answering is not None

    @property
    def is_first_run(self) -> bool:
        """Whether the welcome for the first run is visible."""
        return self.app.screen is self and any(first.display for first in self.query(FirstRun))

    def choices(self) -> Sequence[str]:
        """Return the texts, such as suggested questions, that the keys 1, 2, 3 … send while nothing is typed."""
        offers = (*self.query(FirstRun), *self.query(Suggestions))
        return next((offer.choices for offer in offers if offer.display and offer.choices), ())

    def states(self) -> frozenset[AppState]:
        """Return the app's current states, which decide which actions are available."""
        chosen = self.transcript.selected
        states = {
            AppState.ANSWERING if self._answering else AppState.IDLE,
            *([AppState.MISSING] if self._missing else []),
            *([AppState.ANSWERED] if chosen and chosen is not self._answering else []),
            *([AppState.READING] if self.focused is self.transcript else []),
        }
        return frozenset(states)

    def refresh_states(self) -> None:
        """Update the app's states in the footer, which decide the keys that it shows."""
        self.status.states = self.states()

    async def _ask(self, question: str, *, instead_of: TurnView | None = None, **asked: Unpack[Asked]) -> None:
        if self._answering:
            self._announce("Still answering. Esc stops it.")
            self.composer.take_back(question)
            return
        for welcome in (*self.query(Welcome), *self.query(Suggestions)):
            await welcome.remove()
        if instead_of not in self.transcript.views:
            instead_of = None
        replaced = instead_of.turn.id if instead_of and instead_of.turn else None
        self._stop_editing()
        self._ticket += 1
        try:
            self._answering = await self.transcript.begin(question, self._ticket, instead_of)
        except JackdawError as error:
            self._announce(str(error), "error")
            self.composer.take_back(question)
            return
        self._answering.model_only = bool(asked.get("model_only"))
        self.status.doing = "answering together" if asked.get("together") else "answering"
        self.title_bar.talk = self.title_bar.talk or question
        self.refresh_states()
        self._answers.ask(Request(self._ticket, question, self._conversation, replaced, asked))

    async def _follow(self, event: messages.Event) -> None:
        view = self._answering
        if view and view.ticket == event.ticket and view.is_attached:
            await view.follow(event)

    @on(messages.FoundSources)
    @on(messages.LookedUp)
    @on(messages.Wrote)
    async def _goes_on(self, event: messages.Event) -> None:
        await self._follow(event)

    @on(messages.Finished)
    @on(messages.Stopped)
    @on(messages.Failed)
    async def _ended(self, event: messages.Finished | messages.Stopped | messages.Failed) -> None:
        view = self._answering
        if view and view.ticket == event.ticket and view.is_attached and view.instead_of and event.turn is None:
            await self._take_back(view, event)
        else:
            await self._follow(event)
        if view and view.ticket == event.ticket:
            if event.turn and view.is_attached:
                self._conversation = event.turn.conversation_id
            self._answering, self._ended_at = None, monotonic()
        self.status.doing = "no model yet" if self._missing else "ready"
        self.refresh_states()

    async def _take_back(self, view: TurnView, event: messages.Event) -> None:
        """Show the replaced turns again, and put the failed question back into the composer."""
        try:
            await self.transcript.take_back(view)
        except JackdawError:  # the replaced turns are still in the store
            await view.follow(event)
        reason = f"{event.reason} " if isinstance(event, messages.Failed) else ""
        self._announce(f"{reason}The earlier answer is shown again.", "error" if reason else "information")
        chosen = self.transcript.selected
        if not self.composer.text and chosen and chosen.question != view.question:
            self.composer.begin(view.question)

    def action_stop(self) -> None:
        """Stop the answer. If no answer is being written, end an edit, or switch between composer and transcript."""
        if self._answering:
            self._answers.stop()
            self.status.doing = "stopping"
        elif self._editing:
            self._stop_editing()
        elif self.focused is self.composer and self.transcript.views:
            if monotonic() - self._ended_at > LATE_S:  # otherwise Esc was meant to stop the answer
                self.transcript.focus()
        else:
            self.composer.focus()

    async def action_regen(self) -> None:
        """Answer the last question again."""
        try:
            await self.transcript.go_to_end()
        except JackdawError as error:
            self._announce(str(error), "error")
            return
        if self.transcript.views:
            last = self.transcript.views[-1]
            from device_app.commands.turns import was_model_only

            model_only = last.model_only or was_model_only(last.turn)
            await self._ask(last.question, instead_of=last, fresh=True, model_only=model_only)

    async def action_model_only(self, question: str = "") -> None:
        """Let the model answer without passages: the given question, or else the last one, whose answer it replaces."""
        last = None if question or not self.transcript.views else self.transcript.views[-1]
        if question or last:
            await self._ask(question or (last.question if last else ""), instead_of=last, model_only=True)
        else:
            self._announce("Type your request after the command: /model-only REQUEST")

    async def action_send(self, question: str = "") -> None:
        """Let the server's model answer, too: the given question, or the last one, whose turn the answer replaces.

        The request is shown first, and the person has to agree.
        """
        last = None if question or not self.transcript.views else self.transcript.views[-1]
        request = question or (last.question if last else "")
        if not request:
            self._announce("Type your request after the command: /send REQUEST")
            return
        if question:  # keep it there until it is sent
            self.composer.take_back(f"/send {question}")
        if self.status.link.phase != "connected":
            self._announce(
                "No companion server is connected that a request could be sent to: jackdaw status", "warning"
            )
            return
        self.app.push_screen(SendScreen(request), partial(self._send, request, last))

    async def _send(self, request: str, instead_of: TurnView | None, agreed: bool | None) -> None:
        if not agreed:
            return
        if self.composer.text == f"/send {request}":
            self.composer.text = ""
        await self._ask(request, instead_of=instead_of, model_only=True, send=True)

    async def action_together(self, question: str = "") -> None:
        """Let device and server write an answer together: to the given question, or to the last one, whose turn it
        replaces.

        The person has to agree once.
        """
        last = None if question or not self.transcript.views else self.transcript.views[-1]
        if not question and last is None:
            self._announce("Type your question after the command: /together QUESTION")
            return
        connected = self.status.link.phase == "connected"
        if question and not (connected and self._agreed):  # keep it there until it can be asked
            self.composer.take_back(f"/together {question}")
        if not connected:
            self._announce("No companion server is connected for a joint answer: jackdaw status", "warning")
        else:
            ask = partial(self._together, question or (last.question if last else ""), last)
            if self._agreed:
                await ask()
            else:
                self.app.confirm("send drafts: the server can read text of your files in them", ask)  # type: ignore[attr-defined]

    async def _together(self, question: str, instead_of: TurnView | None) -> None:
        if not self._agreed:
            self._agreed, self.composer.text = True, ""
        await self._ask(question, instead_of=instead_of, together=True)

    def action_edit(self) -> None:
        """Copy the selected question into the composer; an edited version replaces the question."""
        if chosen := self.transcript.selected:
            self._editing = chosen
            self.composer.border_title = "editing · Esc cancels"
            self.composer.add_class("-editing")
            self.composer.begin(chosen.question)

    def _stop_editing(self) -> None:
        if self._editing:
            self._editing = None
            self.composer.border_title = ""
            self.composer.remove_class("-editing")
            self.composer.text = ""
