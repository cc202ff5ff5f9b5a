import io
import random
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pypdf import PdfWriter

from device_app.knowledge import readers
from shared.errors import UnreadableFile
from shared.types import Document

Read = Callable[..., list[Document]]
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
CORE = """<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Agreement</dc:title>
 <dc:creator>Petra</dc:creator><dcterms:modified>2026-03-14T10:00:00Z</dcterms:modified></cp:coreProperties>"""


def pdf(*pages: str) -> bytes:
    """Return a PDF made by hand, with one page for each list of lines."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, page in enumerate(pages):
        shown = " ".join(f"({line}) Tj T*" for line in page.split("\n")) if page else ""
        content = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    body = "%PDF-1.4\n"
    offsets = []
    for number, text in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode("latin-1")


def docx(body: str, **members: str) -> bytes:
    """Return a minimal Word file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        document = f'<?xml version="1.0"?><w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", document)
        for name, text in members.items():
            archive.writestr(name.replace("__", "/") + ".xml", text)
    return packed.getvalue()


def paragraph(text: str, style: str = "") -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def test_a_pdf_is_its_pages_with_wrapping_undone(read: Read) -> None:
    (paper,) = read(
        "Tiles 2026-03-14.pdf",
        pdf(
            "The tiles will be delivered on the morning of the twenty-second by\nthe firm itself.", "", "Total: 412 EUR"
        ),
    )
    assert (paper.kind, paper.title, paper.date) == ("paper", "Tiles 2026-03-14", datetime(2026, 3, 14))
    assert [(block.page, block.text) for block in paper.blocks] == [
        (1, "The tiles will be delivered on the morning of the twenty-second by the firm itself."),
        (3, "Total: 412 EUR"),
    ]


def written(writer: PdfWriter) -> bytes:
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def test_a_pdf_tells_its_title_author_and_date(read: Read) -> None:
    writer = PdfWriter(clone_from=io.BytesIO(pdf("Text.")))
    writer.add_metadata({"/Title": "Invoice", "/Author": "Zolla", "/CreationDate": "D:20260314100000+00'00'"})
    (paper,) = read("a.pdf", written(writer))
    assert (paper.title, paper.people, paper.date) == ("Invoice", ("Zolla",), datetime(2026, 3, 14, 10, tzinfo=UTC))


def test_an_encrypted_pdf_is_refused_unless_its_password_is_empty(read: Read) -> None:
    for password in ("secret", ""):
        writer = PdfWriter(clone_from=io.BytesIO(pdf("Text.")))
        writer.encrypt(password, "owner", algorithm="RC4-128")
        if password:
            with pytest.raises(UnreadableFile, match="encrypted PDF"):
                read("a.pdf", written(writer))
        else:
            assert read("a.pdf", written(writer))[0].blocks[0].text == "Text."


def test_pages_without_text_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("Text.", "", ""))
    omitted: list[str] = []
    assert list(readers.read(path, on_omitted=omitted.append))
    assert omitted == ["2 of 3 pages, on which no text was found, perhaps scans"]


def test_a_pdf_without_text_is_refused(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="no text in the PDF, perhaps a scan"):
        read("a.pdf", pdf("", ""))


@pytest.mark.parametrize(
    "data", [b"%PDF-1.4", b"%PDF-1.4\n" + b"<<" * 50_000, b"hello", b"%PDF-1.4\nxref\n0 99999999\n", pdf("Text.")[:-40]]
)
def test_a_broken_pdf_is_refused(read: Read, data: bytes) -> None:
    with pytest.raises(UnreadableFile, match=r"broken PDF|no text"):
        read("a.pdf", data)


def test_a_pdf_with_a_wrong_table_is_still_read(read: Read) -> None:
    data = pdf("Text.").replace(b"startxref\n", b"startxref\n9")
    assert read("a.pdf", data)[0].blocks[0].text == "Text."


def test_a_pdf_with_a_broken_page_keeps_the_others(read: Read) -> None:
    data = pdf("One.", "Two.").replace(b"/Contents 5 0 R", b"/Contents (((((")
    assert [(block.page, block.text) for block in read("a.pdf", data)[0].blocks] == [(2, "Two.")]


def test_a_word_file_is_its_paragraphs_and_rows(read: Read) -> None:
    cell = "<w:tc>{}</w:tc>"
    row = "<w:tbl><w:tr>" + cell.format(paragraph("tiles")) + cell.format(paragraph("38")) + "</w:tr></w:tbl>"
    (paper,) = read("a.docx", docx(paragraph("Renovation", "Heading1") + paragraph("From May &amp; on.") + row))
    assert (paper.kind, paper.title) == ("paper", "Renovation")
    assert [block.text for block in paper.blocks] == ["Renovation", "From May & on.", "tiles | 38"]


def test_a_word_file_tells_its_title_author_and_date(read: Read) -> None:
    (paper,) = read("a.docx", docx(paragraph("x"), docProps__core=CORE))
    assert (paper.title, paper.people, paper.date) == ("Agreement", ("Petra",), datetime(2026, 3, 14, 10, tzinfo=UTC))


BROKEN = {
    "no archive": b"hello",
    "cut": docx(paragraph("x"))[:-30],
    "broken markup": docx("<w:p>"),
    "nested too deep": docx("<w:p>" * 3000 + "</w:p>" * 3000),
    "broken properties": docx(paragraph("x"), docProps__core="<a>"),
    "an empty archive": b"PK\x05\x06" + bytes(18),
    "entities": docx("").replace(b"word/document.xml", b"word/documenT.xml"),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_word_file_is_refused(read: Read, data: bytes) -> None:
    with pytest.raises(UnreadableFile, match="broken Word file"):
        read("a.docx", data)


def test_a_word_file_that_unpacks_to_too_much_is_refused(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="16 MB of text"):
        read("a.docx", docx(paragraph("x"), extra=random.Random(1).randbytes(9 << 20).hex()))
