"""Decodes bytes to text: by byte order mark, UTF-8, the declared charset, and a guess, in that order of trust."""

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, TextIO

from charset_normalizer import from_bytes

from device_app.knowledge.readers.opening import open_regular
from shared.errors import UnreadableFile

_SAMPLE = 1 << 16
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Among all its encodings, the guesser picks rare relatives of these for short texts.
_COMMON = [
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
]
# Mail and web programs declare the left charset and send the right one.
_WIDER = {"iso8859_1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949"}
_NO_CHARSETS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}
_CONTROL = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_DIRECTION = re.compile(r"[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_ODD_BREAK = re.compile(r"[\f\v\x1c-\x1e\x85\u2028\u2029]")


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode `data`, even if its `declared` charset is wrong. Never fails.

    Valid UTF-8 with characters beyond ASCII is decoded as UTF-8, even if a single-byte charset is declared.
    """
    charset = _charset(declared)
    marked = _marked(data)
    for encoding in [marked] if marked else [charset, "utf-8"] if data.isascii() else ["utf-8", charset]:
        if encoding:
            try:
                return data.decode(encoding)
            except (LookupError, ValueError):  # LookupError: a codec that is no charset
                continue
    return data.decode(marked or _guess(data[:_SAMPLE]), "replace")


def decode_file(data: bytes, declared: str | None = None) -> str:
    """Decode a file's content as `decode` does. Raises UnreadableFile for binary content."""
    text = decode(data, declared)
    _refuse_binary(text[:_SAMPLE])
    return text


def lines_of(text: str) -> list[str]:
    """Return the lines as a text editor counts them, without line ends: a form feed begins no new line."""
    return _ODD_BREAK.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")


def without_directions(line: str) -> str:
    """Return the line without the invisible marks of writing direction."""
    return _DIRECTION.sub("", line)


def open_text(path: Path) -> TextIO:
    """Open a file as a stream of text with line ends as `\\n`. Raises UnreadableFile for binary content."""
    stream = open_regular(path)
    try:
        encoding = _encoding(iter(partial(stream.read, _SAMPLE), b""))
        stream.seek(0)
        _refuse_binary(stream.read(_SAMPLE).decode(encoding, "replace"))
        stream.seek(0)
    except BaseException:
        stream.close()
        raise
    return io.TextIOWrapper(stream, encoding, errors="replace")


def limited_lines(stream: TextIO, longest: int) -> Iterator[str]:
    """Yield the lines with their ends; a line longer than `longest` characters is split, so that memory is bounded."""
    return iter(partial(stream.readline, longest), "")


def head(stream: BinaryIO, size: int) -> bytes:
    """Return the first bytes of a seekable stream, and rewind it to its start."""
    data = stream.read(size)
    stream.seek(0)
    return data


def _marked(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)


def _charset(declared: str | None) -> str | None:
    if not declared:
        return None
    try:
        name = codecs.lookup(declared.strip().strip("\"'")).name.replace("-", "_")
    except (LookupError, ValueError):
        return None
    return None if name in _NO_CHARSETS else _WIDER.get(name, name)


def _encoding(chunks: Iterable[bytes]) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    marked: str | None = None
    for number, chunk in enumerate(chunks):
        if number == 0 and (marked := _marked(chunk)):
            return marked
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError:
            return _guess(chunk)
    return "utf-8"


def _guess(sample: bytes) -> str:
    text = sample.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    if len(text) - sum(map(str.isascii, text)) > 4 * wrong:
        return "utf-8"  # with a few bytes damaged
    whole_lines = sample.split(b"\n")[1:-1] or [sample]
    foreign = b"\n".join(line for line in whole_lines if not line.isascii())
    matches = from_bytes(foreign or sample, cp_isolation=_COMMON)
    best = matches.best()
    if best is None or best.encoding not in _COMMON:
        return "cp1252"
    # Western letters are as plausible in the Central European code page, but the Western one is far more common.
    if best.encoding == "cp1250" and any(
        match.encoding == "cp1252" and match.chaos <= best.chaos and match.coherence > best.coherence - 0.1
        for match in matches
    ):
        return "cp1252"
    return best.encoding


def _refuse_binary(text: str) -> None:
    odd = sum(1 for _ in _CONTROL.finditer(text))
    if odd > 3 and odd > len(text) / 50:
        raise UnreadableFile("binary content")
