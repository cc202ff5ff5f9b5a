"""The field for questions and commands. Enter sends, Ctrl+J breaks the line, Tab completes a command."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option

from device_app.tui.actions import Action, AppState, Place, available, completions
from device_app.tui.knowledge.places import COMMAND, Places, path_in
from device_app.tui.wording import safe

MOST_CHARACTERS = 4_000
"""The most characters of a question (device_app/english/query.py); a longer text would slow down the composer."""

CHOOSES_AFTER_S = 0.5
"""Seconds after which a single digit chooses a suggestion; before that, the digit may be the start of a question."""

_HINTS = ("Ask about your files, or type / for commands", "Ask about your files", "Ask here")

_AROUND = 6
"""The most columns of the composer that are not available for text."""


class Commands(OptionList):
    """The list of commands that begin with the typed text, above the composer. The list never takes the focus."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="commands", compact=True, markup=False)
        self.display = False

    def offer(self, actions: Sequence[Action]) -> None:
        """Show these actions' commands, or hide the list if there are none."""
        self.display = bool(actions)
        self.set_options(
            Option(
                Content.assemble(
                    (f"/{action.slash}", "$primary"),
                    (f" {action.takes}" if action.takes else "", "$accent"),
                    (f"  {action.help}", "$quiet"),
                ),
                id=action.id,
            )
            for action in actions
        )
        self.highlighted = 0 if actions else None


