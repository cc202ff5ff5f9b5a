"""Parses comparisons with numbers: "over 50 euros", "longer than an hour", "between 10 and 20 kg", "20 km or more"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from device_app.english.lexicon import NUMBERS
from device_app.english.table_senses import DEGREES, Degree


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison with a number: the least and the greatest value that fit, None for an open end, and the unit.

    `is_strict` means that the bound itself does not fit. `degree` is the meaning of the adjective in "longer than",
    None for "over". `start` and `end` are its position in the text.
    """

    least: float | None
    most: float | None
    is_strict: bool
    unit: str
    degree: Degree | None
    start: int
    end: int

    def holds(self, value: float, factor: float = 1.0) -> bool:
        """Return whether a value is within the bounds, each multiplied by a factor."""
        is_over = (
            self.least is None or value > self.least * factor or (value == self.least * factor and not self.is_strict)
        )
        is_under = (
            self.most is None or value < self.most * factor or (value == self.most * factor and not self.is_strict)
        )
        return is_over and is_under

    @property
    def is_equal(self) -> bool:
        """Whether the comparison requires exactly one number, as in "a rating of 5"."""
        return self.least == self.most


_SIGN: Final = r"[€$£]"
_WORDS: Final = "|".join(word for word, digits in NUMBERS.items() if digits.isdigit())
_NUMBER: Final = (
    rf"(?P<number>(?:{_SIGN} ?)?\d+(?:[.,]\d+)*|(?:an? |one )(?:hundred|thousand|dozen)|{_WORDS}|an?(?= hour))"
)
_UNIT: Final = rf"(?:[ -]?(?P<unit>{_SIGN}|%|[^\W\d_]+))?"
_ADJECTIVE: Final = "|".join(form for form in DEGREES if form.endswith("er") or form == "worse")
_OVER: Final = r"over|above|at least|exceed(?:s|ed|ing)?|beyond|(?:a )?minimum of|(?:no|not) less than|more than|>=?"
_UNDER: Final = r"under|below|at most|up to|(?:a )?maximum of|(?:no|not) more than|less than|fewer than|<=?"
_EQUAL: Final = r"exactly|precisely|equal to|of|is|was|were"
_BEHIND: Final = re.compile(
    rf"(?<![^\W_])(?:(?P<over>{_OVER})|(?P<under>{_UNDER})|(?P<equal>{_EQUAL})|"
    rf"(?P<adjective>{_ADJECTIVE})(?: [a-z]+)? than) ?{_NUMBER}{_UNIT}(?!\w)"
)
_BEFORE: Final = re.compile(
    rf"\b{_NUMBER}{_UNIT} (?:or|and) (?:(?P<over>more|over|above|up|upwards)|(?P<under>less|fewer|under|below)|"
    rf"(?P<adjective>{_ADJECTIVE}))\b"
)
_BETWEEN: Final = re.compile(
    rf"\b(?:between|from) (?P<low>{_SIGN}?\d+(?:[.,]\d+)*)(?: ?[^\W\d_]+)? (?:and|to) {_NUMBER}{_UNIT}"
)
_INCLUSIVE: Final = re.compile(r"at (?:least|most)|up to|minimum|maximum|(?:no|not) |=")


def comparisons(text: str) -> Iterator[Comparison]:
    """Yield the comparisons of a text in lower case with numbers."""
    matches: list[re.Match[str]] = []
    for pattern in (_BETWEEN, _BEFORE, _BEHIND):
        for match in pattern.finditer(text):
            if all(match.end() <= other.start() or match.start() >= other.end() for other in matches):
                matches.append(match)
    for match in matches:
        part = match.groupdict()
        signs = re.findall(_SIGN, match[0])
        number, unit = value(match["number"]), signs[0] if signs else match["unit"] or ""
        if low := part.get("low"):
            yield Comparison(value(low), number, False, unit, None, *match.span())
            continue
        if part.get("equal"):
            yield Comparison(number, number, False, unit, None, *match.span())
            continue
        degree = DEGREES.get(part.get("adjective") or "")
        is_over = degree.is_much if degree else bool(part["over"])
        is_strict = match.re is not _BEFORE and not _INCLUSIVE.search(match[0])
        yield Comparison(
            number if is_over else None, None if is_over else number, is_strict, unit, degree, *match.span()
        )


def value(number: str) -> float:
    """Return the number in digits or words, such as "1,250.50", "2,5" or "a hundred"."""
    word = re.sub(_SIGN, "", number).strip()
    if not word[:1].isdigit():
        return float(NUMBERS.get(re.sub(r"^(?:an?|one) ", "", word), "1"))
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", word):
        word = word.replace(",", "")
    return float(re.sub(r"[.,](?=.*[.,])", "", word).replace(",", "."))
