"""The chat: what was typed becomes a question or an action; what the edge posts becomes a turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical

from device_app.tui import messages
from device_app.tui.actions import ACTIONS, BY_ID, Place, State, available, is_command, parse
from device_app.tui.cache.suggestions import Suggestions
from device_app.tui.chat.answer_actions import AnswerActions
from device_app.tui.chat.composer import MOST_CHARACTERS, Commands, Composer
from device_app.tui.chat.transcript import Transcript
from device_app.tui.chat.turn import TurnView
from device_app.tui.chat.welcome import Welcome
from device_app.tui.edge.answers import Answers, Request
from device_app.tui.edge.caches import Caches
from device_app.tui.edge.records import Records
from device_app.tui.knowledge.first_run import FirstRun
from device_app.tui.knowledge.places import Places
from device_app.tui.sizes import PANEL_COLUMNS
from device_app.tui.status import StatusLine, TitleBar
from shared.errors import JackdawError, UsageError

if TYPE_CHECKING:
    from device_app.tui.chat.conversations import ConversationList


class ChatScreen(AnswerActions):
    """One conversation at a time, and the way to all others."""

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding(action.key, action.id if action.id == "stop" else action.call, action.title, show=False)
        for action in ACTIONS
        if action.key and action.place is Place.CHAT
    ]

    def __init__(self, answers: Answers, records: Records, caches: Caches, clock: Callable[[], datetime]) -> None:
        super().__init__(answers, records, Transcript(clock, Welcome()))
        self._caches = caches
        self._clock = clock
        self._ticket = 0
        self._answering: TurnView | None = None
        self._editing: TurnView | None = None
        self._missing = False
        self._fetches = False
        self._forgetting: int | None = None
        commands, self.places = Commands(), Places()
        self.title_bar, self.status = TitleBar(), StatusLine()
        self.composer, self.commands = Composer(commands, self.places, self.states, self.choices), commands

    def compose(self) -> ComposeResult:
        """Title, panel and talk, status."""
        yield self.title_bar
        with Horizontal(id="main"), Vertical(id="talk"):
            yield self.transcript
            yield self.commands
            yield self.places
            yield self.composer
        yield self.status

    def on_mount(self) -> None:
        """Paint first; the store and the model come behind."""
        self.composer.focus()
        self.status.doing = "loading the model"
        self.refresh_states()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.run_worker(self._open())

    async def _open(self) -> None:
        # In this order: a new store is made by one thread before the other opens it.
        await self._know()
        self._answers.start()
        await self._show_panel()

    async def on_screen_resume(self) -> None:
        """Elsewhere files may have been added or removed."""
        if any(welcome.told for welcome in self.query(Welcome)):
            await self._know()

    async def on_resize(self) -> None:
        """The panel comes and goes with the room there is."""
        if self.is_mounted:
            await self._show_panel()
            self.call_after_refresh(self._keep_focus)

    def _keep_focus(self) -> None:
        """A panel that is hidden takes the focus with it."""
        if self.focused is None or not self.focused.is_on_screen:
            self.composer.focus()

    async def _show_panel(self) -> None:
        """Mount the list of conversations once there is room for it; from then on the style sheet hides it."""
        if self.app.size.width < PANEL_COLUMNS or self._panel:
            return
        from device_app.tui.chat.conversations import ConversationList

        await self.query_one("#main").mount(ConversationList(self._records, self._clock), before=0)

    @property
    def _panel(self) -> ConversationList | None:
        from device_app.tui.chat.conversations import ConversationList

        return next(iter(self.query(ConversationList)), None)

    # What holds, and what can be done

    @property
    def answering(self) -> bool:
        """Whether a question is being answered."""
        return self._answering is not None

    @property
    def is_first_run(self) -> bool:
        """Whether the welcome of the first run is before the person."""
        return self.app.screen is self and any(first.display for first in self.query(FirstRun))

    def choices(self) -> Sequence[str]:
        """What the keys 1, 2, 3 … send while nothing is typed."""
        offers = (*self.query(FirstRun), *self.query(Suggestions))
        return next((offer.choices for offer in offers if offer.display and offer.choices), ())

    def states(self) -> frozenset[State]:
        """What holds now."""
        chosen = self.transcript.selected
        found = {
            State.ANSWERING if self._answering else State.IDLE,
            *([State.MISSING] if self._missing else []),
            *([State.ANSWERED] if chosen and chosen is not self._answering else []),
            *([State.READING] if self.focused is self.transcript else []),
        }
        return frozenset(found)

    def refresh_states(self) -> None:
        """Bring the footer up to date."""
        self.status.states = self.states()

    def on_descendant_focus(self) -> None:
        """Other keys do other things."""
        self.refresh_states()

    async def action_perform(self, action_id: str, given: str = "") -> None:
        """Do an action, if what it needs holds."""
        action = BY_ID[action_id]
        if action.place not in (Place.APP, Place.CHAT):
            await self.app.perform(action_id, given)  # type: ignore[attr-defined]
            return
        if not available(action, self.states()):
            self._tell("That needs an answer that stands." if State.ANSWERED in action.needs else "Nothing to do.")
            return
        target = self.app if action.place is Place.APP else self
        await self.app.run_action(("", action.id, (given,) if action.takes else ()), target)

    # From the composer

    @on(Composer.Sent)
    async def _sent(self, event: Composer.Sent) -> None:
        text = event.text
        if is_command(text):
            try:
                action, given = parse(text)
            except UsageError as error:
                self._tell(str(error), "warning")
                self.composer.begin(text)
                return
            await self.action_perform(action.id, given)
        elif text.strip():
            await self._ask(text.strip(), instead_of=self._editing)
        elif self._missing:
            self.action_fetch()

    @on(Composer.Refused)
    def _refused(self, event: Composer.Refused) -> None:
        self._tell(
            f"{event.characters:,} characters are too many for a question; {MOST_CHARACTERS:,} are the most. "
            "Put long text into a file, `jackdaw add` it, and ask about it.",
            "warning",
        )

    @on(Composer.WentUp)
    def _went_up(self) -> None:
        if self.transcript.views and not self._answering:
            self.action_edit()

    @on(Transcript.Left)
    def _left(self, event: Transcript.Left) -> None:
        self.composer.begin(self.composer.text + event.typed)

    # Asking

    async def _ask(self, question: str, *, instead_of: TurnView | None = None, fresh: bool = False) -> None:
        if self._answering:
            self._tell("Still answering. Esc stops it.")
            self.composer.begin(question)
            return
        for welcome in (*self.query(Welcome), *self.query(Suggestions)):
            await welcome.remove()
        if instead_of not in self.transcript.views:
            instead_of = None
        replaced = instead_of.turn.id if instead_of and instead_of.turn else None
        self._stop_editing()
        self._ticket += 1
        self.status.doing = "answering"
        self._answering = await self.transcript.begin(question, self._ticket, instead_of)
        self.title_bar.talk = self.title_bar.talk or question
        self.refresh_states()
        self._answers.ask(Request(self._ticket, question, self._conversation, replaced, fresh))

    async def _follow(self, event: messages.Event) -> None:
        view = self._answering
        if view and view.ticket == event.ticket and view.is_attached:
            await view.follow(event)

    @on(messages.Found)
    @on(messages.Wrote)
    async def _goes_on(self, event: messages.Event) -> None:
        await self._follow(event)

    @on(messages.Finished)
    @on(messages.Stopped)
    @on(messages.Failed)
    async def _ended(self, event: messages.Finished | messages.Stopped | messages.Failed) -> None:
        await self._follow(event)
        if self._answering and self._answering.ticket == event.ticket:
            if event.turn and self._answering.is_attached:
                self._conversation = event.turn.conversation_id
            self._answering = None
        self.status.doing = "ready"
        self.refresh_states()
        if self._panel:
            self._panel.reload()

    # About the edge

    @on(messages.Ready)
    async def _ready(self, event: messages.Ready) -> None:
        self._missing = self._fetches = False
        self.title_bar.model = event.model
        self.status.doing = "ready"
        self.refresh_states()
        for welcome in self.query(Welcome):
            welcome.ready()

    @on(messages.Missing)
    def _is_missing(self, event: messages.Missing) -> None:
        self._missing = True
        self.status.doing = "no model yet"
        self.refresh_states()
        for welcome in self.query(Welcome):
            welcome.miss(event)

    @on(messages.Fetching)
    def _fetching(self, event: messages.Fetching) -> None:
        done = f" {event.done / event.total:.0%}" if event.total else ""
        self.status.doing = f"fetching{done}"
        for welcome in self.query(Welcome):
            welcome.fetch(event)

    @on(messages.Troubled)
    def _troubled(self, event: messages.Troubled) -> None:
        self._fetches = False
        self.status.doing = "something failed"
        self._tell(event.reason, "error")

    @on(messages.Broken)
    def _broken(self, event: messages.Broken) -> None:
        raise event.error

    # Actions

    def action_stop(self) -> None:
        """Stop the answer. Esc without one leaves an edit, or goes from writing to reading and back."""
        if self._answering:
            self._answers.stop()
            self.status.doing = "stopping"
        elif self._editing:
            self._stop_editing()
        elif self.focused is self.composer and self.transcript.views:
            self.transcript.focus()
        else:
            self.composer.focus()

    def action_fetch(self) -> None:
        """Fetch what is missing."""
        if self._missing and not self._fetches:
            self._fetches = True
            self._answers.fetch()

    async def action_new(self) -> None:
        """Begin a new conversation; an answer that is being written goes on in its own."""
        await self._leave_conversation()
        await self.transcript.show(())
        await self.transcript.mount(Welcome())
        self.composer.begin("")
        await self._know()

    def action_search(self, words: str = "") -> None:
        """Into the list of conversations."""
        if self._panel and self.app.size.width >= PANEL_COLUMNS:
            self._panel.search(words)
            return
        from device_app.tui.chat.conversations import ConversationsScreen

        def chosen(one: tuple[int, int | None] | None) -> None:
            if one:
                self.run_worker(self.open_conversation(*one))

        self.app.push_screen(ConversationsScreen(self._records, self._clock, words), chosen)

    async def action_regen(self) -> None:
        """Answer the last question anew."""
        if self.transcript.views:
            last = self.transcript.views[-1]
            await self._ask(last.question, instead_of=last, fresh=True)

    def action_edit(self) -> None:
        """Take the selected question into the composer."""
        if chosen := self.transcript.selected:
            self._editing = chosen
            self.composer.border_title = "editing · Esc leaves it"
            self.composer.add_class("-editing")
            self.composer.begin(chosen.question)

    async def action_forget(self) -> None:
        """Delete the conversation, when asked twice."""
        if self._conversation is None:
            return
        if self._forgetting != self._conversation:
            self._forgetting = self._conversation
            self._tell("Once more, and this conversation is deleted for good.", "warning")
            return
        try:
            await self._records.forget(self._conversation)
        except JackdawError as error:
            self._tell(str(error), "error")
            return
        if self._panel:
            self._panel.reload()
        await self.action_new()
        self._tell("The conversation is forgotten, and what was kept of its answers.")

    # Conversations

    async def on_conversation_list_chosen(self, event: ConversationList.Chosen) -> None:
        """From the panel."""
        await self.open_conversation(event.conversation, event.turn)

    async def open_conversation(self, conversation: int, turn: int | None = None) -> None:
        """Show a conversation, at one of its turns or at its end."""
        try:
            turns = await self._records.turns(conversation)
        except JackdawError as error:
            self._tell(str(error), "error")
            return
        await self._leave_conversation()
        self._conversation = conversation
        self.title_bar.talk = turns[0].question if turns else ""
        await self.transcript.show(turns, turn)
        (self.transcript if turn else self.composer).focus()
        self.refresh_states()

    async def _leave_conversation(self) -> None:
        self._stop_editing()
        self._conversation = self._forgetting = None
        self.title_bar.talk = ""

    async def _know(self) -> None:
        try:
            totals = await self._records.totals()
        except JackdawError as error:
            self._tell(str(error), "error")
            return
        for welcome in self.query(Welcome):
            welcome.know(totals)
            if totals.passages:
                await self.transcript.mount(Suggestions(self._suggest))

    async def _suggest(self) -> Sequence[str]:
        return await self._caches.suggestions(self._clock().astimezone().date())

    async def ask_anew(self, question: str) -> None:
        """Ask in a conversation of its own."""
        if self.transcript.views and not self._answering:
            await self.action_new()
        await self._ask(question)

    def _stop_editing(self) -> None:
        if self._editing:
            self._editing = None
            self.composer.border_title = ""
            self.composer.remove_class("-editing")
            self.composer.text = ""
