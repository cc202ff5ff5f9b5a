"""Reads Emacs Org files: headings, text and tables, without drawers, settings and comments.

It reads line by line, without a library: the only library for Org loses a whole file over one invalid date, gives no
line numbers for bodies, and takes a minute for 60 kB of brackets.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from device_app.knowledge.readers.dates import date_in
from device_app.knowledge.readers.decoding import decode_file, lines_of
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.paragraphs import numbered_blocks
from shared.types import Block, Document

_HEADING = re.compile(r"\*+\s+(.*)")
_SETTING = re.compile(r"\s*#\+(\w+):\s*(.*)")
_UNSEEN = re.compile(r"\s*(?:#(?:\s|\+|$)|:[\w-]+:(?:\s|$)|CLOCK:|\|[-+]+\|?\s*$)")
_LINK = re.compile(r"\[\[([^][]+)\](?:\[([^][]+)\])?\]")


def read_org(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield an Org file as one note. Raises UnreadableFile."""
    lines = lines_of(decode_file(read_whole(path, max_bytes)))
    settings = {match[1].lower(): match[2] for line in lines if (match := _SETTING.match(line))}
    blocks = tuple(_blocks(lines))
    heading = next((match[1] for line in lines if (match := _HEADING.match(line))), "")
    title = settings.get("title") or _seen(heading) or path.stem
    date = date_in(settings.get("date", "")) or date_in(path.stem) or date_in(title)
    yield Document("", "note", title, blocks, date, tuple(filter(None, [settings.get("author")])))


def _blocks(lines: list[str]) -> Iterator[Block]:
    first = 0
    for index, line in enumerate([*lines, "* "]):
        if heading := _HEADING.match(line):
            yield from numbered_blocks([_seen(body) for body in lines[first:index]], first + 1)
            if heading[1].strip():
                yield Block(_seen(heading[1]), line=index + 1)
            first = index + 1


def _seen(line: str) -> str:
    if _UNSEEN.match(line):
        return ""
    text = _LINK.sub(lambda link: link[2] or link[1], line)
    return text.strip().strip("|").strip() if text.lstrip().startswith("|") else text
