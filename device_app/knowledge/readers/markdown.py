"""Reads Markdown: the visible text, with headings as blocks of their own and front matter as metadata."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from device_app.english.headings import heading as outcome_heading
from device_app.knowledge.readers.dates import date_in, parse_date
from device_app.knowledge.readers.decoding import decode_file, lines_of
from device_app.knowledge.readers.dialogues import dialogue_days, is_dialogue
from device_app.knowledge.readers.html import parse_html
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.paragraphs import numbered_blocks
from device_app.knowledge.readers.whatsapp import is_export, whatsapp_days
from shared.types import Block, Document

_FENCES = ("---", "+++")
# In characters; a longer note is read as plain text. The parser takes quadratic time for brackets and stars in a
# paragraph, and a hundred bytes of memory per byte of text.
_LONGEST_NOTE, _LONGEST_PARAGRAPH = 1 << 20, 20_000
_ITEM = re.compile(r"^\s*[-*+>] +(?=\S)")
_ESCAPED = re.compile(r"\\([\[\]()*_~.:#+-])")
_FIELD = re.compile(r"(\w[\w -]{0,30})\s*[:=]\s*(\S.*)")


def read_markdown(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a Markdown file as one note, or a chat as one document per day. Raises UnreadableFile."""
    lines = lines_of(decode_file(read_whole(path, max_bytes)))
    fields, body = _front_matter(lines)
    plain = [""] * body + [_without_marks(line) for line in lines[body:]]
    if is_export(plain[body:]):
        yield from whatsapp_days(plain, path)
        return
    if is_dialogue(plain):
        heading = next((line.strip("# ") for line in plain if line.startswith("# ")), "")
        yield from dialogue_days(plain, path, fields.get("title") or heading)
        return
    if sum(map(len, lines)) > _LONGEST_NOTE or _longest_paragraph(lines) > _LONGEST_PARAGRAPH:
        yield Document("", "note", path.stem, tuple(numbered_blocks(lines)), date_in(path.stem))
        return
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join([""] * body + lines[body:]))
    # The headings and items of minutes keep their marks: they show where a list of decisions ends.
    are_minutes = any(outcome_heading(line) for line in lines[body:])
    blocks = tuple(_blocks(tokens, with_marks=are_minutes))
    heading = next((text.content for opening, text in pairwise(tokens) if opening.type == "heading_open"), "")
    title = fields.get("title") or heading or path.stem
    date = parse_date(fields.get("date") or fields.get("created")) or date_in(path.stem) or date_in(title)
    people = tuple(name for key in ("author", "people") if (name := fields.get(key)))
    yield Document("", "note", title, blocks, date, people)


def _without_marks(line: str) -> str:
    """Undo the Markdown that a program added to a line of a chat: the mark of a list item, and escaped brackets."""
    return _ESCAPED.sub(r"\1", _ITEM.sub("", line)).rstrip()


def _longest_paragraph(lines: list[str]) -> int:
    longest = size = 0
    for line in lines:
        size = size + len(line) + 1 if line.strip() else 0
        longest = max(longest, size)
    return longest


def _front_matter(lines: list[str]) -> tuple[dict[str, str], int]:
    """Return the front matter's plain fields, and the index of the first line after it."""
    fence = lines[0].rstrip()
    if fence not in _FENCES:
        return {}, 0
    try:
        end = [line.rstrip() for line in lines].index(fence, 1)
    except ValueError:
        return {}, 0
    matches = (_FIELD.match(line) for line in lines[1:end])
    return {field[1].strip().lower(): field[2].strip().strip("\"'") for field in matches if field}, end + 1


def _blocks(tokens: Sequence[Token], *, with_marks: bool) -> Iterator[Block]:
    """Yield the blocks of a text; `with_marks`, headings and list items begin with "# " and "- "."""
    row: list[str] | None = None
    mark = ""
    for token in tokens:
        line = token.map[0] + 1 if token.map else 1
        if token.type == "heading_open":
            mark = f"{'#' * int(token.tag[1:])} "
        elif token.type == "list_item_open":
            mark = "- "
        elif token.type == "tr_open":
            row, row_line = [], line
        elif token.type == "tr_close" and row is not None:
            yield Block(" | ".join(row), line=row_line)
            row = None
        elif token.type == "inline":
            text = f"{mark if with_marks else ''}{_text(token.children or [])}"
            mark = ""
            if row is None:
                yield from numbered_blocks(text.split("\n"), line)
            else:
                row.append(text)
        elif token.type in ("fence", "code_block"):
            first = line + (token.type == "fence")
            code = enumerate(token.content.split("\n"), start=first)
            yield from (Block(text.rstrip(), line=number) for number, text in code if text.strip())
        elif token.type == "html_block":
            yield from (Block(text, line=line) for text in parse_html(token.content).lines)


def _text(inline: Sequence[Token]) -> str:
    """Return the visible text of a paragraph, with the file's line breaks."""
    shown = {"text", "code_inline", "image"}
    breaks = {"softbreak", "hardbreak"}
    return "".join("\n" if token.type in breaks else token.content if token.type in shown else "" for token in inline)
