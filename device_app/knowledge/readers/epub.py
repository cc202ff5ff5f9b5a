"""Reads EPUB books: a document per chapter, or per section of a long one."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from xml.etree.ElementTree import Element, ParseError
from zipfile import ZipFile

from device_app.knowledge.readers.archives import check_total, member, open_archive, refused_if_broken
from device_app.knowledge.readers.dates import date_in, parse_date
from device_app.knowledge.readers.decoding import decode_file
from device_app.knowledge.readers.html import declared_charset, parse_html
from device_app.knowledge.readers.omitted import Omitted
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.sections import sections
from shared.errors import UnreadableFile
from shared.printable import counted
from shared.types import Document

_CONTAINER = "META-INF/container.xml"
_FACTS = ("title", "creator", "date")
_OLD_CONTENTS = "application/x-dtbncx+xml"
_CHAPTERS = {"application/xhtml+xml", "text/html", "application/x-dtbook+xml"}


def read_epub(path: Path, max_bytes: int) -> Iterator[Document | Omitted]:
    """Yield a book's chapters in reading order, and report the number of broken ones. Raises UnreadableFile."""
    data = read_whole(path, max_bytes)
    with refused_if_broken("book"), open_archive(data) as archive:
        start = next(_named(_xml(archive, _CONTAINER), "rootfile")).get("full-path", "")
        package = _xml(archive, start)
        manifest = {item.get("id"): item for item in _named(package, "item")}
        order = [manifest[place.get("idref")] for place in _named(package, "itemref") if place.get("idref") in manifest]
        contents = _contents(archive, start, manifest.values())
        facts = {name: next((text for fact in _named(package, name) if (text := _said(fact))), "") for name in _FACTS}
        names = dict.fromkeys(
            _place(start, item.get("href", ""))
            for item in order
            if item.get("media-type") in _CHAPTERS and "nav" not in item.get("properties", "").split()
        )
        check_total(archive, names)
        parts = [(name, chapter) for name in names if (chapter := _chapter(archive, name)) is not None]
    if not parts and order:
        raise UnreadableFile("a book without a readable chapter, perhaps copy protected")
    if missing := len(names) - len(parts):
        yield Omitted(f"{missing:,} of {counted(len(names), 'chapter')}, broken or copy protected")
    title = facts["title"] or path.stem
    date = date_in(path.stem) or parse_date(facts["date"])
    people = (facts["creator"],) if facts["creator"] else ()
    for name, (heading, lines) in parts:
        named = contents.get(name) or heading
        shown = f"{title}, {named}" if named not in ("", title) else title
        yield from sections(Document(name, "book", shown, (), date, people), lines)


def _chapter(archive: ZipFile, name: str) -> tuple[str, list[tuple[int, str]]] | None:
    """Return the heading and the lines of a chapter; None if it is missing, copy-protected or not text."""
    try:
        data = member(archive, name)
        page = parse_html(decode_file(data, declared_charset(data)))
    except (KeyError, UnreadableFile):
        return None
    heading = next((line for level, line in zip(page.levels, page.lines, strict=True) if level), "")
    return heading, list(zip(page.levels, (line.removeprefix("> ") for line in page.lines), strict=True))


def _contents(archive: ZipFile, start: str, items: Iterable[Element]) -> dict[str, str]:
    """Return the titles of chapters by file, from the table of contents; for a file with several, the first title."""
    names: dict[str, str] = {}
    for item in items:
        old = item.get("media-type") == _OLD_CONTENTS
        if not old and "nav" not in item.get("properties", "").split():
            continue
        file = _place(start, item.get("href", ""))
        try:
            root = _xml(archive, file)
        except (KeyError, ParseError, UnreadableFile):
            continue  # the chapters' own headings serve
        for point in _named(root, "navPoint" if old else "a"):
            label = next(_named(point, "navLabel"), None) if old else point
            target = next(_named(point, "content"), None) if old else point
            if label is not None and target is not None and (name := _said(label)):
                names.setdefault(_place(file, target.get("src" if old else "href", "")), name)
    return names


def _xml(archive: ZipFile, name: str) -> Element:
    """Return a member's XML; its document type may be named, but must define nothing."""
    from defusedxml.ElementTree import fromstring

    root: Element = fromstring(member(archive, name))
    return root


def _named(element: Element, name: str) -> Iterator[Element]:
    """Yield the elements of this name within an element, in any namespace, since EPUB 2, EPUB 3 and programs differ."""
    return (inner for inner in element.iter() if inner.tag.rpartition("}")[2] == name)


def _said(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _place(start: str, target: str) -> str:
    return normpath(join(dirname(start), unquote(target.partition("#")[0])))
