"""Finds telephone numbers and addresses in lines of text, and the part of a line that belongs to one person. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from shared.text import sentences

PHONE: Final = re.compile(
    r"(?<![\w.,/-])\+?\(?(?!\d{1,2}[/-]\d{1,2}[/-](?:\d\d|\d{4})(?![\d/-])|(?:19|20)\d\d[/-](?:19|20)\d\d\b)"
    r"\d(?!\d{3}-\d\d-\d\d)[\d ()/-]{4,}\d(?![\w])"
)
"""Matches a telephone number, and neither a date nor a pair of years."""

MAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+\w")

_LABEL: Final = (
    r"(?:tel(?:efon)?|(?:tele|mobile |cell |work |home |office )?phone|mobile?|mob|cell|direct|office|home|work|handy|"
    r"m|t|p)(?: ?(?:no|nr|number))?"
)
_OWN_NUMBER: Final = re.compile(
    rf"\W*?(?:{_LABEL}\b[\s.:()]*)?(?P<number>{PHONE.pattern})(?:\s*\((?:{_LABEL}|private|direct line)\))?\W*",
    re.IGNORECASE,
)
_PARTS: Final = re.compile(r"\s*[|·•;,]\s*|\s+[/-]\s+")
_LONGEST_OWN: Final = 120
_NO_NUMBER: Final = re.compile(r"\bfax\b|@", re.IGNORECASE)

_NEXT: Final = re.compile(r"(?:\s*\([^()]*\))?[\s,;.|*•-]*(?=\b[A-Z])")
"""Matches what stands between a number and the name behind it: a remark in brackets, and separators."""


def contacts(line: str) -> list[re.Match[str]]:
    """Return the telephone numbers and the addresses of a line, in order."""
    return sorted((match for kind in (PHONE, MAIL) for match in kind.finditer(line)), key=lambda match: match.start())


def own_number(line: str) -> str:
    """Return the telephone number of a line that names nobody, as signatures have: "Tel: 555 0126".

    Of several numbers ("Tel … | Fax …"), the first is returned that is no fax by its label; "" if there is none.
    """
    parts = _PARTS.split(line.strip()) if len(line) <= _LONGEST_OWN else []
    numbers = [match["number"] for part in parts if (match := _OWN_NUMBER.fullmatch(part))]
    is_alone = all(_OWN_NUMBER.fullmatch(part) or not contacts(part) or _NO_NUMBER.search(part) for part in parts)
    return numbers[0] if numbers and is_alone else ""


def entry(line: str, name: re.Pattern[str], most: int) -> str:
    """Return the whole line, or its parts about the person if it lists several people, at most `most` characters.

    Readers join wrapped lines, so that one line may hold the numbers of several people: a part ends where a name
    follows a number, or, if the line begins with a number, before each number. Of a text that is too long, the
    sentences with the name and with a number are kept.
    """
    parts = [part.strip(" ,;|") for part in _parts(line)]
    part = " … ".join(part for part in parts if name.search(part) and contacts(part)) or line
    if len(part) > most:
        kept = [each for each in sentences(part) if name.search(each) or contacts(each)]
        part = " … ".join(each.strip() for each in kept)
    return part if len(part) <= most else _around(part, name, most)


def _parts(line: str) -> Sequence[str]:
    matches = contacts(line)
    if len(matches) <= 1:
        return [line]
    if matches[0].start() == 0:
        starts = [match.start() for match in matches if PHONE.fullmatch(match[0])]
    else:
        starts = [behind.end() for match in matches if (behind := _NEXT.match(line, match.end())) and behind[0]]
    return [line[start:end] for start, end in pairwise([0, *starts, len(line)])]


def _around(text: str, name: re.Pattern[str], most: int) -> str:
    """Return `most` characters of a text, with the number behind the name, or else the first, at their end."""
    matches, match = contacts(text), name.search(text)
    start = match.end() if match else 0
    last = next((each.end() for each in matches if each.start() >= start), matches[0].end() if matches else 0)
    last = min(max(last, most), len(text))
    return text[last - most : last]
