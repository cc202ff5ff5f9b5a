"""Reads Word files, by conversion to HTML."""

import io
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers.expat import ExpatError

import mammoth

from device_app.knowledge.readers.dates import date_in, parse_date
from device_app.knowledge.readers.html import parse_html
from device_app.knowledge.readers.opening import read_whole
from shared.errors import UnreadableFile
from shared.types import Block, Document

_MOST_XML = 16 << 20
"""The most bytes of unpacked text and markup, which mammoth holds as trees: some 1,500 pages, 400 MB."""
# The errors of zipfile and mammoth for broken files, and for well-formed ones that are no Word file.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, ExpatError, ElementTree.ParseError, EOFError, RecursionError, RuntimeError),
    *(LookupError, ValueError, TypeError, AttributeError, NotImplementedError, OSError),
)
_PROPERTIES = "docProps/core.xml"
_FACTS = ("dc:title", "dc:creator", "dcterms:modified")
_NAMESPACES = {"dc": "http://purl.org/dc/elements/1.1/", "dcterms": "http://purl.org/dc/terms/"}


def read_docx(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield one document. Raises UnreadableFile."""
    data = read_whole(path, max_bytes)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist() if member.filename.endswith(".xml")) > _MOST_XML:
                raise UnreadableFile(f"more than {_MOST_XML >> 20} MB of text and markup")
            title, author, changed = _properties(archive)
        html = mammoth.convert_to_html(io.BytesIO(data), convert_image=mammoth.images.img_element(lambda _: {})).value
    except _BROKEN as error:
        raise UnreadableFile("broken Word file") from error
    page = parse_html(html)
    blocks = tuple(Block(line.removeprefix("> ")) for line in page.lines)
    shown = title or page.title or path.stem
    yield Document("", "paper", shown, blocks, date_in(path.stem) or changed, (author,) if author else ())


def _properties(archive: zipfile.ZipFile) -> tuple[str, str, datetime | None]:
    """Return title, author and time of the last change; "" or None if the file has none."""
    if _PROPERTIES not in archive.namelist():
        return "", "", None
    root = ElementTree.fromstring(archive.read(_PROPERTIES))
    title, author, changed = (root.findtext(name, "", _NAMESPACES).strip() for name in _FACTS)
    return title, author, parse_date(changed)
