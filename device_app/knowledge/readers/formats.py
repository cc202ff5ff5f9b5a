"""Which reader reads which file."""

from collections.abc import Callable, Iterator
from pathlib import Path

from device_app.knowledge.readers.calendars import read_ics
from device_app.knowledge.readers.docx import read_docx
from device_app.knowledge.readers.html import read_html
from device_app.knowledge.readers.mail import read_eml
from device_app.knowledge.readers.mailboxes import in_maildir, read_mbox
from device_app.knowledge.readers.markdown import read_markdown
from device_app.knowledge.readers.opening import MAX_BYTES
from device_app.knowledge.readers.org import read_org
from device_app.knowledge.readers.pdf import read_pdf
from device_app.knowledge.readers.records import read_json, read_jsonl
from device_app.knowledge.readers.tables import read_csv
from device_app.knowledge.readers.txt import read_txt
from shared.errors import UnreadableFile
from shared.text import printable
from shared.types import Block, Document

VERSION = 1
"""Raised when a reader makes something else of the same bytes: files are then read again."""

Reader = Callable[[Path, int], Iterator[Document]]

_READERS: dict[str, Reader] = {
    ".txt": read_txt,
    ".text": read_txt,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".org": read_org,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".eml": read_eml,
    ".mbox": read_mbox,
    ".mbx": read_mbox,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".json": read_json,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".ics": read_ics,
}


def is_known(path: Path) -> bool:
    """Whether there is a reader for a file of this name."""
    return path.suffix.lower() in _READERS or in_maildir(path)


def read(path: Path, *, max_bytes: int = MAX_BYTES) -> Iterator[Document]:
    """The documents of a file; mailboxes and logs one by one, whatever their size.

    Raises UnreadableFile with the reason, at any point of the iteration, and OSError.
    """
    reader = read_eml if in_maildir(path) else _READERS.get(path.suffix.lower())
    if reader is None:
        raise UnreadableFile("unknown type")
    empty = True
    for document in reader(path, max_bytes):
        if cleaned := _cleaned(document):
            empty = False
            yield cleaned
    if empty:
        raise UnreadableFile("no text in it")


def _cleaned(document: Document) -> Document | None:
    """The document without what could drive a terminal; None if nothing is left of it."""
    blocks = tuple(
        Block(text, block.line, block.page) for block in document.blocks if (text := printable(block.text)).strip()
    )
    title = " ".join(printable(document.title).split())
    if not blocks and (not title or document.kind == "note"):
        return None
    people = tuple(name for person in document.people if (name := " ".join(printable(person).split())))
    return Document(printable(document.key), document.kind, title, blocks, document.date, people)
