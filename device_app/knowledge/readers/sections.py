"""Splits a long text at its headings, so that a quotation can name its section. Reads no file."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from shared.types import Block, Document

Line = tuple[int, str]
"""The level of a line's heading, from 1 (0 for a line that is no heading), and the text of the line."""

_LEVELS = 2
"""The number of heading levels, from the top, at which a text is split."""


def sections(whole: Document, lines: Iterable[Line]) -> Iterator[Document]:
    """Yield the text in sections, each titled by its heading after the title of the whole text.

    A heading without text of its own belongs to the section after it. Text before the first heading, and a text without
    headings, have the title and the key of the whole.
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
    """Return the heading at the beginning of a text; "" if there is none."""
    return next((text if level else "" for level, text in lines if text.strip()), "")


def _section(whole: Document, heading: str, blocks: list[Block]) -> Document:
    if not heading or whole.title.endswith(heading):
        return replace(whole, blocks=tuple(blocks))
    key = f"{whole.key} {heading}".strip()
    return replace(whole, key=key, title=f"{whole.title}, {heading}", blocks=tuple(blocks))
