"""Opens zip archives for the readers: what one would unpack to is checked before anything in it is inflated."""

import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import IO
from xml.etree.ElementTree import Element, ParseError
from xml.parsers.expat import ExpatError
from zipfile import ZipFile

from device_app.knowledge.readers.dates import parse_date
from shared.errors import UnreadableFile

MOST_MEMBERS = 10_000
MOST_RATIO = 200
"""The most bytes that a byte may unpack to. Text and markup reach 50; a zip bomb has 1,000."""
MOST_UNPACKED = 1 << 30
"""The most bytes of all members together. Few are read, and tables as streams."""
MOST_XML = 16 << 20
"""The most bytes of a member that is held as a tree: some 1,500 pages, 400 MB."""

_MOST_TEXT = 64 << 20
_SMALL = 4 << 20
"""A member up to this size is harmless, however well it is compressed."""
_OLE = bytes.fromhex("D0CF11E0A1B11AE1")
"""Begins the files of Office before 2007, and what Office encrypts."""
_PICTURES = {".bmp", ".emf", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".tif", ".tiff", ".webp", ".wmf"}
"""Members that are never read. An empty drawing may be compressed as a zip bomb is."""
_LARGEST_PICTURE = 64 << 20

BROKEN = (
    *(zipfile.BadZipFile, zlib.error, ExpatError, ParseError, EOFError, RecursionError, RuntimeError, LookupError),
    *(ValueError, TypeError, AttributeError, NotImplementedError, OSError, ArithmeticError, AssertionError),
)
"""The errors of zipfile, of XML parsers and of what reads their trees, for files broken in ways that nobody expects."""

_PROPERTIES = "docProps/core.xml"
_LIBRARIES = {"openpyxl", "python-docx"}
"""What stands for the author if a program wrote the file and nobody told it who."""
_FACTS = ("dc:title", "dc:creator", "dcterms:modified")
_NAMESPACES = {"dc": "http://purl.org/dc/elements/1.1/", "dcterms": "http://purl.org/dc/terms/"}


@contextmanager
def refused_if_broken(kind: str) -> Iterator[None]:
    """Turn whatever a broken file causes into UnreadableFile, "broken KIND"."""
    try:
        yield
    except BROKEN as error:
        raise UnreadableFile(f"broken {kind}") from error


@contextmanager
def open_archive(data: bytes) -> Iterator[ZipFile]:
    """Open a zip archive in memory. Raises UnreadableFile for a zip bomb, and the errors in BROKEN."""
    if data.startswith(_OLE):
        raise UnreadableFile("encrypted, or a file of an Office before 2007")
    with ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) > MOST_MEMBERS:
            raise UnreadableFile(f"an archive of {len(members):,} files, more than {MOST_MEMBERS:,}")
        total = sum(member.file_size for member in members)
        if total > MOST_UNPACKED:
            raise UnreadableFile(f"would unpack to {total >> 20:,} MB, more than {MOST_UNPACKED >> 20:,}")
        for member in members:
            picture = PurePosixPath(member.filename).suffix.lower() in _PICTURES
            tolerated = _LARGEST_PICTURE if picture else max(_SMALL, MOST_RATIO * member.compress_size)
            if member.file_size > tolerated:
                raise UnreadableFile(f"a zip bomb: {member.compress_size:,} bytes would unpack to {member.file_size:,}")
        yield archive


def member(archive: ZipFile, name: str, most: int = MOST_XML) -> bytes:
    """Return a member's content. Raises UnreadableFile if it is larger than `most` bytes, KeyError if there is none."""
    if archive.getinfo(name).file_size > most:
        raise UnreadableFile(f"more than {most >> 20} MB of text and markup")
    return archive.read(name)


def check_total(archive: ZipFile, names: Iterable[str]) -> None:
    """Raise UnreadableFile if these members have more text and markup together than is held in memory."""
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    if sum(sizes.get(name, 0) for name in names) > _MOST_TEXT:
        raise UnreadableFile(f"more than {_MOST_TEXT >> 20} MB of text and markup")


def tree(archive: ZipFile, name: str) -> Element:
    """Return a member's XML. Raises UnreadableFile if it is too large, KeyError, and ValueError for entities."""
    from defusedxml.ElementTree import fromstring

    root: Element = fromstring(member(archive, name))
    return root


def core_properties(archive: ZipFile) -> tuple[str, str, datetime | None]:
    """Return title, author and time of the last change of an Office file; "" or None if the file has none."""
    if _PROPERTIES not in archive.namelist():
        return "", "", None
    root = tree(archive, _PROPERTIES)
    title, author, changed = (root.findtext(name, "", _NAMESPACES).strip() for name in _FACTS)
    return title, known_author(author), parse_date(changed)


def known_author(name: str) -> str:
    """Return the author's name, "" for a program's own."""
    return "" if name in _LIBRARIES else name


@dataclass(slots=True)
class _Metered:
    """A stream that is not read further than MOST_XML bytes from the last element that was yielded."""

    stream: IO[bytes]
    read_since: int = 0

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size)
        self.read_since += len(data)
        if self.read_since > MOST_XML:
            raise UnreadableFile(f"more than {MOST_XML >> 20} MB of text and markup in a row")
        return data


def flow(archive: ZipFile, name: str, of: str, most: int) -> Iterator[tuple[Sequence[Element], Element]]:
    """Yield the elements with the local name `of`, each at its end and after those that it is in, outermost first.

    A member of any size is read in bounded memory: what was yielded or passed is emptied.
    Raises UnreadableFile if one of them, or what lies between two, has more than `most` elements; KeyError, ParseError.
    """
    from defusedxml.ElementTree import iterparse

    with archive.open(name) as stream:
        above: list[Element] = []
        inside = count = 0
        metered = _Metered(stream)
        for event, element in iterparse(metered, ("start", "end")):
            matches = element.tag.rpartition("}")[2] == of
            if event == "start":
                count += 1
                if count > most:
                    raise UnreadableFile(f"more than {most:,} cells in a row")
                above.append(element)
                inside += matches
                continue
            above.pop()
            inside -= matches
            if matches and not inside:
                yield above, element
                count = metered.read_since = 0
            if not inside and above:
                del above[-1][:]
