"""Reads one mail from its bytes: people, date, subject, the sender's own words and
telephone numbers. Used for eml, mbox and Maildir."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email import message_from_bytes
from email.errors import HeaderParseError, MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.policy import Compat32
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import Path

from device_app.english.contacts import own_number
from device_app.knowledge.readers.dates import parse_date, sane
from device_app.knowledge.readers.decoding import decode, lines_of
from device_app.knowledge.readers.html import parse_html
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.paragraphs import joined_blocks
from device_app.knowledge.readers.quotes import own_words, signature
from shared.errors import UnreadableFile
from shared.types import Block, Document

# The errors of the email package's parts on broken headers.
_BROKEN = (LookupError, ValueError, TypeError, AttributeError, AssertionError, RecursionError, MessageError)
_FIELD = re.compile(rb"[!-9;-~]{1,76}:")
_LONGEST_HEADER = 1 << 15
_MOST_PARTS = 1000
_ID = re.compile(r"<([^<>\s]{3,250})>")


class _Bounded(Compat32):
    """Limits the length of headers, as parsing their parameters takes quadratic time."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_LONGEST_HEADER]


_BOUNDED = _Bounded()


def read_eml(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the mail in a file. Raises UnreadableFile, also if the file is no mail."""
    data = read_whole(path, max_bytes)
    if not any(_FIELD.match(line) for line in data[:_LONGEST_HEADER].splitlines()[:3]):
        raise UnreadableFile("not an email")
    yield mail_document(data)


def mail_document(data: bytes) -> Document:
    """Return the mail as a document. Its key is its Message-ID, else a hash of the mail. Never fails."""
    try:
        message = message_from_bytes(data, policy=_BOUNDED)
    except RecursionError:  # parts within parts within parts
        message = BytesHeaderParser(policy=_BOUNDED).parsebytes(data)
    headers = _headers(message)
    blocks, attachments = _body(message)
    if attachments:
        blocks.append(Block("Attachments: " + ", ".join(attachments)))
    identity = _ID.search(headers.get("message-id", ""))
    return Document(
        key=identity[1] if identity else hashlib.blake2b(data, digest_size=16).hexdigest(),
        kind="mail",
        title=_decoded(headers.get("subject", "")) or "(no subject)",
        blocks=tuple(blocks),
        date=_date(headers.get("date", "")),
        people=people_of(headers.get(name, "") for name in ("from", "to", "cc")),
    )


def people_of(headers: Iterable[str]) -> tuple[str, ...]:
    """Return every person in the given headers, as `name <address>`, once each, in order."""
    people: dict[str, None] = {}
    for header in headers:
        try:
            addresses = getaddresses([_utf8(header)])
        except _BROKEN:
            continue
        for name, address in addresses:
            shown = _decoded(name)
            if shown or address:
                people[f"{shown} <{address}>" if shown and address and shown != address else shown or address] = None
    return tuple(people)


def _headers(message: Message) -> dict[str, str]:
    """Return the first raw value of each header by lower-case name, with bytes beyond ASCII as surrogates."""
    headers: dict[str, str] = {}
    for name, value in message.raw_items():
        headers.setdefault(name.lower(), str(value))
    return headers


def _decoded(value: str) -> str:
    """Return the decoded text of a header on one line."""
    text = _utf8(value)
    if "=?" in text:
        try:
            pieces = decode_header(text)
        except (HeaderParseError, ValueError):
            pieces = []
        text = "".join(p if isinstance(p, str) else decode(p, charset) for p, charset in pieces) or text
    return " ".join(text.split())


def _utf8(value: str) -> str:
    return value if value.isascii() else decode(value.encode("utf-8", "surrogateescape"))


def _date(header: str) -> datetime | None:
    try:
        date = sane(parsedate_to_datetime(header))
    except (*_BROKEN, OverflowError):
        date = parse_date(header)
    return date.replace(tzinfo=UTC) if date and date.tzinfo is None else date


def _body(message: Message) -> tuple[list[Block], list[str]]:
    """Return the blocks of a mail's text, and the names of its attachments.

    The text is the mail's plain text if it has any, else its HTML part.
    """
    plain: list[str] = []
    html: list[str] = []
    attachments: list[str] = []
    for part in _parts(message):
        name = _file_name(part)
        kind = part.get_content_type()
        if name is not None or kind not in ("text/plain", "text/html"):
            if name:
                attachments.append(name)
            continue
        (plain if kind == "text/plain" else html).append(_text(part))
    if any(text.strip() for text in plain):
        lines = [line for text in plain for line in lines_of(text)]
        return [*joined_blocks(own_words(lines)), *_numbers(lines)], attachments
    shown = [line for text in html for line in parse_html(text).lines]
    return [*(Block(line) for line in own_words(shown) if line.strip()), *_numbers(shown)], attachments


def _numbers(lines: list[str]) -> Iterator[Block]:
    """Yield the lines of the sender's signature that have a telephone number, without its other lines."""
    yield from (Block(line) for line in signature(lines) if own_number(line))


def _parts(message: Message) -> Iterator[Message]:
    """Yield a mail's leaf parts in order; an attached mail is one part."""
    waiting = [message]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        if part.is_multipart() and part.get_content_maintype() != "message":
            waiting.extend(_inner(part)[::-1])
        else:
            yield part


def _inner(part: Message) -> list[Message]:
    inner = part.get_payload() if part.is_multipart() else []
    return [piece for piece in inner if isinstance(piece, Message)] if isinstance(inner, list) else []


def _file_name(part: Message) -> str | None:
    """Return the file name of an attachment, "" if it has none; None for a part that mail programs display."""
    if part.get_content_maintype() == "message":
        return next((_decoded(_headers(mail).get("subject", "")) for mail in _inner(part)), "")
    try:
        name = part.get_filename()
        attached = part.get_content_disposition() == "attachment"
    except _BROKEN:
        return None
    return _decoded(name) if name else "" if attached else None


def _text(part: Message) -> str:
    try:
        charset = part.get_content_charset()
    except _BROKEN:
        charset = None
    try:
        payload = part.get_payload(decode=True)
    except _BROKEN:
        payload = None
    return decode(payload, charset) if isinstance(payload, bytes) else ""
