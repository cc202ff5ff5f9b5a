"""Reads the values of table cells: numbers with units, days, and words of short texts. Independent of file formats.

A table is assumed to write all its numbers and days in one style: "3,50" in one cell decides how "1,250" in another
cell is read. A cell that can be read in two ways has no value if no other cell decides.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from device_app.english.cells import key
from device_app.english.table_units import is_unit, unit_named
from device_app.knowledge.readers.dates import date_in
from shared.printable import printable
from shared.types import Document, TableRow
from storage.table_parts import DURATION, PreparedRow, PreparedTable, StoredColumn

LONGEST_CELL = 300
"""The most characters of a cell that are stored as its text; the rest is cut off."""

_SUM_ROW = re.compile(
    r"(?:grand |sub-?)?(?:totals?|sums?|averages?|mean|summe|gesamt|zwischensumme|somme|totale?)\s*:?", re.IGNORECASE
)
_MOST_COLUMNS = 200
"""The most columns of a table that is stored for questions: a wider one usually holds sensor readings."""

_MOST_WORDS, _LONGEST_TEXT = 8, 80
"""The most words and characters of a cell whose words are indexed: longer cells are prose, which passages cover."""

_LONGEST_VALUE = 40
"""The most characters of a cell that is read as a number or a day."""

_MOST_UNITS = 5
"""The most units of a column of numbers; the cells of a column with more units, such as addresses, are texts."""

_SIGN = r"(?P<sign>[-+−(]\s?)?"
_NUMBER = re.compile(
    rf"(?P<before>[€$£¥]|[A-Z]{{2,3}}\.?\s|Fr\.\s)?\s?{_SIGN}(?P<before_>[€$£¥])?\s?"
    r"(?P<digits>\d[\d.,'’\u00a0\u202f ]*?)\s?(?P<after>[%‰°€$£¥]|[^\W\d_][\w²³/.°]{0,11})?\)?",
)
_GROUPS = [re.compile(rf"\d{{1,3}}(?:[{mark}]\d{{3}})+") for mark in (".", ",", "'’", "\u00a0\u202f ")]
_MOST_DIGITS = 15
_UNSURE = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_DECIMAL = re.compile(r"\d*([.,])\d+")
_DURATION = re.compile(r"(\d{1,3}):([0-5]\d):([0-5]\d)")
_TIME = r"(?:[T ,]+\d{1,2}[:.]\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_DAY = re.compile(
    rf"(?:\d{{4}}([-./])\d{{1,2}}\1\d{{1,2}}|\d{{1,2}}\. ?\d{{1,2}}\. ?\d{{4}}|(?:\d{{1,2}}\.? )?[A-Za-z]{{3,9}}\.? "
    rf"(?:\d{{1,2}},? )?\d{{4}}){_TIME}"
)
_SLASHED = re.compile(rf"(\d{{1,2}})/(\d{{1,2}})/(\d{{4}}){_TIME}")


_Value = dict[str, str | float]
"""The value of a cell: a number "n" with its unit "u", or a day "d" in ISO 8601; empty for a text."""


@dataclass(frozen=True, slots=True)
class _Style:
    """A table's decimal mark, "" if unknown, and whether its dates have the day before the month, None if unknown."""

    decimal: str
    day_first: bool | None


def table_of(document: Document) -> PreparedTable | None:
    """Return a document's rows with the values of their cells; None if it has no rows, or more than 200 columns."""
    rows = [block for block in document.blocks if isinstance(block, TableRow) and not _is_total(block)]
    if not rows:
        return None
    names = rows[0].columns
    width = max(len(names), *(len(row.cells) for row in rows))
    if width > _MOST_COLUMNS:
        return None
    style = _style(cell for row in rows for cell in row.cells)
    cells = [[_one_line(cell) for cell in row.cells] + [""] * (width - len(row.cells)) for row in rows]
    columns, values, words = [], [], list[tuple[str, int, str]]()
    for place in range(width):
        texts = Counter(row[place] for row in cells)
        texts.pop("", None)
        valued = _values(texts, style)
        values.append(valued)
        counts = {kind: sum(texts[text] for text, value in valued.items() if kind in value) for kind in ("n", "d")}
        name = _one_line(names[place]) if place < len(names) else ""
        units = tuple(dict.fromkeys(str(value["u"]) for value in valued.values() if "u" in value))
        columns.append(StoredColumn(name, texts.total(), counts["n"], counts["d"], len(texts), units))
        if not valued:
            words += [(word, place, text) for text in texts for word in _words(text)]
    stored = [
        PreparedRow(
            row.line or 0,
            texts,
            {
                f"{kind}{place}": value
                for place, text in enumerate(texts)
                for kind, value in values[place].get(text, {}).items()
            },
        )
        for row, texts in zip(rows, cells, strict=True)
    ]
    return PreparedTable(columns, stored, words)


