"""A filter for all drawn text: removes control characters and marks that reorder text.

Untrusted text is sanitised where it is formatted; this filter catches text that was missed, and the person's own input.
"""

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from device_app.tui.wording import safe


class Harmless(LineFilter):
    """A line filter that removes unprintable characters. As these take no columns, the line's width stays the same."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002  (as Textual calls it)
        """Return the segments with printable text only."""
        return [segment if segment.text.isprintable() else _printable(segment) for segment in segments]


def _printable(segment: Segment) -> Segment:
    text = safe(segment.text).translate({ord(sign): None for sign in "\n\t"})
    return segment if text == segment.text else Segment(text, segment.style, segment.control)
