"""Reads PowerPoint presentations: a document per slide, with its number as the page. Independent of python-pptx, which
needs a compiled library that a phone lacks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from device_app.knowledge.readers.archives import check_total, core_properties, open_archive, refused_if_broken, tree
from device_app.knowledge.readers.dates import date_in
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.relations import reference, relations
from shared.types import Block, Document

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_PRESENTATION = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_START = "ppt/presentation.xml"
_FURNITURE = {"dt", "ftr", "hdr", "sldNum", "sldImg"}
"""The placeholders that are repeated on every slide, such as its number."""


@dataclass(frozen=True, slots=True)
class Slide:
    """The text of a slide: its title, its paragraphs and rows, and the speaker's notes."""

    title: str
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_pptx(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a document per slide. Raises UnreadableFile."""
    data = read_whole(path, max_bytes)
    with refused_if_broken("presentation"), open_archive(data) as archive:
        title, author, changed = core_properties(archive)
        slides = list(_slides(archive))
    yield from deck(path, title, author, changed, slides)


def deck(path: Path, title: str, author: str, changed: datetime | None, slides: Sequence[Slide]) -> Iterator[Document]:
    """Yield a document for each slide that has text, titled by the presentation and the slide."""
    whole = title or next((slide.title for slide in slides if slide.title), "") or path.stem
    date = date_in(path.stem) or changed
    for number, slide in enumerate(slides, start=1):
        lines = [slide.title, *slide.lines, *(f"Notes: {note}" for note in slide.notes)]
        blocks = tuple(Block(line, page=number) for line in lines if line)
        if blocks:
            shown = whole if slide.title in ("", whole) else f"{whole}, {slide.title}"
            yield Document(f"slide {number}", "slides", shown, blocks, date, (author,) if author else ())


def _slides(archive: ZipFile) -> Iterator[Slide]:
    parts = relations(archive, _START)
    slides = dict.fromkeys(parts[reference(slide)][0] for slide in tree(archive, _START).iter(f"{_PRESENTATION}sldId"))
    check_total(archive, slides)
    for part in slides:
        title, lines = _text(tree(archive, part))
        notes = [name for name, kind in relations(archive, part).values() if kind.endswith("/notesSlide")]
        spoken = [line for name in notes for line in _text(tree(archive, name))[1]]
        yield Slide(title, tuple(lines), tuple(spoken))


def _text(root: Element) -> tuple[str, list[str]]:
    """Return a slide's title, and its other paragraphs and rows in the order of the file."""
    title = ""
    lines: list[str] = []
    for shape in root.iter():
        if shape.tag == f"{_PRESENTATION}sp":
            place = next(shape.iter(f"{_PRESENTATION}ph"), None)
            kind = "" if place is None else place.get("type", "")
            paragraphs = [text for text in map(_line, shape.iter(f"{_DRAWING}p")) if text]
            if kind in ("title", "ctrTitle") and not title:
                title = " ".join(paragraphs)
            elif kind not in _FURNITURE:
                lines += paragraphs
        elif shape.tag == f"{_DRAWING}tr":
            cells = (" ".join(filter(None, map(_line, cell.iter(f"{_DRAWING}p")))) for cell in shape)
            lines.append(" | ".join(filter(None, cells)))
    return title, lines


def _line(paragraph: Element) -> str:
    pieces = (
        piece.text or "" if piece.tag == f"{_DRAWING}t" else " " if piece.tag == f"{_DRAWING}br" else ""
        for piece in paragraph.iter()
    )
    return " ".join("".join(pieces).split())
