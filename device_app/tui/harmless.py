"""The last gate before the terminal: whatever a widget draws, nothing passes that steers or reorders it.

Foreign text is made harmless where it is put in words; this holds for what was missed there, and for what is typed.
"""

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from device_app.tui.wording import safe


class Harmless(LineFilter):
    """What it leaves out takes no columns: the width of a line stays."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002  (as Textual calls it)
        """The segments, with printable text alone."""
        return [segment if segment.text.isprintable() else _printable(segment) for segment in segments]


def _printable(segment: Segment) -> Segment:
    text = safe(segment.text).translate({ord(sign): None for sign in "\n\t"})
    return segment if text == segment.text else Segment(text, segment.style, segment.control)
