"""Reads Excel workbooks as a stream. openpyxl would hold a sheet without stated size in memory, and pad its rows."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial, reduce
from pathlib import Path
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from device_app.knowledge.readers.archives import core_properties, flow, open_archive, refused_if_broken, tree
from device_app.knowledge.readers.omitted import Omitted
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.relations import reference, relations
from device_app.knowledge.readers.sheets import LAST_ROW, MOST_COLUMNS, MOST_ROWS, Run, workbook
from shared.errors import UnreadableFile
from shared.printable import counted
from shared.types import Document

_START, _OFFICE = "xl/workbook.xml", "/officeDocument"
_MOST_STRINGS = 64 << 20
"""The most characters of the texts shared by all sheets, which are held in memory."""
_MOST_ELEMENTS = 100_000
_EPOCHS = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}
_DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_PERCENT = {"9", "10"}
"""The numbers of the built-in formats for dates and times, and for percentages (ECMA-376, 18.8.30)."""
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_ROW_TAG, _LONGEST_TAG = re.compile(rb"<(?:[\w.-]{1,30}:)?row(?=[\s/>])"), 64
_CELL = re.compile(r"([A-Z]{1,3})(\d{1,7})")


_Part = tuple[str, str]
"""A part left out of a workbook: a noun for it, and the words that say which."""


def read_xlsx(path: Path, max_bytes: int) -> Iterator[Document | Omitted]:
    """Yield each sheet's rows, as documents of 2,000 rows. Raises UnreadableFile."""
    data = read_whole(path, max_bytes)
    with refused_if_broken("workbook"), open_archive(data) as archive:
        start = next((part for part, kind in relations(archive, "").values() if kind.endswith(_OFFICE)), _START)
        book = tree(archive, start)
        parts = relations(archive, start)
        by_kind = {kind.rpartition("/")[2]: part for part, kind in parts.values()}
        strings = _strings(archive, by_kind["sharedStrings"]) if "sharedStrings" in by_kind else []
        formats = _formats(tree(archive, by_kind["styles"])) if "styles" in by_kind else []
        old = any(facts.get("date1904") in ("1", "true") for facts in _named(book, "workbookPr"))
        show = partial(_shown, strings=strings, formats=formats, epoch=_EPOCHS[old])
        omitted = Counter[_Part]()
        # A sheet that is named twice is read once.
        names = {
            part: sheet.get("name", "")
            for sheet in _named(book, "sheet")
            for part, kind in [parts.get(reference(sheet), ("", ""))]
            if kind.endswith("/worksheet")
        }
        sheets = ((name, _rows(archive, part, show, omitted)) for part, name in names.items())
        yield from workbook(path, core_properties(archive), sheets)
        for (noun, which), count in omitted.items():
            yield Omitted(f"{counted(count, noun)} {which}")


def _rows(archive: ZipFile, part: str, show: Callable[[Element], str], omitted: Counter[_Part]) -> Iterator[Run]:
    """Yield the rows of a sheet, and count in `omitted` the content that is not read. `show` returns a cell's text."""
    number = 0
    for index, (_, row) in enumerate(flow(archive, part, "row", _MOST_ELEMENTS)):
        if index >= MOST_ROWS:
            yield number, max(1, _count_rows(archive, part) - index), ()
            return
        stated = row.get("r", "")
        number = int(stated) if stated.isdecimal() and 0 < int(stated) <= LAST_ROW else number + 1
        cells: list[str] = []
        for cell in row:
            place = _column(cell.get("r", "")) or len(cells) + 1
            if place > MOST_COLUMNS:
                omitted["cell", f"after column {MOST_COLUMNS:,}"] += 1
                continue
            cells += [""] * (place - 1 - len(cells))
            cells.append(show(cell))
            # Programs that write formulas without computing them, and phones' viewers, leave the value to Excel.
            if not cells[-1] and next(_named(cell, "f"), None) is not None:
                omitted["formula", "without a computed value"] += 1
        yield number, 1, cells


