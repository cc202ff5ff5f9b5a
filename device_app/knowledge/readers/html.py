"""Converts HTML to lines of text: for web pages, mails and, through mammoth, Word documents.

An event parser takes a third of a tree parser's time, allows any depth of nesting, and needs no special case for broken
markup.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from html.parser import HTMLParser
from pathlib import Path

from device_app.knowledge.readers.dates import date_in, parse_date
from device_app.knowledge.readers.decoding import decode_file
from device_app.knowledge.readers.opening import read_whole
from shared.types import Block, Document

# Many comments, declarations or unclosed tags take the parser quadratic time. So a first pass cuts comments,
# declarations and instructions, and a second one treats a hostile page's "<" as text.
_MARKUP_DECLARATION = re.compile(r"<!--.*?(?:-->|\Z)|<[!?][^>]*>?", re.DOTALL)
_CHARSET = re.compile(
    rb"""<(?:meta|\?xml)\b[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?([\w.:-]{2,30})""", re.IGNORECASE
)
_OPEN_ANGLE = re.compile(r"<(?=[^<>]*(?:<|\Z))")
_MOST_WORK = 1_000_000_000
"""The most characters that are scanned in total for "<" characters that begin no tag."""
# Elements whose depth the parser tracks.
_INSIDE = {
    **dict.fromkeys(("script", "style", "template", "svg", "noscript", "select", "textarea", "iframe"), "silent"),
    **dict.fromkeys(("nav", "footer", "aside", "dialog", "menu"), "furniture"),
    **dict.fromkeys(("main", "article"), "main"),
    **{name: name for name in ("title", "h1", "pre", "blockquote")},
}
_BREAKS = {
    *("address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "div"),
    *("dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header"),
    *("hr", "legend", "li", "main", "menu", "nav", "ol", "option", "p", "pre", "section", "summary", "ul"),
}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ROWS = {"tr", "table", "tbody", "thead", "tfoot"}
_DATES = {"date", "dc.date", "dcterms.date", "dcterms.created", "article:published_time", "og:published_time"}


@dataclass(frozen=True, slots=True)
class Page:
    """The readable text of an HTML document: a line per paragraph, item or table row. Quotations begin with ">"."""

    title: str
    date: datetime | None
    lines: tuple[str, ...]
    levels: tuple[int, ...] = ()
    """The heading level of each line, from 1; 0 for a line that is no heading."""


def read_html(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a web page as one document. Raises UnreadableFile."""
    data = read_whole(path, max_bytes)
    page = parse_html(decode_file(data, declared_charset(data)))
    date = page.date or date_in(path.stem) or date_in(page.title)
    blocks = tuple(Block(line.removeprefix("> ")) for line in page.lines)
    yield Document("", "page", page.title or path.stem, blocks, date)


def parse_html(text: str) -> Page:
    """Return the page's main text if it is marked; else all text but navigation; else all text. Never fails."""
    parser = _Parser()
    text = _MARKUP_DECLARATION.sub("", text)
    if sum(1 for _ in _OPEN_ANGLE.finditer(text)) * len(text) > _MOST_WORK:
        text = _OPEN_ANGLE.sub("&lt;", text)
    parser.feed(text)
    parser.close()
    parser.end_line()
    regions = [tuple(line for line in parser.lines if line[0] is region) for region in _Region]
    kept = next(filter(None, regions), ())
    title = " ".join("".join(parser.title).split())
    heading = " ".join("".join(parser.heading).split())
    lines, levels = tuple(text for _, text, _ in kept), tuple(level for _, _, level in kept)
    return Page(title or heading, parser.date, lines, levels)


def declared_charset(data: bytes) -> str | None:
    """Return the charset that an HTML file declares in its head."""
    match = _CHARSET.search(data[:4096])
    return match[1].decode("ascii") if match else None


class _Region(IntEnum):
    MAIN = 0
    BODY = 1
    FURNITURE = 2


class _Gap(IntEnum):
    """The separator between two pieces of text, such as a space or a line end; where several meet, the greatest is
    used.
    """

    NONE = 0
    BLOCK = 1
    CELL = 2
    ROW = 3


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.heading: list[str] = []
        self.date: datetime | None = None
        self.lines: list[tuple[_Region, str, int]] = []
        self._depth = dict.fromkeys(_INSIDE.values(), 0)
        self._gap = _Gap.NONE
        self._parts: list[str] = []
        self._has_heading = False
        self._level = self._open_heading = 0
        self._started = False
        self._quoted = False
        self._region = _Region.BODY

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "meta" and self.date is None:
            values = dict(attrs)
            if (values.get("name") or values.get("property") or "").lower() in _DATES:
                self.date = parse_date(values.get("content"))
        if place := _INSIDE.get(tag):
            self._depth[place] += 1
        self._meet(tag)
        self._open_heading = _HEADINGS.get(tag, self._open_heading)

    def handle_endtag(self, tag: str) -> None:
        self._meet(tag)
        if tag in _HEADINGS:
            self._open_heading = 0
        self._has_heading = self._has_heading or (tag == "h1" and bool(self.heading))
        if place := _INSIDE.get(tag):
            self._depth[place] = max(self._depth[place] - 1, 0)

    def handle_data(self, data: str) -> None:
        if self._depth["silent"]:
            return
        if self._depth["title"]:
            self.title.append(data)
            return
        if self._depth["h1"] and not self._has_heading:
            self.heading.append(data)
        if self._depth["pre"] and "\n" in data:
            for line in data.split("\n"):
                self._add(line)
                self._gap = max(self._gap, _Gap.BLOCK)
        else:
            self._add(data)

    def end_line(self) -> None:
        """End the current line."""
        if text := " ".join("".join(self._parts).split()):
            self.lines.append((self._region, f"> {text}" if self._quoted else text, self._level))
        self._parts.clear()
        self._started = False

    def _meet(self, tag: str) -> None:
        if tag in _ROWS:
            self._gap = _Gap.ROW
        elif tag in ("td", "th"):
            self._gap = max(self._gap, _Gap.CELL)
        elif tag in _BREAKS:
            self._gap = max(self._gap, _Gap.BLOCK)

    def _add(self, data: str) -> None:
        if not data.strip():
            self._parts.append(" ")
            return
        if self._gap is _Gap.CELL and self._started:
            self._parts.append(" | ")
        elif self._gap is not _Gap.NONE:
            self.end_line()
        self._gap = _Gap.NONE
        if not self._started:
            self._started = True
            self._level = self._open_heading
            self._quoted = self._depth["blockquote"] > 0
            main, furniture = self._depth["main"], self._depth["furniture"]
            self._region = _Region.FURNITURE if furniture else _Region.MAIN if main else _Region.BODY
        self._parts.append(data)
