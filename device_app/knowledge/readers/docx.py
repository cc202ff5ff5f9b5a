"""Reads Word files, by conversion to HTML."""

import io
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import mammoth

from device_app.knowledge.readers.archives import MOST_XML, core_properties, open_archive, refused_if_broken
from device_app.knowledge.readers.dates import date_in
from device_app.knowledge.readers.html import Page, parse_html
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.sections import sections
from shared.errors import UnreadableFile
from shared.types import Document

_MARKUP = {".xml", ".rels"}


def read_docx(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield one document or, for a long text, one per section. Raises UnreadableFile."""
    (title, author, changed), page = _page(read_whole(path, max_bytes))
    shown = title or page.title or path.stem
    people = (author,) if author else ()
    whole = Document("", "paper", shown, (), date_in(path.stem) or changed, people)
    yield from sections(whole, zip(page.levels, (line.removeprefix("> ") for line in page.lines), strict=True))


def _page(data: bytes) -> tuple[tuple[str, str, datetime | None], Page]:
    with refused_if_broken("Word file"), open_archive(data) as archive:
        text = _text_alone(archive)
        html = mammoth.convert_to_html(text, convert_image=mammoth.images.img_element(lambda _: {})).value
        return core_properties(archive), parse_html(html)


def _text_alone(archive: ZipFile) -> io.BytesIO:
    """Return the archive with its text and markup alone, since mammoth would unpack any file that the markup names."""
    members = [part for part in archive.infolist() if PurePosixPath(part.filename).suffix.lower() in _MARKUP]
    if sum(part.file_size for part in members) > MOST_XML:
        raise UnreadableFile(f"more than {MOST_XML >> 20} MB of text and markup")
    text = io.BytesIO()
    with ZipFile(text, "w") as copy:
        for part in members:
            copy.writestr(part.filename, archive.read(part))
    return text
