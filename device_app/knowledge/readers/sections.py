"""Cuts a long text at its headings, so that a quotation names the section that it is from. Reads no file."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from shared.types import Block, Document

Line = tuple[int, str]
"""A line of text, after the level of its heading: from 1, or 0 for a line that is none."""

_LEVELS = 2
"""Only the two uppermost levels in a text divide it."""


def sections(whole: Document, lines: Iterable[Line]) -> Iterator[Document]:
    """Yield the text in sections, each titled by its heading after the title of the whole.

    A heading without text of its own belongs to the section after it. What is before the first heading, and a text
    without headings, has the title and the key of the whole.
    """
    lines = [(level, text) for level, text in lines if text.strip()]
    uppermost = sorted({level for level, _ in lines if level})[:_LEVELS]
    blocks: list[Block] = []
    heading, has_text = "", False
    for level, text in lines:
        if level in uppermost:
            if has_text:
                yield _section(whole, heading, blocks)
                blocks, has_text = [], False
            heading = text
        else:
            has_text = True
        blocks.append(Block(text))
    yield _section(whole, heading, blocks)


def opening_heading(lines: Iterable[Line]) -> str:
    """Return the heading that a text begins with, "" if it begins with none."""
    return next((text if level else "" for level, text in lines if text.strip()), "")


def _section(whole: Document, heading: str, blocks: list[Block]) -> Document:
    if not heading or whole.title.endswith(heading):
        return replace(whole, blocks=tuple(blocks))
    key = f"{whole.key} {heading}".strip()
    return replace(whole, key=key, title=f"{whole.title}, {heading}", blocks=tuple(blocks))
