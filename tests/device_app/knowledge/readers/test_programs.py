"""Files written by real programs: each kind by LibreOffice and by a second program.

The script `files/recipe` made them.
"""

from datetime import datetime
from pathlib import Path

import pytest

from device_app.knowledge import readers
from shared.types import Document

FILES = Path(__file__).parent / "files"
OFFER = "The firm Zolla renews the roof for 12,400 euro, scaffold included. Work begins on 4 May 2026."
PAYMENT = "A third is paid before work begins, the rest when Ms Çelik of the building office has approved the roof."
TABLE = ["Item | Price", "Tiles | 6,200", "Scaffold | 1,900"]
NEIGHBOURS = "Mr Łukasz at number 12 agreed. שלום מהשכנים, החניה סגורה. Schlüsselübergabe am Freitag."


def documents(name: str) -> list[Document]:
    return list(readers.read(FILES / name))


def texts(document: Document) -> list[str]:
    return [block.text for block in document.blocks]


@pytest.mark.parametrize("kind", ["docx", "odt", "rtf"])
@pytest.mark.parametrize("program", ["libreoffice", "pandoc"])
def test_a_text_is_its_sections(program: str, kind: str) -> None:
    start, *sections = documents(f"{program}.{kind}")
    named = (program, kind) != ("pandoc", "rtf")  # which has no title of its own
    title = "Roof renewal" if named else "pandoc"
    assert [section.title for section in sections] == [
        f"{title}, {name}" for name in ("Offer", "Payment", "Neighbours")
    ]
    assert [texts(section) for section in sections] == [
        ["Offer", OFFER],
        ["Payment", PAYMENT, *TABLE],
        ["Neighbours", NEIGHBOURS],
    ]
    assert texts(start) == ["Roof renewal", "Petra Ohm"]
    for document in (start, *sections):
        assert document.kind == "paper"
        assert document.people == (("Petra Ohm",) if named else ())
        assert (document.date and document.date.replace(tzinfo=None)) == (datetime(2026, 3, 14, 10) if named else None)


@pytest.mark.parametrize("program", ["libreoffice", "pandoc"])
def test_a_book_is_its_chapters(program: str) -> None:
    book = documents(f"{program}.epub")
    assert {document.kind for document in book} == {"book"}
    assert {document.people for document in book} == {("Petra Ohm",)}
    assert [document.title for document in book if OFFER in texts(document)] == ["Roof renewal, Offer"]
    assert [document.title for document in book if NEIGHBOURS in texts(document)] == ["Roof renewal, Neighbours"]
    assert {PAYMENT, TABLE[1]} <= {text for document in book for text in texts(document)}


@pytest.mark.parametrize("name", ["libreoffice.pptx", "pandoc.pptx", "libreoffice.odp", "odfpy.odp"])
def test_a_presentation_is_its_slides(name: str) -> None:
    first, offer, neighbours = documents(name)
    assert (first.title, offer.title, neighbours.title) == (
        *("Roof renewal", "Roof renewal, Offer", "Roof renewal, Neighbours"),
    )
    assert texts(first)[:2] == ["Roof renewal", "Petra Ohm"]
    assert texts(offer) == ["Offer", OFFER, "Payment", PAYMENT, *TABLE]
    assert texts(neighbours) == ["Neighbours", NEIGHBOURS]
    assert [{block.page for block in slide.blocks} for slide in (first, offer, neighbours)] == [{1}, {2}, {3}]
    assert {slide.kind for slide in (first, offer, neighbours)} == {"slides"}


@pytest.mark.parametrize(
    "name", ["libreoffice.xlsx", "openpyxl.xlsx", "xlsxwriter.xlsx", "libreoffice.ods", "odfpy.ods"]
)
def test_a_workbook_is_the_rows_of_its_sheets(name: str) -> None:
    costs, people = documents(name)
    stem = Path(name).stem
    assert (costs.kind, costs.title, people.title) == ("table", f"{stem}, Costs", f"{stem}, People")
    assert [(block.line, block.text) for block in costs.blocks] == [
        (1, "Costs of the roof"),
        (4, "Item: Tiles; Paid on: 2026-03-14; Amount: 6200.5; Share: 50%"),
        (5, "Item: Scaffold; Paid on: 2026-04-01 10:30; Amount: 1900; Share: 25%"),
    ]
    assert [(block.line, block.text) for block in people.blocks] == [(2, "Name: Łukasz; שלום: החניה")]
    assert costs.people == people.people == ()
