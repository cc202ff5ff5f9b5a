"""An answer's text as Markdown. HTML is shown, not obeyed; a link is named and copied, never followed."""

from markdown_it import MarkdownIt
from textual.widgets import Markdown

from device_app.tui.wording import safe_line


class AnswerText(Markdown):
    """The Markdown of a model or a mail, neither of which is to be trusted."""

    def __init__(self, text: str) -> None:
        super().__init__(text, parser_factory=_parser, open_links=False)

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        """Show where the link goes: opening it would tell somebody that it was read."""
        event.stop()
        self.app.copy_to_clipboard(event.href)
        self.app.notify(safe_line(event.href), title="Address copied", markup=False)


def _parser() -> MarkdownIt:
    return MarkdownIt("gfm-like", {"html": False})
