"""Actions that switch the shown conversation: starting, finding, opening and deleting one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from textual import on

from device_app.tui import messages
from device_app.tui.cache.suggestions import Suggestions
from device_app.tui.chat.asking import Asking
from device_app.tui.chat.welcome import Welcome
from device_app.tui.edge.answers import Answers
from device_app.tui.edge.records import Records
from device_app.tui.sizes import PANEL_COLUMNS
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.tui.chat.conversations import ConversationList


class ConversationActions(Asking):
    """The part of the chat screen that switches between conversations."""

    def __init__(
        self,
        answers: Answers,
        records: Records,
        suggest: Callable[[], Awaitable[Sequence[str]]],
        clock: Callable[[], datetime],
    ) -> None:
        super().__init__(answers, records, clock)
        self._suggest = suggest
        self._clock = clock

    async def _show_panel(self) -> None:
        """Mount the side panel once the screen is wide enough; after that, the style sheet shows and hides it."""
        if self.app.size.width < PANEL_COLUMNS or self._panel:
            return
        from device_app.tui.chat.conversations import ConversationList

        await self.query_one("#main").mount(ConversationList(self._records, self._clock), before=0)

    @property
    def _panel(self) -> ConversationList | None:
        from device_app.tui.chat.conversations import ConversationList

        return next(iter(self.query(ConversationList)), None)

    async def action_new(self) -> None:
        """Begin a new conversation; an answer that is being written continues in its own conversation."""
        self.composer.focus()  # text typed meanwhile stays
        await self._leave_conversation()
        await self.transcript.show(())
        await self.transcript.mount(Welcome())
        self.refresh_states()
        await self._know()

    def action_conversations(self, words: str = "") -> None:
        """Open the list of conversations, filtered by words."""
        if self._panel and self.app.size.width >= PANEL_COLUMNS:
            self._panel.search(words)
            return
        from device_app.tui.chat.conversations import ConversationsScreen

        def chosen(place: tuple[int, int | None] | None) -> None:
            if place:
                self.run_worker(self.open_conversation(*place))

        self.app.push_screen(ConversationsScreen(self._records, self._clock, words), chosen)

    async def action_forget(self) -> None:
        """Delete the conversation after the person confirms."""
        if self._conversation is not None:
            forget = partial(self._forget, self._conversation)
            self.app.confirm("delete this conversation for good", forget)  # type: ignore[attr-defined]

    async def _forget(self, conversation: int) -> None:
        try:
            await self._records.forget(conversation)
        except JackdawError as error:
            self._announce(str(error), "error")
            return
        if self._panel:
            self._panel.reload()
        await self.action_new()
        self._announce("The conversation and its saved answers were deleted.")

    async def on_conversation_list_chosen(self, event: ConversationList.Chosen) -> None:
        """Open the conversation chosen in the side panel."""
        await self.open_conversation(event.conversation, event.turn)

    async def open_conversation(self, conversation: int, turn: int | None = None) -> None:
        """Show a conversation, at one of its turns or at its end."""
        try:
            turns = await self._records.turn_ids(conversation)
            first = await self._records.turns(turns[:1])
            await self.transcript.show(turns, turn)
        except JackdawError as error:
            self._announce(str(error), "error")
            return
        await self._leave_conversation()
        self._conversation = conversation
        self.title_bar.talk = first[0].question if first else ""
        self.composer.focus()
        self.refresh_states()

    async def _leave_conversation(self) -> None:
        self._stop_editing()
        self._conversation = None
        self.title_bar.talk = ""

    async def _know(self) -> None:
        try:
            totals = await self._records.totals()
        except JackdawError as error:
            self._announce(str(error), "error")
            return
        for welcome in self.query(Welcome):
            welcome.know(totals)
            welcome.link(connected=self.status.link.phase == "connected")
            if totals.passages:
                await self._show_today(welcome)
                if shown := next(iter(self.query(Suggestions)), None):
                    shown.reload()
                else:
                    await self.transcript.mount(Suggestions(self._suggest))

    async def _show_today(self, welcome: Welcome) -> None:
        try:
            today = await self._records.today(self._clock().astimezone())
        except JackdawError as error:
            self._announce(str(error), "error")
            return
        if welcome.is_attached:  # a question may have been asked meanwhile
            welcome.show_today(today)

    async def ask_in_new_conversation(self, question: str) -> None:
        """Ask the question in a new conversation."""
        if self.transcript.views and not self._answering:
            await self.action_new()
        await self._ask(question)

    @on(messages.Finished)
    @on(messages.Stopped)
    @on(messages.Failed)
    def _said_more(self) -> None:
        if self._panel:
            self._panel.reload()