def _count_rows(archive: ZipFile, part: str) -> int:
    """Return the number of rows, counted by their tags alone: this takes a second for a million, not twenty."""
    count, tail = 0, b""
    with archive.open(part) as stream:
        while data := stream.read(1 << 20):
            data = tail + data
            border = max(data.rfind(b"<"), 0)
            count += sum(1 for _ in _ROW_TAG.finditer(data, 0, border))
            tail = data[border : border + _LONGEST_TAG]
    return count + sum(1 for _ in _ROW_TAG.finditer(tail))


def _column(place: str) -> int:
    """Return the number of a cell's column, from 1; 0 if the cell states no place."""
    letters = _CELL.match(place)
    return reduce(lambda number, letter: 26 * number + ord(letter) - 64, letters[1], 0) if letters else 0


def _shown(cell: Element, *, strings: Sequence[str], formats: Sequence[str], epoch: datetime) -> str:
    """Return the value that a cell shows: for a formula, the last computed value; for a date, ISO 8601.

    `strings` are the texts that cells share, `formats` the kinds of the styles (`_formats`), `epoch` is day 0 of dates.
    """
    value = next((inner.text for inner in _named(cell, "v")), None) or ""
    match cell.get("t", "n"):
        case "s":
            return strings[int(value)] if value.isdecimal() and int(value) < len(strings) else ""
        case "inlineStr":
            return _words(cell)
        case "b":
            return {"1": "TRUE", "0": "FALSE"}.get(value, "")
        case "n" if value:
            style = int(cell.get("s", 0))
            with suppress(ValueError, OverflowError):  # no number, or a date after the year 9999
                return _number(float(value), formats[style] if 0 <= style < len(formats) else "", epoch)
    return value


def _number(value: float, form: str, epoch: datetime) -> str:
    if form == "percent":
        return f"{value * 100:.10g}%"
    if form == "date":
        if 0 <= value < 1:
            return f"{epoch + timedelta(days=value):%H:%M}"
        # Seconds are rounded: 10:30 is no fraction of a day that a computer can hold.
        moment = epoch + timedelta(seconds=round(value * 86400))
        return f"{moment:%Y-%m-%d}" if moment.hour == moment.minute == 0 else f"{moment:%Y-%m-%d %H:%M}"
    return f"{value:.15g}"


def _strings(archive: ZipFile, part: str) -> list[str]:
    if archive.getinfo(part).file_size > _MOST_STRINGS:
        raise UnreadableFile(f"more than {_MOST_STRINGS >> 20} MB of texts in cells")
    return [_words(entry) for _, entry in flow(archive, part, "si", _MOST_ELEMENTS)]


def _words(entry: Element) -> str:
    """Return the text of a cell, without the phonetic guides (furigana) that Japanese workbooks add."""
    silent = {id(run) for reading in _named(entry, "rPh") for run in reading.iter()}
    return "".join(run.text or "" for run in _named(entry, "t") if id(run) not in silent)


def _formats(styles: Element) -> list[str]:
    """Return "date", "percent" or "" for each cell style."""
    codes = {form.get("numFmtId"): _LITERAL.sub("", form.get("formatCode", "")) for form in _named(styles, "numFmt")}
    kinds = []
    for style in next(_named(styles, "cellXfs"), ()):
        number = style.get("numFmtId", "0")
        code = codes.get(number, "")
        is_date = (number.isdecimal() and int(number) in _DATES) or bool(set(code.lower()) & set("dmyhs"))
        is_percent = number in _PERCENT or "%" in code
        kinds.append("date" if is_date else "percent" if is_percent else "")
    return kinds


def _named(element: Element, name: str) -> Iterator[Element]:
    """Yield the elements of this name within an element, in any namespace: transitional and strict files differ."""
    return (inner for inner in element.iter() if inner.tag.rpartition("}")[2] == name)
