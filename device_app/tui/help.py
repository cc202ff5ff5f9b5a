"""The help: every command and key by screen, from the declarations of the actions; the current screen comes first."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from device_app.tui.actions import BROWSERS_OWN, Action, Place, of, spelled

COMPOSER = (
    ("Enter", "send"),
    ("Ctrl+J", "new line"),
    ("Tab", "complete a /command"),
    ("Up, Ctrl+Up", "edit the last question"),
    ("Esc", "stop the answer, or read"),
)
READING = (
    ("Up Down", "choose an answer"),
    ("1 … 9, Enter", "open a source"),
    ("a letter", "run the command with that key"),
    ("all else", "continue your question"),
    ("Esc", "write a question"),
)
NAMES = {
    Place.CHAT: "Chat",
    Place.KNOWLEDGE: "Knowledge",
    Place.CACHE: "Cache",
    Place.SETTINGS: "Settings",
    Place.MODELS: "Models",
    Place.SEARCH: "Search",
    Place.APP: "Everywhere",
}


class HelpScreen(ModalScreen[None]):
    """The window with every command and key; Esc, q or ? closes it. `place`, the screen below, comes first."""

    BINDINGS = [Binding("escape,q,question_mark", "dismiss", show=False)]  # noqa: RUF012 (as Textual declares it)

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    def compose(self) -> ComposeResult:
        """Yield the help text in a scrolling window."""
        with Vertical(classes="window") as window:
            window.border_title = "Help"
            window.border_subtitle = "Esc back"
            with VerticalScroll():
                yield Static(_text(self._place, in_browser=self.app.is_web), markup=False)

    def on_mount(self) -> None:
        """Focus the text, so that keys scroll the text."""
        self.query_one(VerticalScroll).focus()


def _text(first: Place, *, in_browser: bool) -> Content:
    order = (first, *(place for place in NAMES if place is not first))
    lines = [line for place in order for line in (*_section(place), Content())]
    if in_browser:
        kept = ", ".join(sorted(map(spelled, BROWSERS_OWN)))
        own = Content.styled(f"The browser uses {kept} itself: type the command, or click.", "$warning")
        lines = [own, Content(), *lines]
    filters = "from:NAME in:PATH kind:mail after:2026-03 before:2026-03-14 on:2026"
    lines += [Content.styled("Filters in a question", "bold"), Content.styled(f"  {filters}", "$primary")]
    return Content("\n").join(lines)


def _section(place: Place) -> list[Content]:
    lines = [Content.styled(NAMES[place], "bold reverse")]
    if place is Place.CHAT:
        lines += [Content.styled("Where you write", "bold"), *(_pair(*pair) for pair in COMPOSER)]
        lines += [
            Content.styled("While reading (Esc leaves the input field)", "bold"),
            *(_pair(*pair) for pair in READING),
        ]
        lines += [Content.styled("Commands for a conversation", "bold")]
    elif place is Place.APP:
        lines.append(Content.styled("Single letters work on all screens except chat and settings.", "$quiet"))
    return [*lines, *map(_action, of(place))]


def _pair(key: str, does: str) -> Content:
    return Content.assemble((f"  {key:<13}", "$primary"), does)


def _action(action: Action) -> Content:
    keys = [key for key in (spelled(action.key), action.letter) if key]
    command = f"/{action.slash} {action.takes}".rstrip()
    line = Content.assemble((f"  {command}", "$primary"), (f"  {' or '.join(keys)}" if keys else "", "$accent"))
    return Content("\n").join([line, Content.styled(f"    {action.help}", "$quiet")])
