"""Reads OpenDocument spreadsheets as a stream."""

from collections.abc import Iterator
from itertools import groupby, repeat
from pathlib import Path
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from device_app.knowledge.readers.archives import flow, refused_if_broken
from device_app.knowledge.readers.omitted import Omitted
from device_app.knowledge.readers.opendocument import open_opendocument, properties, qualified, text_of
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.sheets import LAST_ROW, MOST_COLUMNS, Run, workbook
from shared.types import Document

_TABLE, _CELL, _COVERED, _PARAGRAPH = map(
    qualified, ("table:table", "table:table-cell", "table:covered-table-cell", "text:p")
)
_NAME, _ROWS, _COLUMNS = map(qualified, ("table:name", "table:number-rows-repeated", "table:number-columns-repeated"))
_TYPE, _VALUE, _DATE, _CURRENCY = map(
    qualified, ("office:value-type", "office:value", "office:date-value", "office:currency")
)
_MOST_ELEMENTS = 100_000


def read_ods(path: Path, max_bytes: int) -> Iterator[Document | Omitted]:
    """Yield each sheet's rows, as documents of 2,000 rows. Raises UnreadableFile."""
    data = read_whole(path, max_bytes)
    with refused_if_broken("OpenDocument file"), open_opendocument(data) as archive:
        sheets = ((name, _numbered(row for _, row in rows)) for name, rows in groupby(_rows(archive), key=_first))
        yield from workbook(path, properties(archive), sheets)


def _first(pair: tuple[str, Element]) -> str:
    return pair[0]


def _rows(archive: ZipFile) -> Iterator[tuple[str, Element]]:
    """Yield the rows of all sheets, each with the name of its sheet."""
    for above, row in flow(archive, "content.xml", "table-row", _MOST_ELEMENTS):
        table = next((element for element in above if element.tag == _TABLE), None)
        if table is not None:
            yield table.get(_NAME, ""), row


def _numbered(rows: Iterator[Element]) -> Iterator[Run]:
    number = 1
    for row in rows:
        times = max(1, min(int(row.get(_ROWS, "1")), LAST_ROW))
        cells = list(_cells(row))
        if cells:
            yield number, times, cells
        number += times


def _cells(row: Element) -> Iterator[str]:
    """Yield a row's cells up to the last filled one; files store the empty cells after it as one repeated cell."""
    place = waiting = 0
    for cell in row:
        if cell.tag not in (_CELL, _COVERED):
            continue
        times = min(int(cell.get(_COLUMNS, "1")), MOST_COLUMNS - place)
        place += times
        if text := _shown(cell):
            yield from repeat("", waiting)
            yield from repeat(text, times)
            waiting = 0
        else:
            waiting += times


def _shown(cell: Element) -> str:
    """Return the value of a cell; numbers and dates as stored, since their display depends on the country."""
    match cell.get(_TYPE, ""):
        case "float":
            return f"{float(cell.get(_VALUE, '0')):.15g}"
        case "currency":
            return f"{float(cell.get(_VALUE, '0')):.15g} {cell.get(_CURRENCY, '')}".strip()
        case "percentage":
            return f"{float(cell.get(_VALUE, '0')) * 100:.10g}%"
        case "date":
            return cell.get(_DATE, "").replace("T", " ").removesuffix(":00").removesuffix(" 00:00")
    return " ".join(filter(None, map(text_of, cell.findall(_PARAGRAPH))))
