"""Groups lines into blocks: a paragraph as it was before wrapping, a list item, or a line of verse."""

import re
from collections.abc import Iterator, Sequence

from shared.types import Block

_NARROWEST, _WIDEST = 50, 100
"""The least and the most columns at which programs and people wrap text."""
_ITEM = re.compile(r"\s*(?:[-*+•–>|#]|\d{1,3}[.)]|\[[ xX]\])\s")


def logical_lines(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield groups of lines that were one line before wrapping, stripped, each with the index of its first line."""
    start = 0
    for index in range(len(lines) + 1):
        if index == len(lines) or not lines[index].strip():
            if index > start:
                yield from _unwrapped(start, [line.strip() for line in lines[start:index]])
            start = index + 1


def numbered_blocks(lines: Sequence[str], first: int = 1) -> Iterator[Block]:
    """Yield blocks with the number of their first line, keeping line breaks. `first` is the number of lines[0]."""
    return (Block("\n".join(run), line=first + index) for index, run in logical_lines(lines))


def joined_blocks(lines: Sequence[str], page: int | None = None) -> Iterator[Block]:
    """Yield blocks for a format without line numbers: wrapped lines are joined, and hyphenated words restored."""
    for _, run in logical_lines(lines):
        text = run[0]
        for line in run[1:]:
            cut = text.endswith("-") and text[-2:-1].isalpha() and line[:1].islower()
            text = text[:-1] + line if cut else f"{text} {line}"
        yield Block(text, page=page)


def _unwrapped(start: int, lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    # Wrapping fills lines: a line continues in the next one if the next one's first word did not fit.
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