def _is_total(row: TableRow) -> bool:
    """Return whether a row holds totals of other rows, so that a sum over the column would count those rows twice.

    Such a row begins with a word such as "Total" and else has only numbers. A row about a petrol station called "Total"
    also has a day, so it holds no totals.
    """
    first, *others = [cell.strip() for cell in row.cells if cell.strip()] or [""]
    return _SUM_ROW.fullmatch(first) is not None and all(map(_NUMBER.fullmatch, others))


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))[:LONGEST_CELL]


def _values(texts: Counter[str], style: _Style) -> dict[str, _Value]:
    """Return each text of a column with its value; empty if most texts have no value, or there are too many units."""
    values = {text: value for text in texts if (value := _value(text, style))}
    units = {unit_named(str(value.get("u", ""))) for value in values.values()}
    valued = sum(texts[text] for text in values)
    return values if valued * 2 > texts.total() and len(units) <= _MOST_UNITS else {}


def _value(text: str, style: _Style) -> _Value:
    if len(text) > _LONGEST_VALUE:
        return {}
    if day := _day(text, style):
        return {"d": day}
    return _measured(text, style)


def _words(text: str) -> Iterable[str]:
    """Return the different words of a cell's text; none if the text is too long to be indexed."""
    words = dict.fromkeys(key(text)) if len(text) <= _LONGEST_TEXT else {}
    return words if len(words) <= _MOST_WORDS else ()


def _style(cells: Iterable[str]) -> _Style:
    decimals, orders = set[str](), set[bool]()
    for cell in map(str.strip, cells):
        if len(cell) > _LONGEST_VALUE:
            continue
        if match := _SLASHED.fullmatch(cell):
            first, second = int(match[1]), int(match[2])
            orders |= {True} if first > 12 >= second else {False} if second > 12 >= first else set()
        elif (number := _NUMBER.fullmatch(cell)) and (mark := _mark(number["digits"])):
            decimals.add(mark)
    return _Style(decimals.pop() if len(decimals) == 1 else "", orders.pop() if len(orders) == 1 else None)


def _mark(digits: str) -> str:
    """Return the decimal mark of a number; "" if the digits do not show which mark it is."""
    digits = re.sub(r"[^\d.,]", "", digits)
    marks = [character for character in digits if character in ".,"]
    if len(set(marks)) == 2:
        return marks[-1]
    if len(marks) > 1:  # two groups of thousands
        return "." if marks[0] == "," else ","
    return marks[0] if marks and _DECIMAL.fullmatch(digits) and not _UNSURE.fullmatch(digits) else ""


def _measured(cell: str, style: _Style) -> _Value:
    """Return the number in a cell, with its unit if it has one. A duration such as 1:52:40 gives its seconds."""
    if match := _DURATION.fullmatch(cell):
        hours, minutes, seconds = map(int, match.groups())
        return {"n": float(hours * 3600 + minutes * 60 + seconds), "u": DURATION}
    match = _NUMBER.fullmatch(cell)
    number = _number(match["digits"], style) if match else None
    if match is None or number is None:
        return {}
    is_negative = (match["sign"] or "").strip() in ("-", "−", "(")
    unit = (match["before"] or match["before_"] or match["after"] or "").strip()
    is_glued = unit[:1].isalpha() and match["after"] and cell[match.start("after") - 1].isdigit()
    if is_glued and not is_unit(unit):
        return {}  # a class "7b", a screw "4x40"
    return {"n": -number if is_negative else number} | ({"u": unit} if unit else {})


def _number(digits: str, style: _Style) -> float | None:
    mark = _mark(digits) or style.decimal
    if not mark and _UNSURE.fullmatch(digits):
        return None
    whole, point, fraction = digits.rpartition(mark) if mark and mark in digits else (digits, "", "")
    if point and not fraction.isdigit():
        return None
    if any(groups.fullmatch(whole) for groups in _GROUPS):
        whole = re.sub(r"\D", "", whole)
    # What begins with a zero is a code or a telephone number.
    if not whole.isdigit() or (len(whole) > 1 and whole[0] == "0") or len(whole) > _MOST_DIGITS:
        return None
    return float(f"{whole}.{fraction}")


def _day(cell: str, style: _Style) -> str | None:
    if match := _SLASHED.fullmatch(cell):
        first, second, year = map(int, match.group(1, 2, 3))
        if style.day_first is None and first != second:
            return None
        day, month = (first, second) if style.day_first else (second, first)
        try:
            return date(year, month, day).isoformat()
        except ValueError:
            return None
    moment = date_in(cell) if _DAY.fullmatch(cell) else None
    return moment.date().isoformat() if moment else None
