"""Opens zip archives for the readers, and checks their unpacked size before anything is unpacked."""

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
"""The most unpacked bytes for each packed byte. Text and markup reach 50; a zip bomb has 1,000."""
MOST_UNPACKED = 1 << 30
"""The most unpacked bytes of all members of an archive together."""
MOST_XML = 16 << 20
"""The most bytes of a member that is parsed to a tree: some 1,500 pages, which take 400 MB of memory."""

_MOST_TEXT = 64 << 20
"""The most bytes of text and markup that the members of one file may have together."""
_SMALL = 4 << 20
"""The size in bytes up to which a member is harmless, however strongly it is compressed."""
_OLE = bytes.fromhex("D0CF11E0A1B11AE1")
"""The first bytes of Office files from before 2007, and of encrypted Office files."""
_PICTURES = {".bmp", ".emf", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".tif", ".tiff", ".webp", ".wmf"}
"""The suffixes of pictures, which are never read. An empty drawing may be compressed as strongly as a zip bomb."""
_LARGEST_PICTURE = 64 << 20

BROKEN = (
    *(zipfile.BadZipFile, zlib.error, ExpatError, ParseError, EOFError, RecursionError, RuntimeError, LookupError),
    *(ValueError, TypeError, AttributeError, NotImplementedError, OSError, ArithmeticError, AssertionError),
)
"""The errors that zipfile, XML parsers and the code reading their trees raise for broken files."""

_PROPERTIES = "docProps/core.xml"
_LIBRARIES = {"openpyxl", "python-docx"}
"""Names that programs write as the author of a file when no author is set."""
_FACTS = ("dc:title", "dc:creator", "dcterms:modified")
_NAMESPACES = {"dc": "http://purl.org/dc/elements/1.1/", "dcterms": "http://purl.org/dc/terms/"}


@contextmanager
def refused_if_broken(kind: str) -> Iterator[None]:
    """Turn any error that a broken file causes into UnreadableFile, "broken KIND"."""
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


def member(archive: ZipFile, name: str) -> bytes:
    """Return a member's content. Raises UnreadableFile if it is larger than MOST_XML bytes, KeyError if there is
    none.
    """
    if archive.getinfo(name).file_size > MOST_XML:
        raise UnreadableFile(f"more than {MOST_XML >> 20} MB of text and markup")
    return archive.read(name)


def check_total(archive: ZipFile, names: Iterable[str]) -> None:
    """Raise UnreadableFile if the members of an archive together have more text and markup than memory may hold."""
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    if sum(sizes.get(name, 0) for name in names) > _MOST_TEXT:
        raise UnreadableFile(f"more than {_MOST_TEXT >> 20} MB of text and markup")


def tree(archive: ZipFile, name: str) -> Element:
    """Return a member's XML. Raises UnreadableFile if it is too large, KeyError if missing, ValueError for entities."""
    from defusedxml.ElementTree import fromstring

    root: Element = fromstring(member(archive, name))
    return root


def core_properties(archive: ZipFile) -> tuple[str, str, datetime | None]:
    """Return the title, the author and the time of the last change of an Office file; "" or None for missing ones."""
    if _PROPERTIES not in archive.namelist():
        return "", "", None
    root = tree(archive, _PROPERTIES)
    title, author, changed = (root.findtext(name, "", _NAMESPACES).strip() for name in _FACTS)
    return title, known_author(author), parse_date(changed)


def known_author(name: str) -> str:
    """Return the author's name; "" if a program wrote its own name."""
    return "" if name in _LIBRARIES else name


@dataclass(slots=True)
class _Metered:
    """A stream for an XML parser that raises UnreadableFile after MOST_XML bytes without a finished element, to bound
    memory.
    """

    stream: IO[bytes]
    read_since: int = 0

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size)
        self.read_since += len(data)
        if self.read_since > MOST_XML:
            raise UnreadableFile(f"more than {MOST_XML >> 20} MB of text and markup in a row")
        return data


def flow(archive: ZipFile, name: str, of: str, most: int) -> Iterator[tuple[Sequence[Element], Element]]:
    """Yield each XML element with the local name `of` when it ends, with the elements that contain it, outermost first.

    A member of any size is read in bounded memory, because elements are emptied after use. Raises UnreadableFile if an
    element, or the part between two, has more than `most` elements; KeyError, ParseError.
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
