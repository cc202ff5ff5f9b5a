"""Every command and every key, from their one declaration."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from device_app.tui.actions import ACTIONS, BROWSERS_OWN, Action, spelled

COMPOSER = (
    ("Enter", "send"),
    ("Ctrl+J", "new line"),
    ("Tab", "complete a /command"),
    ("Up", "edit the last one"),
    ("Esc", "stop; or go and read"),
)
READING = (
    ("Up Down", "choose an answer"),
    ("1 … 9, Enter", "open a source"),
    ("a letter", "pressed alone, does what the last line shows"),
    ("all else", "is written into your question, and so are letters that follow at once"),
    ("Esc", "write again"),
)


class HelpScreen(ModalScreen[None]):
    """Scrolls; any of the usual keys goes back."""

    BINDINGS = [Binding("escape,q,question_mark", "dismiss", show=False)]  # noqa: RUF012 (as Textual declares it)

    def compose(self) -> ComposeResult:
        """One column."""
        with Vertical(classes="window") as window:
            window.border_title = "Help"
            window.border_subtitle = "Esc back"
            with VerticalScroll():
                yield Static(_text(in_browser=self.app.is_web), markup=False)

    def on_mount(self) -> None:
        """Scroll at once."""
        self.query_one(VerticalScroll).focus()


def _text(*, in_browser: bool) -> Content:
    lines = [Content.styled("Where you write", "bold"), *(_pair(key, does) for key, does in COMPOSER)]
    lines += [Content(), Content.styled("Where you read (Esc goes there)", "bold")]
    lines += [_pair(key, does) for key, does in READING]
    lines += [Content(), Content.styled("Everything there is to do", "bold")]
    if in_browser:
        kept = ", ".join(sorted(map(spelled, BROWSERS_OWN)))
        lines.append(Content.styled(f"  {kept} are the browser's own: type the command, or click.", "$warning"))
    lines += [_action(action) for action in ACTIONS]
    filters = "from:NAME in:PATH kind:mail after:2026-03 before:2026-03-14 on:2026"
    lines += [Content(), Content.styled("Filters in a question", "bold"), Content.styled(f"  {filters}", "$primary")]
    return Content("\n").join(lines)


def _pair(key: str, does: str) -> Content:
    return Content.assemble((f"  {key:<13}", "$primary"), does)


def _action(action: Action) -> Content:
    keys = [key for key in (spelled(action.key), action.letter) if key]
    command = f"/{action.slash} {action.takes}".rstrip()
    told = Content.assemble((f"  {command}", "$primary"), (f"  {' or '.join(keys)}" if keys else "", "$accent"))
    return Content("\n").join([told, Content.styled(f"    {action.help}", "$quiet")])
