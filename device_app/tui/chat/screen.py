"""The chat screen: turns typed text into questions or actions, and shows messages from `tui/edge` as turns."""

from __future__ import annotations

from contextlib import suppress

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical

from device_app.tui import messages
from device_app.tui.actions import ACTIONS, BY_ID, Action, AppState, Place, available, is_command, parse
from device_app.tui.chat.composer import MOST_CHARACTERS, Composer
from device_app.tui.chat.conversation_actions import ConversationActions
from device_app.tui.chat.welcome import Welcome
from device_app.tui.knowledge.reading import Reading, in_short
from device_app.tui.notices import NoticeLine
from device_app.tui.wording import counted
from shared.errors import JackdawError, UsageError

LOOK_S = 5.0
"""Seconds between checks for changes by other processes, such as the daemon and `jackdaw connect`."""


class ChatScreen(ConversationActions):
    """The chat screen, which shows one conversation at a time and opens all others."""

    AUTO_FOCUS = "#composer"
    """The widget that has the focus from the start, so that no key typed while the app opens is lost."""

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding(action.key, action.id if action.id == "stop" else action.call, action.title, show=False)
        for action in ACTIONS
        if action.key and action.place is Place.CHAT
    ]

    _fetches = False
    _passages: int | None = None

    def compose(self) -> ComposeResult:
        """Yield the title, the transcript with the composer, and the status line."""
        yield self.title_bar
        with Horizontal(id="main"), Vertical(id="talk"):
            yield self.transcript
            yield NoticeLine()
            yield self.commands
            yield self.places
            yield self.composer
        yield self.status

    def on_mount(self) -> None:
        """Show the first frame, then begin to open the store and the model."""
        self.composer.focus()  # also if the window has no focus yet
        self.status.doing = "loading the model"
        self.refresh_states()
        self.watch(self.app, "reading", self._reads)
        self.set_interval(LOOK_S, self._look_behind)
        self.call_after_refresh(self._begin)

    def _reads(self, reading: Reading) -> None:
        self._passages = None
        self.status.behind = in_short(reading)

    async def _look_behind(self) -> None:
        """Check whether another server was connected, and whether another process has read files."""
        await self._answers.keep_up()
        reading = self.app.reading  # type: ignore[attr-defined]
        if reading.goes_on or self.app.screen is not self:
            return
        try:
            passages = (await self._records.totals()).passages
        except JackdawError:  # the actions that need the store show the error
            return
        grows = self._passages is not None and passages > self._passages
        self.status.behind = f"reading · {counted(passages, 'passage')}" if grows else in_short(reading)
        self._passages = passages

    def _begin(self) -> None:
        self.run_worker(self._open())

    async def _open(self) -> None:
        # In this order: one thread creates a new store before another opens it.
        await self._know()
        with suppress(JackdawError):  # `_know` has shown the error
            self.uses.update(await self._records.uses())
        self._answers.start()
        await self._show_panel()

    async def on_screen_resume(self) -> None:
        """Update the welcome text, as files may have been added or removed on other screens."""
        if any(welcome.is_shown for welcome in self.query(Welcome)):
            await self._know()

    async def on_resize(self) -> None:
        """Show or hide the side panel, depending on the width."""
        if self.is_mounted:
            await self._show_panel()
            self.call_after_refresh(self._keep_focus)

    def _keep_focus(self) -> None:
        """Move the focus to the composer if the focused widget was hidden with the side panel."""
        if self.focused is None or not self.focused.is_on_screen:
            self.composer.focus()

    # States and actions

    def on_descendant_focus(self) -> None:
        """Update which keys are available, as that depends on the focus."""
        self.refresh_states()

    async def action_perform(self, action_id: str, given: str = "") -> None:
        """Run an action, if the states that it needs hold."""
        action = BY_ID[action_id]
        if action.place not in (Place.APP, Place.CHAT):
            await self.app.perform(action_id, given)  # type: ignore[attr-defined]
            return
        if not available(action, self.states()):
            self._announce(self._why_not(action))
            return
        target = self.app if action.place is Place.APP else self
        await self.app.run_action(("", action.id, (given,) if action.takes else ()), target)

    def _why_not(self, action: Action) -> str:
        if AppState.ANSWERING in action.needs:
            return "No answer is being written."
        if AppState.MISSING in action.needs:
            return "No model files are missing."
        if self._answering:
            return "An answer is being written: wait for it, or stop it with Esc."
        return "There is no answer here yet: ask something first."

    # From the composer

    @on(Composer.Sent)
    async def _sent(self, event: Composer.Sent) -> None:
        text = event.text
        if is_command(text):
            try:
                action, given = parse(text)
            except UsageError as error:
                self._announce(str(error), "warning")
                self.composer.take_back(text)
                return
            await self.action_perform(action.id, given)
            await self._note_use(action)
        elif text.strip():
            await self._ask(text.strip(), instead_of=self._editing)
        elif self._missing:
            self.action_fetch()

    async def _note_use(self, action: Action) -> None:
        """Count a use of the command, so that the most used commands are offered first."""
        self.uses[action.id] = self.uses.get(action.id, 0) + 1
        with suppress(JackdawError):  # a store that cannot be written forgets it
            await self._records.note_use(action.id)

    @on(Composer.Refused)
    def _refused(self, event: Composer.Refused) -> None:
        self._announce(
            f"The question has {event.characters:,} characters; at most {MOST_CHARACTERS:,} are allowed. "
            "Put long text into a file, read the file with `jackdaw add`, and ask about it.",
            "warning",
        )

    @on(Composer.WentUp)
    def _went_up(self) -> None:
        if self.transcript.views and not self._answering:
            self.action_edit()

    @on(Composer.Swiped)
    def _swiped(self, event: Composer.Swiped) -> None:
        self.transcript.swiped(event.lines)

    @on(Composer.Paged)
    def _paged(self, event: Composer.Paged) -> None:
        self.transcript.swiped(event.pages * self.transcript.size.height)

    def write(self, text: str) -> None:
        """Insert the text into the composer and focus it, so that the next key reaches it."""
        self.composer.move_cursor(self.composer.document.end)
        self.composer.insert(text)
        self.set_focus(self.composer)

    # Messages from `tui/edge`

    @on(messages.Ready)
    async def _ready(self, event: messages.Ready) -> None:
        self._missing = self._fetches = False
        self.title_bar.model = event.model
        if not self.answering:  # a question may have been asked meanwhile
            self.status.doing = "ready"
        self.refresh_states()
        for welcome in self.query(Welcome):
            welcome.ready()
        if event.refused:
            self._announce(event.refused, "warning")

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

    @on(messages.Linked)
    def _linked(self, event: messages.Linked) -> None:
        before, self.status.link = self.status.link, event.standing
        for welcome in self.query(Welcome):
            welcome.link(connected=event.standing.phase == "connected")
        if event.standing.phase == "refused" != before.phase:
            why = event.standing.why.removesuffix(".")
            self._announce(f"{why[:1].upper()}{why[1:]}. What to do: jackdaw doctor", "warning")

    @on(messages.Troubled)
    def _troubled(self, event: messages.Troubled) -> None:
        self._fetches = False
        self.status.doing = "something failed"
        self._announce(event.reason, "error")

    @on(messages.Broken)
    def _broken(self, event: messages.Broken) -> None:
        raise event.error

    # Actions

    def action_fetch(self) -> None:
        """Download the missing model files."""
        if self._missing and not self._fetches:
            self._fetches = True
            self._answers.fetch()
