"""Shows an answer as Markdown in parts; parts far from the view are blank, so that long answers take little memory.

HTML is shown as text; links are shown and copied, never opened.
"""

from __future__ import annotations

from asyncio import Lock, sleep
from collections.abc import Sequence

from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownStream

from device_app.tui.chat.pieces import WHILE_WRITTEN, Piece, height, parser, pieces
from device_app.tui.wording import safe_line


class Part(Markdown):
    """A widget for a piece of untrusted Markdown, from a model or a mail."""

    blank = False

    def __init__(self, piece: Piece) -> None:
        super().__init__(piece.markdown, parser_factory=parser, open_links=False)
        self.piece = piece
        self.whole = True
        self.set_class(piece.goes_on, "-goes-on")

    async def show(self, piece: Piece) -> None:
        """Show this piece in place of the present one."""
        self.piece, self.whole = piece, True
        self.set_class(piece.goes_on, "-goes-on")
        await self.update(piece.markdown)

    async def stream(self) -> MarkdownStream:
        """Return a stream that appends Markdown to the part.

        While it is appended, the Markdown may be parsed differently from the complete text.
        """
        self.whole = False
        stream = self.get_stream(self)
        # Let the stream's task start. Textual's stop() cancels the task and awaits it, and a task that has not started
        # raises CancelledError in its caller. A message pump takes that for its own end: the screen would close
        # silently.
        await sleep(0)
        return stream

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        """Copy and show the link's address. Opening the link would reveal to its host that it was read."""
        event.stop()
        self.app.copy_to_clipboard(event.href)
        self.app.notify(safe_line(event.href), title="Address copied", markup=False)


class Folded(Widget):
    """A blank placeholder for a part of an answer that is far from the view, of about the same height."""

    blank = True

    def __init__(self, piece: Piece, rows: int) -> None:
        super().__init__()
        self.piece = piece
        self.styles.height = rows

    def guess(self, width: int) -> None:
        """Set the placeholder's height to an estimate of the part's height at that width."""
        self.styles.height = height(self.piece.text, width)

    def render(self) -> str:
        """Return an empty text, as the placeholder is blank."""
        return ""


class AnswerText(Vertical):
    """The parts of one answer, which may still be streaming. The transcript folds and unfolds the parts."""

    def __init__(self, text: str) -> None:
        parts = pieces(text)
        super().__init__(*(Folded(piece, 1) if len(parts) > 1 else Part(piece) for piece in parts))
        self._stream: MarkdownStream | None = None
        self._last = ""
        self._changing = Lock()

    def on_mount(self) -> None:
        """Set the heights of the blank placeholders."""
        self.guess(self.app.size.width)

    def guess(self, width: int) -> None:
        """Set the heights of the blank placeholders to estimates for that width."""
        for folded in self.query_children(Folded):
            folded.guess(width)

    @property
    def parts(self) -> list[Part | Folded]:
        """The answer's parts in order, each rendered or blank."""
        return [child for child in self.children if isinstance(child, Part | Folded)]

    @property
    def is_written(self) -> bool:
        """Whether the answer's text is still being streamed."""
        return self._stream is not None

    async def fold(self, part: Part | Folded) -> None:
        """Replace a rendered part by a blank placeholder, unless the answer's text is still being appended to it."""
        async with self._changing:
            if isinstance(part, Part) and part.whole:
                await self._swap(part, Folded(part.piece, part.size.height or height(part.piece.text, self.size.width)))

    async def unfold(self, part: Part | Folded) -> None:
        """Replace a blank placeholder by its rendered part."""
        async with self._changing:
            if isinstance(part, Folded):
                await self._swap(part, Part(part.piece))

    async def write(self, text: str) -> None:
        """Append text to the answer."""
        async with self._changing:
            if self._stream is None:
                self._stream = await (await self._last_part()).stream()
            self._last += text
            await self._stream.write(text)
            if "\n" in text:
                await self._cut()

    async def settle(self, text: str | None) -> None:
        """End the streaming, and show the complete text if given."""
        async with self._changing:
            if self._stream:
                await self._stream.stop()
                self._stream = None
                self._last = ""
            if text is not None:
                await self._replace(self.parts, pieces(text))

    async def _cut(self) -> None:
        """Start another part if the streaming one has become too large."""
        parts = pieces(self._last, WHILE_WRITTEN)
        if self._stream and (len(parts) > 1 or parts[0].plain != self.parts[-1].piece.plain):
            await self._stream.stop()
            await self._replace(self.parts[-1:], parts)
            self._last = parts[-1].text
            self._stream = await (await self._last_part()).stream()

    async def _last_part(self) -> Part:
        if isinstance(last := self.parts[-1], Folded):
            await self._swap(last, Part(last.piece))
        part = self.parts[-1]
        assert isinstance(part, Part)
        return part

    async def _replace(self, parts: Sequence[Part | Folded], blocks: Sequence[Piece]) -> None:
        """Show these pieces in place of the given last parts."""
        for part, piece in zip(parts, blocks, strict=False):
            if isinstance(part, Folded):
                part.piece = piece
                part.guess(self.size.width)
            elif part.piece != piece or not part.whole:
                await part.show(piece)
        await self.mount(*map(Part, blocks[len(parts) :]))
        await self.remove_children(parts[len(blocks) :])

    async def _swap(self, old: Widget, new: Widget) -> None:
        if not old.is_attached:
            return
        with self.app.batch_update():
            await self.mount(new, before=old)
            await old.remove()
