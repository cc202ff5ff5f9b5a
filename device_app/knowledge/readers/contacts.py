"""Reads contacts from vCard files, as phones and address books export them: each card becomes a document."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from device_app.english import naming
from device_app.knowledge.readers.cards import Property, cards
from device_app.knowledge.readers.decoding import head
from device_app.knowledge.readers.opening import open_regular
from shared.errors import UnreadableFile
from shared.types import Block, Document

_BEGINNING: Final = 4096
_READ: Final = frozenset(
    ["FN", "N", "NICKNAME", "ORG", "TITLE", "ROLE", "TEL", "EMAIL", "ADR", "BDAY", "ANNIVERSARY", "NOTE", "URL", "UID",
     "KIND", "CATEGORIES", "X-ABLABEL"]
)  # fmt: skip
_TYPES: Final = {
    "fax": "fax", "pager": "pager", "cell": "mobile", "mobile": "mobile", "iphone": "mobile",
    "home": "home", "work": "work",
}  # fmt: skip
"""The types of numbers and addresses that are said, each with its word, the most telling first."""

_LABEL: Final = re.compile(r"_\$!<(.*)>!\$_")
_DAY: Final = re.compile(r"(?P<year>\d{4}|--)-?(?P<month>\d\d)-?(?P<day>\d\d)(?:[T ].*)?")
_NO_YEAR: Final = 1604
"""The year that some programs write for a birthday without a year."""


def read_vcf(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a document for each contact, read as a stream, whatever the file's size. Raises UnreadableFile."""
    with open_regular(path) as stream:
        if b"BEGIN:VCARD" not in head(stream, min(_BEGINNING, max_bytes)).upper():
            raise UnreadableFile("not a file of contacts")
        for properties in cards(stream, _READ):
            if document := _contact(properties):
                yield document


def _contact(properties: Sequence[Property]) -> Document | None:
    """Return a contact with its facts in words; None for a group, and for a card that names nobody."""
    name = _name(properties)
    if not name or any(each.name == "KIND" and each.text.lower() == "group" for each in properties):
        return None
    labels = {each.group: _LABEL.sub(r"\1", each.text).lower() for each in properties if each.name == "X-ABLABEL"}
    lines = [_introduced(name, properties)]
    people: dict[str, None] = {}
    for each in properties:
        kinds = {_TYPES[of] for of in each.types if of in _TYPES}
        kind = next((of for of in _TYPES.values() if of in kinds), labels.get(each.group, ""))
        if each.name == "TEL":
            number = each.text.removeprefix("tel:").partition(";")[0]
            lines.append(f"The {_typed(kind, 'number')} of {name} is {number}.")
            if kind not in ("fax", "pager") and naming.number_key(number):
                people[f"{name} <{number}>"] = None
        elif each.name == "EMAIL":
            address = each.text.removeprefix("mailto:")
            lines.append(f"The {_typed(kind, 'e-mail address')} of {name} is {address}.")
            if naming.address_key(address):
                people[f"{name} <{address}>"] = None
        elif each.name == "ADR" and (address := ", ".join(filter(None, each.parts))):
            lines.append(f"The {_typed(kind, 'address')} of {name} is {address}.")
        elif each.name in ("BDAY", "ANNIVERSARY") and (day := _day(each.text)):
            lines.append(f"{name}'s {'birthday' if each.name == 'BDAY' else 'anniversary'} is on {day}.")
        elif each.name == "URL":
            lines.append(f"The web page of {name} is {each.text}.")
        elif each.name == "NOTE":
            lines.append(f"Note: {each.text}")
    key = next((each.text for each in properties if each.name == "UID"), name)
    blocks = tuple(Block(line) for line in dict.fromkeys(lines))
    return Document(key, "contact", name, blocks, people=tuple(people) or (name,))


def _name(properties: Sequence[Property]) -> str:
    """Return the name of a card: as it is shown, else made of its parts, else the company's or the nickname."""
    for wanted_name in ("FN", "N", "NICKNAME", "ORG"):
        for each in properties:
            parts = [*each.parts, *[""] * 5][:5]
            order = (parts[3], parts[1], parts[2], parts[0], parts[4]) if wanted_name == "N" else (each.text,)
            name = " ".join(filter(None, order)) if each.name == wanted_name else ""
            if name := " ".join(re.sub("[<>]", " ", name).split()).strip("; "):
                return name
    return ""


def _introduced(name: str, properties: Sequence[Property]) -> str:
    """Return the line that says who somebody is: "Anna Berg (Anni), engineer, Berg Ltd"."""
    said = {each.name: each for each in reversed(properties)}
    short = said["NICKNAME"].text if "NICKNAME" in said else ""
    company = ", ".join(filter(None, said["ORG"].parts)) if "ORG" in said else ""
    work = [said[each].text for each in ("TITLE", "ROLE") if each in said]
    called = f"{name} ({short})" if short and short != name else name
    groups = said["CATEGORIES"].text.replace(",", ", ") if "CATEGORIES" in said else ""
    parts = dict.fromkeys(part for part in (called, *work, company, " ".join(groups.split())) if part)
    return ", ".join(part for part in parts if part != name or part == called)


def _typed(kind: str, noun: str) -> str:
    return f"{kind} {noun}" if kind else noun


def _day(value: str) -> str:
    """Return a day in words, "3 May 1987", without a year where none is given; the value if it is none."""
    match = _DAY.fullmatch(value)
    if match is None or not 1 <= int(match["month"]) <= 12:
        return value if len(value) < 40 else ""
    day = f"{int(match['day'])} {calendar.month_name[int(match['month'])]}"
    return day if match["year"] in ("--", str(_NO_YEAR)) else f"{day} {match['year']}"
