"""Splits an answer's Markdown into pieces that can be shown separately. Pure; uses no widget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

MOST_CHARACTERS = 3_000
MOST_WIDGETS = 60
"""The most characters and widgets of a piece of an answer.

A piece ends before it exceeds them, if possible: at a block, or at an item of a list.
"""

WHILE_WRITTEN = 12
"""The most widgets of a piece while text is added, lower because each word recreates all widgets of a list."""

MOST_IN_ONE = 120
"""The most widgets of a block that cannot be split, such as a table; a larger one is shown as plain text."""

_WIDGETS = {"list_item_open": 3, "hr": 1, "fence": 2, "code_block": 2, "table_open": 2, "td_open": 1, "th_open": 1}


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer: one or more Markdown blocks. `goes_on`: the piece ends inside a list.

    `plain`: show it as unrendered text.
    """

    text: str
    goes_on: bool = False
    plain: bool = False

    @property
    def markdown(self) -> str:
        """The Markdown of the piece to render, to which more text may be appended."""
        return f"{'~' * 12}text\n{self.text}" if self.plain else self.text


@dataclass(frozen=True, slots=True)
class _Block:
    line: int
    within: bool
    widgets: int


def parser() -> MarkdownIt:
    """Return a parser for untrusted Markdown: HTML is treated as text."""
    return MarkdownIt("gfm-like", {"html": False})


def pieces(text: str, most_widgets: int = MOST_WIDGETS) -> list[Piece]:
    """Return the pieces of a text in order; their joined texts equal `text`. An empty text gives one empty piece."""
    lines = text.split("\n")
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    blocks = list(_blocks(parser().parse(text)))
    cuts: list[_Block] = [_Block(0, within=False, widgets=0)]
    weights = [0]
    ends = [*(starts[block.line] for block in blocks[1:]), len(text)]
    for block, end in zip(blocks, ends, strict=False):
        full = weights[-1] + block.widgets > most_widgets or end - starts[cuts[-1].line] > MOST_CHARACTERS
        if full and weights[-1]:
            cuts.append(block)
            weights.append(0)
        weights[-1] += block.widgets
    places = [*(starts[cut.line] for cut in cuts), len(text)]
    within = [*(cut.within for cut in cuts[1:]), False]
    return [
        Piece(text[begin:end], goes_on, weight > MOST_IN_ONE)
        for begin, end, goes_on, weight in zip(places, places[1:], within, weights, strict=False)
    ]


def _blocks(tokens: Sequence[Token]) -> Iterator[_Block]:
    """Yield the blocks at which the text can be split, with an estimate of each block's widgets."""
    block: _Block | None = None
    items = 0
    for token in tokens:
        item = token.type == "list_item_open" and token.level == 1
        items = items + 1 if item else 0 if token.level == 0 else items
        if token.map and (token.level == 0 or (item and items > 1)):
            if block:
                yield block
            block = _Block(token.map[0], within=item, widgets=0)
        if block and (token.nesting == 1 or token.type in _WIDGETS):
            block = _Block(block.line, block.within, block.widgets + _WIDGETS.get(token.type, 1))
    if block:
        yield block


def height(text: str, width: int) -> int:
    """Return an estimate of the rows that a text takes at that width, without a layout."""
    return sum(1 + len(line) // max(width, 1) for line in text.rstrip().split("\n"))
