"""Earlier conversations: a search field, and a list that loads more entries on scrolling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from device_app.tui.keyed import FilteredList
from device_app.tui.wording import age, safe_line
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.tui.edge.facts import Conversation, Turn
    from device_app.tui.edge.records import Records

PAGE = 50


class ConversationList(Vertical):
    """The list of conversations, used in the side panel and, on narrow terminals, in a screen of its own."""

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding("down", "down", show=False),
        Binding("up", "up", show=False),
    ]

    class Chosen(Message):
        """The message that the person chose a conversation, or one of its turns."""

        def __init__(self, conversation: int, turn: int | None) -> None:
            super().__init__()
            self.conversation = conversation
            self.turn = turn

    class Left(Message):
        """The message that the person left the list without a choice."""

    def __init__(self, records: Records, clock: Callable[[], datetime], words: str = "") -> None:
        super().__init__()
        self._records = records
        self._clock = clock
        self._words = words
        self._listed = 0
        self._all = False
        self._field = Input(words, placeholder="Search all conversations", compact=True)
        self._field.cursor_blink = False
        self._list = FilteredList(self._field)
        self._note = Static("loading …", classes="note", markup=False)
        self._note.display, self._list.display = True, False
        self._reads = self._opens = False

    def compose(self) -> ComposeResult:
        """Yield the field, the list, and a note shown if the list is empty."""
        yield self._field
        yield self._list
        yield self._note

    def on_mount(self) -> None:
        """Load the list of conversations."""
        self.reload()

    def reload(self) -> None:
        """Read the list again."""
        self._reads = True
        self._read(self._field.value.strip())

    def search(self, words: str = "") -> None:
        """Focus the search field and search for these words."""
        self._field.value = words
        self._field.focus()

    def on_input_changed(self) -> None:
        """Search as the person types."""
        self.reload()

    def on_input_submitted(self) -> None:
        """Open the first entry, once the list is loaded."""
        self._opens = self._reads
        if not self._reads:
            self._list.action_select()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Load more entries when the highlight nears the end."""
        if event.option_index >= self._listed - 5 and not self._all and not self._field.value.strip():
            self._all = True  # until the next page shows otherwise
            self.run_worker(self._more(), group="more")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open the selected conversation."""
        event.stop()
        conversation, _, turn = str(event.option_id).partition(":")
        self.post_message(self.Chosen(int(conversation), int(turn) if turn else None))

    def action_down(self) -> None:
        """Move the focus from the field to the list."""
        self._list.focus()

    def action_up(self) -> None:
        """Move the focus from the list to the field."""
        self._field.focus()

    @work(exclusive=True)
    async def _read(self, words: str) -> None:
        try:
            if words:
                turns = await self._records.search(words, PAGE)
                self._show([_match(turn, self._clock()) for turn in turns], f"No conversation contains “{words}”.")
                self._all = True
            else:
                recent = await self._records.conversations(PAGE)
                note = "No conversations yet. Your questions will be listed here."
                self._show([_heading(conversation, self._clock()) for conversation in recent], note)
                self._all = len(recent) < PAGE
        except JackdawError as error:
            self._show([], str(error))

    async def _more(self) -> None:
        try:
            more = await self._records.conversations(PAGE, self._listed)
        except JackdawError as error:
            self.app.notify(safe_line(str(error)), severity="error", markup=False)
            return
        known = {option.id for option in self._list.options}
        fresh: Sequence[Option] = [
            heading for heading in (_heading(option, self._clock()) for option in more) if heading.id not in known
        ]
        self._list.add_options(fresh)
        self._listed += len(more)
        self._all = len(more) < PAGE

    def _show(self, options: Sequence[Option], note: str) -> None:
        self._list.set_options(options)
        self._listed = len(options)
        self._list.highlighted = 0 if options else None
        self._list.display = bool(options)
        self._note.display = not options
        self._note.update(safe_line(note))
        self._reads = False
        if self._opens:
            self._opens = False
            self._list.action_select()


class ConversationsScreen(ModalScreen[tuple[int, int | None] | None]):
    """A screen with the list alone; its result is the id of a conversation and, if chosen, of a turn."""

    BINDINGS = [Binding("escape", "dismiss", "back")]  # noqa: RUF012 (as Textual declares it)

    def __init__(self, records: Records, clock: Callable[[], datetime], words: str) -> None:
        super().__init__()
        self._conversations = ConversationList(records, clock, words)

    def compose(self) -> ComposeResult:
        """Yield the list in a frame."""
        with Vertical(classes="window") as window:
            window.border_title = "Conversations"
            window.border_subtitle = "Enter opens · Esc back"
            yield self._conversations

    def on_mount(self) -> None:
        """Focus the search field."""
        self._conversations.query_one(Input).focus()

    def on_conversation_list_chosen(self, event: ConversationList.Chosen) -> None:
        """Close the screen with the chosen conversation and turn as its result."""
        self.dismiss((event.conversation, event.turn))


def _heading(conversation: Conversation, now: datetime) -> Option:
    turns = f"{conversation.turns} turn{'' if conversation.turns == 1 else 's'}"
    line = Content.styled(f"{age(conversation.updated_at, now)} · {turns}", "$quiet")
    return Option(Content("\n").join([_line(safe_line(conversation.title)), line]), id=str(conversation.id))


def _match(turn: Turn, now: datetime) -> Option:
    line = Content.styled(f"{age(turn.asked_at, now)} · {safe_line(turn.answer)}", "$quiet")
    return Option(
        Content("\n").join([_line(safe_line(turn.question)), _line(line)]), id=f"{turn.conversation_id}:{turn.id}"
    )


def _line(text: str | Content, most: int = 200) -> Content:
    content = Content(text) if isinstance(text, str) else text
    return content.truncate(most, ellipsis=True)
