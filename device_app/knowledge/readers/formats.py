"""Chooses the reader for a file, and cleans the documents of all readers."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

from device_app.knowledge.readers.maildir import in_maildir
from device_app.knowledge.readers.omitted import Omitted
from device_app.knowledge.readers.opening import MAX_BYTES, open_regular
from device_app.knowledge.readers.pdf_options import PdfOptions
from shared.errors import UnreadableFile
from shared.printable import printable
from shared.types import Document

VERSION = 7
"""The version of the readers' output; when it increases, all files are read again."""

Reader = Callable[..., Iterator[Document | Omitted]]
"""Reads a file, given its path and the most bytes that it may have; a PDF's reader also takes `options`."""

READERS = {
    ".txt": ("txt", "read_txt"),
    ".text": ("txt", "read_txt"),
    ".md": ("markdown", "read_markdown"),
    ".markdown": ("markdown", "read_markdown"),
    ".org": ("org", "read_org"),
    ".html": ("html", "read_html"),
    ".htm": ("html", "read_html"),
    ".xhtml": ("html", "read_html"),
    ".pdf": ("pdf", "read_pdf"),
    ".docx": ("docx", "read_docx"),
    ".odt": ("opendocument", "read_odt"),
    ".rtf": ("rtf", "read_rtf"),
    ".epub": ("epub", "read_epub"),
    ".pptx": ("slides", "read_pptx"),
    ".odp": ("opendocument", "read_odp"),
    ".xlsx": ("xlsx", "read_xlsx"),
    ".xlsm": ("xlsx", "read_xlsx"),
    ".ods": ("ods", "read_ods"),
    ".eml": ("mail", "read_eml"),
    ".mbox": ("mailboxes", "read_mbox"),
    ".mbx": ("mailboxes", "read_mbox"),
    ".csv": ("tables", "read_csv"),
    ".tsv": ("tables", "read_csv"),
    ".json": ("records", "read_json"),
    ".jsonl": ("records", "read_jsonl"),
    ".ndjson": ("records", "read_jsonl"),
    ".ics": ("calendars", "read_ics"),
    ".vcf": ("contacts", "read_vcf"),
    ".vcard": ("contacts", "read_vcf"),
}
"""The reader of each suffix, as its module and function.

Only needed readers are imported, as their libraries take half a second. A new suffix is also named in
device_app/README.md and the help of `jackdaw add`, and has examples in test_formats.py and test_hostile_files.py.
"""
_NAMED_BY_TITLE = {"mail", "event", "task"}
"""Kinds of documents that are stored even if they have only a title; an empty note is dropped."""
_LONGEST_TITLE, _LONGEST_KEY = 300, 250


def readable(path: Path) -> bool:
    """Return whether a reader exists for this file name or, for a file without a suffix, for its first bytes."""
    return _named(path) is not None


def read(
    path: Path,
    *,
    max_bytes: int = MAX_BYTES,
    pdf: PdfOptions | None = None,
    on_omitted: Callable[[str], object] = lambda _: None,
) -> Iterator[Document]:
    """Yield the documents of a file; mailboxes, tables and logs are streamed, whatever their size.

    `pdf` is used for PDFs only. `on_omitted` is called with a description, including a count, of each part left out.
    Raises UnreadableFile with the reason, at any point of the iteration; PasswordNeeded if no password fits.
    """
    named = _named(path)
    if named is None:
        raise UnreadableFile("unknown type")
    module, function = named
    reader: Reader = getattr(import_module(f"{__package__}.{module}"), function)
    if pdf and named == READERS[".pdf"]:
        reader = partial(reader, options=pdf)
    empty = True
    try:
        for document in reader(path, max_bytes):
            if isinstance(document, Omitted):
                on_omitted(document.what)
            elif clean := cleaned(document):
                empty = False
                yield clean
    except OSError as error:
        raise UnreadableFile((error.strerror or "cannot be read").lower()) from error
    if empty:
        raise UnreadableFile("no text in it")


def _named(path: Path) -> tuple[str, str] | None:
    if in_maildir(path):
        return READERS[".eml"]
    if not path.suffix and (_has_index(path) or _begins_like_a_mailbox(path)):
        return READERS[".mbox"]
    return READERS.get(path.suffix.lower())


def _has_index(path: Path) -> bool:
    """Return whether Thunderbird keeps an index beside the file, which is then a mailbox, perhaps an empty one."""
    # Path.is_file raises an error without permission.
    return os.path.isfile(path.with_name(f"{path.name}.msf"))  # noqa: PTH113


def _begins_like_a_mailbox(path: Path) -> bool:
    try:
        with open_regular(path) as stream:
            return stream.read(5) == b"From "
    except (OSError, UnreadableFile):
        return False


def cleaned(document: Document) -> Document | None:
    """Return the document without control characters; None if it has no text left."""
    blocks = tuple(replace(block, text=text) for block in document.blocks if (text := printable(block.text)).strip())
    title = _one_line(document.title)[:_LONGEST_TITLE]
    if not blocks and (not title or document.kind not in _NAMED_BY_TITLE):
        return None
    people = tuple(name for person in document.people if (name := _one_line(person)))
    key = printable(document.key)
    if len(key) > _LONGEST_KEY:
        key = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
    return Document(key, document.kind, title, blocks, document.date, people, document.event)


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())
