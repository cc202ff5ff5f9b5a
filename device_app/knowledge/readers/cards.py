"""Splits a vCard file (versions 2.1, 3 and 4) into the properties of its cards, as a stream, one card at a time.

It reads line by line, without a library: so a broken line costs no other, and pictures, most of such a file, take no
memory.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, Final

from device_app.knowledge.readers.decoding import decode

_LONGEST_LINE, _LONGEST_VALUE, _MOST_PROPERTIES = 1 << 16, 1 << 14, 500
"""The most bytes of a line, of a property with its folded lines, and the most properties of a card."""

_PROPERTY: Final = re.compile(rb"(?:(?P<group>[\w-]{1,60})\.)?(?P<name>[A-Za-z][\w-]{0,60})(?=[;:])")
_PARAMETER: Final = re.compile(r';((?:"[^"]*"|[^;:"])*)')
_BEFORE_VALUE: Final = re.compile(rb'(?:"[^"]*"|[^":])*(?=:)')
_ESCAPED: Final = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a card: its name in capitals, its group ("" for none), its types, and its value as written.

    `types` are in lower case: "cell", "home", "pref".
    """

    name: str
    value: str
    types: tuple[str, ...] = ()
    group: str = ""

    @property
    def text(self) -> str:
        """The value on one line, without escapes."""
        return " ".join(_unescaped(self.value).split())

    @property
    def parts(self) -> list[str]:
        """The parts of a value such as a name or an address, without escapes; some may be empty."""
        return [" ".join(_unescaped(part).split()) for part in re.split(r"(?<!\\);", self.value)]


@dataclass(slots=True)
class _Card:
    """A card that is being read: the lines of its properties, each with its folded lines joined."""

    lines: list[bytearray] = field(default_factory=list)
    is_open: bool = False
    """Whether the next folded line belongs to the last property, which is one of those that are read."""


def cards(stream: BinaryIO, names: frozenset[str]) -> Iterator[list[Property]]:
    """Yield the properties with these names of each card, in order.

    A card without an end ends with the next one, or with the file.
    """
    card: _Card | None = None
    is_whole = True
    for chunk in iter(partial(stream.readline, _LONGEST_LINE), b""):
        begins, is_whole = is_whole, chunk.endswith(b"\n")
        line = chunk.rstrip(b"\r\n").replace(b"\0", b"")
        border = line.strip().upper() if begins and len(line) < len(b" BEGIN:VCARD ") + 8 else b""
        if border.endswith((b"BEGIN:VCARD", b"END:VCARD")):
            if card and card.lines:
                yield [each for each in map(_property, card.lines) if each]
            card = _Card() if border.endswith(b"BEGIN:VCARD") else None
        elif card is not None:
            _add(card, line, names, is_new=begins)
    if card and card.lines:
        yield [each for each in map(_property, card.lines) if each]


def _add(card: _Card, line: bytes, names: frozenset[str], *, is_new: bool) -> None:
    """Add a line to a card: a new property, or more of the last one."""
    last = card.lines[-1] if card.lines else bytearray()
    is_soft = card.is_open and last.endswith(b"=") and b"QUOTED-PRINTABLE" in last.partition(b":")[0].upper()
    if not is_new or is_soft or line.startswith((b" ", b"\t")):
        if card.is_open and len(last) < _LONGEST_VALUE:
            more = line if is_soft or not is_new else line[1:]
            last[:] = (last[:-1] if is_soft else last) + more[: _LONGEST_VALUE - len(last)]
        return
    match = _PROPERTY.match(line)
    name = match["name"].decode().upper() if match else ""
    card.is_open = name in names and len(card.lines) < _MOST_PROPERTIES
    if card.is_open:
        card.lines.append(bytearray(line[:_LONGEST_VALUE]))


def _property(line: bytearray) -> Property | None:
    """Return the property of a whole line; None if it has no value, or no colon before one."""
    data = bytes(line)
    match, end = _PROPERTY.match(data), _colon(data)
    if match is None or end < 0:
        return None
    parameters = [each.strip() for each in _PARAMETER.findall(decode(data[match.end() : end]))]
    named = {
        key.upper(): value.strip('"') for key, joint, value in (each.partition("=") for each in parameters) if joint
    }
    bare = [each for each in parameters if "=" not in each]
    is_quoted = "QUOTED-PRINTABLE" in {each.upper() for each in (named.get("ENCODING", ""), *bare)}
    value = quopri.decodestring(data[end + 1 :]) if is_quoted else data[end + 1 :]
    text = decode(value, named.get("CHARSET"))
    said = [each.partition("=")[2].strip('"') for each in parameters if each.upper().startswith("TYPE=")]
    types = [part for each in (*said, *bare) for part in each.lower().split(",")]
    group = (match["group"] or b"").decode()
    return Property(match["name"].decode().upper(), text, tuple(filter(None, types)), group) if text.strip() else None


def _colon(data: bytes) -> int:
    """Return the place of the colon behind a property's parameters, not of one in quotation marks; -1 without one."""
    match = _BEFORE_VALUE.match(data)
    return match.end() if match else data.find(b":")


def _unescaped(value: str) -> str:
    return _ESCAPED.sub(lambda match: " " if match[1] in "nN" else match[1], value)