class Composer(TextArea):
    """The text field for questions and commands, a few lines high."""

    class Sent(Message):
        """The message that the person sent the text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Refused(Message):
        """The message, sent to the screen, that the text is too long to be sent."""

        def __init__(self, characters: int) -> None:
            super().__init__()
            self.characters = characters

    class WentUp(Message):
        """The message that the person pressed Up with nothing typed, or Ctrl+Up."""

    class Swiped(Message):
        """The message that the person swiped up or down over a phone's screen, with the number of lines."""

        def __init__(self, lines: int) -> None:
            super().__init__()
            self.lines = lines

    class Paged(Message):
        """The message that the person pressed a page key, with the number of pages: -1 for Page Up, 1 for Page Down."""

        def __init__(self, pages: int) -> None:
            super().__init__()
            self.pages = pages

    def __init__(
        self,
        commands: Commands,
        places: Places,
        states: Callable[[], Collection[AppState]],
        choices: Callable[[], Sequence[str]],
        typed: Callable[[str], None],
        uses: Mapping[str, int],
    ) -> None:
        """Create the composer.

        `commands` and `places` are the lists in which it offers commands and paths. `states` returns the app's states,
        which decide what is offered, `choices` the texts that the digits 1, 2, 3 send. `typed` takes the text after
        each key and paste; text inserted by the app is not passed on. `uses` says how often the person has used each
        command.
        """
        super().__init__(
            id="composer",
            compact=True,
            soft_wrap=True,
            highlight_cursor_line=False,
        )
        self.cursor_blink = False  # calm, and a phone need not wake up to redraw
        self._commands = commands
        self._places = places
        self._states = states
        self._choices = choices
        self._typed, self._is_typing = typed, False
        self._uses = uses
        self._offered: Sequence[Action] = ()

    def on_mount(self) -> None:
        """Set the placeholder text, so that the first frame shows it."""
        self._hint(self.app.size.width - _AROUND)

    def on_resize(self, event: events.Resize) -> None:
        """Choose the longest placeholder that fits the width."""
        self._hint(event.size.width)

    def _hint(self, width: int) -> None:
        self.placeholder = next((hint for hint in _HINTS if len(hint) < width), "")

    def begin(self, text: str) -> None:
        """Focus the composer, with this text in it."""
        self._is_typing = False
        self.text = text
        self.move_cursor(self.document.end)
        self.focus()

    def take_back(self, text: str) -> None:
        """Put back `text`, which could not be sent, in front of what the person has typed meanwhile."""
        self.begin(f"{text}{self.text}")

    def on_text_area_changed(self) -> None:
        """Offer the commands and paths that match the text."""
        states = self._states()  # of the chat; other screens check their own
        self._offered = [
            action
            for action in completions(self.text, self._uses)
            if action.place not in (Place.APP, Place.CHAT) or available(action, states)
        ]
        self._commands.offer(self._offered)
        self._places.follow(path_in(self.text))
        self._pass_on()

    def _pass_on(self) -> None:
        """Report the text to the app if a key has changed it since the last report."""
        if self._is_typing:
            self._is_typing = False
            self._typed(self.text)

    async def _on_key(self, event: events.Key) -> None:
        """Handle special keys directly, as bindings would run before text typed just ahead of them is inserted."""
        act = {
            "enter": self.action_send,
            "ctrl+j": self.action_newline,
            "tab": self.action_complete,
            "up": self.action_up,
            "down": self.action_down,
            "ctrl+up": self.action_recall,
        }.get(event.key)
        if act:
            event.stop()
            event.prevent_default()
            act()
        else:
            self._is_typing = True
            if not self.text and self._choice(event.key):
                self.set_timer(CHOOSES_AFTER_S, self._choose)

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert pasted text without control characters, unless it is too long for a question."""
        event.prevent_default()
        event.stop()
        if len(self.text) + len(event.text) > MOST_CHARACTERS:
            self.post_message(self.Refused(len(event.text)))
        else:
            self._is_typing = True
            self.replace(safe(event.text), *self.selection, maintain_selection_offset=False)

    def _choice(self, typed: str) -> str:
        choices = self._choices()
        return choices[int(typed) - 1] if typed in map(str, range(1, len(choices) + 1)) else ""

    def _choose(self) -> bool:
        """Send the suggestion of a digit if the text is only that digit; return whether a suggestion was sent."""
        if choice := self._choice(self.text):
            self._is_typing = False
            self.text = ""
            self.post_message(self.Sent(choice))
        return bool(choice)

    def action_send(self) -> None:
        """Send the text, the highlighted command, or the suggestion with the typed digit."""
        self._pass_on()  # a key just before Enter: its change of the text has not been announced yet
        if self._choose():
            return
        if self._places.chosen():
            self.action_complete()
            return
        chosen = self._highlighted()
        text = self.text
        if chosen and not chosen.takes and chosen.slash.startswith(text[1:].lower()):
            text = f"/{chosen.slash}"
        elif chosen and text[1:].lower() != chosen.slash and chosen.slash.startswith(text[1:].lower()):
            self.action_complete()
            return
        if len(text) > MOST_CHARACTERS:
            self.post_message(self.Refused(len(text)))
            return
        self.text = ""
        self.post_message(self.Sent(text))

    def action_newline(self) -> None:
        """Insert a line break."""
        self.insert("\n")

    def action_complete(self) -> None:
        """Complete the path or the command; if there is neither, move the focus to the next widget."""
        if (typed := path_in(self.text)) is not None:
            self.begin(COMMAND + self._places.completed(typed))
        elif chosen := self._highlighted():
            self.begin(f"/{chosen.slash}{' ' if chosen.takes else ''}")
        else:
            self.screen.focus_next()

    def action_up(self) -> None:
        """Move to the previous command, path or line, or edit the last question."""
        if self._places.display:
            self._places.move(-1)
        elif self._commands.display:
            self._commands.action_cursor_up()
        elif self._is_swiped():
            self.post_message(self.Swiped(-1))
        elif not self.text:
            self.post_message(self.WentUp())
        else:
            self.action_cursor_up()

    def action_down(self) -> None:
        """Move to the next command, path or line."""
        if self._places.display:
            self._places.move(1)
        elif self._commands.display:
            self._commands.action_cursor_down()
        elif self._is_swiped():
            self.post_message(self.Swiped(1))
        else:
            self.action_cursor_down()

    def action_cursor_page_up(self) -> None:
        """Show the page of answers above."""
        self.post_message(self.Paged(-1))

    def action_cursor_page_down(self) -> None:
        """Show the page of answers below."""
        self.post_message(self.Paged(1))

    def action_recall(self) -> None:
        """Put the last question into the composer for editing, if nothing is typed."""
        if not self.text:
            self.post_message(self.WentUp())

    def _is_swiped(self) -> bool:
        """Return whether Up and Down are swipes: a phone's terminal sends these keys unless the app takes the mouse."""
        return bool(getattr(self.app, "is_swiped", False))

    def _highlighted(self) -> Action | None:
        place = self._commands.highlighted
        return self._offered[place] if place is not None and place < len(self._offered) else None
