"""Reads the text of a PDF's pages."""

import io
import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain, repeat
from pathlib import Path

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

from device_app.knowledge.readers.dates import date_in, sane
from device_app.knowledge.readers.decoding import lines_of
from device_app.knowledge.readers.omitted import Omitted
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.paragraphs import joined_blocks
from device_app.knowledge.readers.pdf_options import PdfOptions
from shared.errors import PasswordNeeded, UnreadableFile
from shared.printable import counted
from shared.types import Block, Document

# The errors of pypdf, besides its own, for files broken in ways it does not expect.
_BROKEN = (
    *(PyPdfError, ValueError, TypeError, LookupError, AttributeError, AssertionError, ArithmeticError),
    *(EOFError, OSError, NotImplementedError, RecursionError, UnboundLocalError),
)


SCAN = "no text in the PDF, perhaps a scan"
"""The reason why a PDF without text cannot be read."""


def read_pdf(
    path: Path,
    max_bytes: int,
    options: PdfOptions = PdfOptions(),  # noqa: B008 (frozen)
) -> Iterator[Document | Omitted]:
    """Yield one document with page numbers, and report the number of pages without text.

    Raises UnreadableFile for a broken or encrypted PDF (PasswordNeeded if no password fits), or one without text.
    """
    reader, pages = _opened(read_whole(path, max_bytes), options.passwords)
    recognised = chain(options.page_texts, repeat(""))
    by_page = [tuple(_blocks(reader, number, text)) for number, text in zip(range(pages), recognised, strict=False)]
    blocks = tuple(chain.from_iterable(by_page))
    if not blocks:
        raise UnreadableFile(SCAN)
    if silent := by_page.count(()):
        yield Omitted(f"{silent:,} of {counted(pages, 'page')}, on which no text was found, perhaps scans")
    title, author, created = _facts(reader)
    yield Document("", "paper", title or path.stem, blocks, date_in(path.stem) or created, (author,) if author else ())


def count_pages(path: Path, max_bytes: int) -> int:
    """Return the number of a PDF's pages. Raises UnreadableFile."""
    return _opened(read_whole(path, max_bytes), ())[1]


def _opened(data: bytes, passwords: Sequence[str]) -> tuple[PdfReader, int]:
    """Return a PDF reader, and the number of pages. Raises UnreadableFile."""
    # pypdf logs every flaw that it repairs.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not any(reader.decrypt(password) for password in ("", *passwords)):
            raise PasswordNeeded("encrypted PDF")
        return reader, len(reader.pages)
    except DependencyError as error:
        # AES needs a compiled library.
        raise UnreadableFile("encrypted PDF, which needs: pip install 'jackdaw[pdf]'") from error
    except _BROKEN as error:
        raise UnreadableFile("broken PDF") from error


def _facts(reader: PdfReader) -> tuple[str, str, datetime | None]:
    """Return the title, the author and the time of creation; "" or None for missing ones."""
    try:
        facts = reader.metadata
        if facts is None:
            return "", "", None
        return (facts.title or "").strip(), (facts.author or "").strip(), sane(facts.creation_date)
    except _BROKEN:
        return "", "", None


def _blocks(reader: PdfReader, number: int, recognised: str) -> Iterator[Block]:
    """Yield the blocks of the page with this index; for a page without text, or a broken one, those of its `recognised`
    text.
    """
    try:
        lines = lines_of(reader.pages[number].extract_text())
    except _BROKEN:
        lines = []
    if not any(map(str.strip, lines)):
        lines = lines_of(recognised)
    yield from joined_blocks(lines, page=number + 1)
