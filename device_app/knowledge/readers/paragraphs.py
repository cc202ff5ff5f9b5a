"""Lines to blocks. A block is one logical line: a paragraph however it was wrapped, a list item, a line of verse."""

import re
from collections.abc import Iterator, Sequence

from shared.types import Block

_NARROWEST, _WIDEST = 50, 100
"""Columns at which programs and people wrap text by hand."""
_ITEM = re.compile(r"\s*(?:[-*+•–>|#]|\d{1,3}[.)]|\[[ xX]\])\s")


def logical_lines(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines that were one before wrapping, stripped, each with the index of its first line."""
    start = 0
    for index in range(len(lines) + 1):
        if index == len(lines) or not lines[index].strip():
            if index > start:
                yield from _unwrapped(start, [line.strip() for line in lines[start:index]])
            start = index + 1


def numbered_blocks(lines: Sequence[str], first: int = 1) -> Iterator[Block]:
    """Blocks with the line they begin on; a line break inside a block is one of wrapping. `first` is lines[0]'s."""
    return (Block("\n".join(run), line=first + index) for index, run in logical_lines(lines))


def joined_blocks(lines: Sequence[str], page: int | None = None) -> Iterator[Block]:
    """Blocks of a format without lines: what was wrapped is one line again, words cut by a hyphen whole."""
    for _, run in logical_lines(lines):
        text = run[0]
        for line in run[1:]:
            cut = text.endswith("-") and text[-2:-1].isalpha() and line[:1].islower()
            text = text[:-1] + line if cut else f"{text} {line}"
        yield Block(text, page=page)


def _unwrapped(start: int, lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    # Whoever wraps puts on a line what fits: a line goes on in the next if the next one's first word had no room.
    width = max((len(line) for line in lines if " " in line), default=0)
    run = [lines[0]]
    for number, line in enumerate(lines[1:], start=1):
        no_room = len(lines[number - 1]) + 1 + len(line.split(maxsplit=1)[0]) > width
        if _NARROWEST <= width <= _WIDEST and no_room and not _ITEM.match(line):
            run.append(line)
        else:
            yield start + number - len(run), run
            run = [line]
    yield start + len(lines) - len(run), run
