"""Reads OpenDocument texts and presentations (odt, odp), as LibreOffice and others write them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from device_app.knowledge.readers.archives import known_author, open_archive, refused_if_broken, tree
from device_app.knowledge.readers.dates import date_in, parse_date
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.sections import Line, opening_heading, sections
from device_app.knowledge.readers.slides import Slide, deck
from shared.errors import UnreadableFile
from shared.types import Document

NAMESPACES = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "presentation": "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
    "manifest": "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0",
    "meta": "urn:oasis:names:tc:opendocument:xmlns:meta:1.0",
    "dc": "http://purl.org/dc/elements/1.1/",
}


def qualified(name: str) -> str:
    """Return `prefix:name` in the form that ElementTree uses, with the namespace in full."""
    prefix, _, local = name.partition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}"


_MANIFEST = "META-INF/manifest.xml"
_HEADING, _PARAGRAPH, _TABLE = map(qualified, ("text:h", "text:p", "table:table"))
_ROW, _CELL, _LEVEL = map(qualified, ("table:table-row", "table:table-cell", "text:outline-level"))
_FRAME, _PAGE, _NOTES = map(qualified, ("draw:frame", "draw:page", "presentation:notes"))
_CLASS = qualified("presentation:class")
# Not what the author shows: what was deleted, comments, contents that repeat the headings, and notes' numbers.
_SILENT = frozenset(
    map(qualified, ("text:tracked-changes", "office:annotation", "text:table-of-content", "text:note-citation"))
)
_WHITE = frozenset(map(qualified, ("text:tab", "text:line-break", "text:s")))


def read_odt(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield one document or, for a long text, one per section. Raises UnreadableFile."""
    data = read_whole(path, max_bytes)
    with refused_if_broken("OpenDocument file"), open_opendocument(data) as archive:
        title, author, changed = properties(archive)
        lines = list(_lines(body(archive, "office:text")))
    shown = title or opening_heading(lines) or path.stem
    people = (author,) if author else ()
    yield from sections(Document("", "paper", shown, (), date_in(path.stem) or changed, people), lines)


def read_odp(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a document per slide. Raises UnreadableFile."""
    data = read_whole(path, max_bytes)
    with refused_if_broken("OpenDocument file"), open_opendocument(data) as archive:
        title, author, changed = properties(archive)
        slides = [_slide(page) for page in body(archive, "office:presentation").iter(_PAGE)]
    yield from deck(path, title, author, changed, slides)


@contextmanager
def open_opendocument(data: bytes) -> Iterator[ZipFile]:
    """Open an OpenDocument archive. Raises UnreadableFile for one with a password, and the errors in BROKEN."""
    with open_archive(data) as archive:
        if _MANIFEST in archive.namelist():
            locked = tree(archive, _MANIFEST).iter(qualified("manifest:encryption-data"))
            if next(locked, None) is not None:
                raise UnreadableFile("encrypted OpenDocument file")
        yield archive


def properties(archive: ZipFile) -> tuple[str, str, datetime | None]:
    """Return the title, the author and the time of the last change; "" or None for missing ones."""
    if "meta.xml" not in archive.namelist():
        return "", "", None
    root = tree(archive, "meta.xml")
    title, first, last, changed = (
        (root.findtext(f".//{name}", "", NAMESPACES) or "").strip()
        for name in ("dc:title", "meta:initial-creator", "dc:creator", "dc:date")
    )
    return title, known_author(first or last), parse_date(changed)


def body(archive: ZipFile, kind: str) -> Element:
    """Return the element with the content. Raises LookupError for another kind of OpenDocument file."""
    element = tree(archive, "content.xml").find(f"office:body/{kind}", NAMESPACES)
    if element is None:
        raise LookupError(kind)
    return element


def text_of(element: Element) -> str:
    """Return a paragraph's text on one line, with its notes in place, but without frames, which are read separately."""
    return " ".join("".join(_pieces(element)).split())


def _pieces(element: Element) -> Iterator[str]:
    yield element.text or ""
    for inner in element:
        if inner.tag in _WHITE:
            yield " "
        elif inner.tag in (_PARAGRAPH, _HEADING):  # of a note
            yield " "
            yield from _pieces(inner)
        elif inner.tag not in _SILENT and inner.tag != _FRAME:
            yield from _pieces(inner)
        yield inner.tail or ""


def _lines(element: Element) -> Iterator[Line]:
    """Yield the paragraphs, headings and rows of tables within the element, in order."""
    for inner in element:
        if inner.tag in (_HEADING, _PARAGRAPH):
            level = int(inner.get(_LEVEL, "1")) if inner.tag == _HEADING else 0
            yield level, text_of(inner)
            for frame in inner.iter(_FRAME):
                yield from _lines(frame)
        elif inner.tag == _TABLE:
            for row in inner.iter(_ROW):
                cells = (" ".join(text for _, text in _lines(cell)) for cell in row.findall(_CELL))
                yield 0, " | ".join(filter(None, cells))
        elif inner.tag not in _SILENT:
            yield from _lines(inner)


def _slide(page: Element) -> Slide:
    title = ""
    lines: list[str] = []
    notes: list[str] = []
    for part in page:
        texts = [text for _, text in _lines(part) if text]
        if part.tag == _NOTES:
            notes = texts
        elif part.get(_CLASS) == "title" and not title:
            title = " ".join(texts)
        else:
            lines += texts
    return Slide(title, tuple(lines), tuple(notes))
