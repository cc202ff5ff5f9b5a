"""What office files contain in addition to paragraphs and cells, in files made by hand."""

import io
import zipfile
from collections.abc import Callable
from datetime import datetime

import pytest

from shared.errors import UnreadableFile
from shared.types import Document

Read = Callable[..., list[Document]]
SPACES = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "presentation": "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
    "manifest": "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
}
NAMES = " ".join(f"xmlns:{prefix}='{space}'" for prefix, space in SPACES.items())


def archive(**members: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as members_:
        for name, content in members.items():
            members_.writestr(name, content)
    return packed.getvalue()


def opendocument(kind: str, body: str) -> bytes:
    content = f"<office:document-content {NAMES}><office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return archive(**{"content.xml": content + "</office:document-content>"})


def related(**targets: tuple[str, str]) -> str:
    each = (f"<Relationship Id='{name}' Type='x/{kind}' Target='{part}'/>" for name, (kind, part) in targets.items())
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f"<Relationships xmlns='{space}'>{''.join(each)}</Relationships>"


def texts(documents: list[Document]) -> list[str]:
    return [block.text for document in documents for block in document.blocks]


def test_an_opendocument_text_is_what_its_author_shows(read: Read) -> None:
    body = """<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>
    <text:table-of-content><text:index-body><text:p>One 1</text:p></text:index-body></text:table-of-content>
    <text:p>a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d<text:span>e</text:span><office:annotation><text:p>no
    </text:p></office:annotation><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>(note)</text:p>
    </text:note-body></text:note> f<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame></text:p>
    <text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>"""
    assert texts(read("a.odt", opendocument("text", body))) == ["a b c de (note) f", "box", "item"]


def test_an_encrypted_opendocument_file_is_named(read: Read) -> None:
    manifest = f"<manifest:manifest {NAMES}><manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    data = archive(**{"META-INF/manifest.xml": manifest + "</manifest:manifest>", "content.xml": "x"})
    with pytest.raises(UnreadableFile, match="encrypted OpenDocument file"):
        read("a.odt", data)


def test_cells_of_opendocument_sheets(read: Read) -> None:
    def cell(kind: str, value: str = "", more: str = "", text: str = "") -> str:
        paragraph = f"<text:p>{text}</text:p>" if text else ""
        stated = f"office:{'date-' * (kind == 'date')}value='{value}'" if value else ""
        return f"<table:table-cell office:value-type='{kind}' {stated} {more}>{paragraph}</table:table-cell>"

    first = cell("float", "1000.50", text="1.000,50") + cell("currency", "12.5", "office:currency='EUR'", "12,50 €")
    second = cell("date", "2026-03-14T10:30:00") + cell("boolean", text="TRUE") + cell("percentage", "0.125")
    third = "<table:covered-table-cell/>" + cell("string", text="x", more="table:number-columns-repeated='2'")
    rows = "".join(f"<table:table-row>{row}</table:table-row>" for row in (first, second, third))
    body = f"<table:table table:name='S'><table:table-row-group>{rows}</table:table-row-group></table:table>"
    documents = read("a.ods", opendocument("spreadsheet", body))
    assert texts(documents) == ["1000.5: 2026-03-14 10:30; 12.5 EUR: TRUE; 12.5%", "12.5 EUR: x; x"]
    assert [block.line for block in documents[0].blocks] == [2, 3]


def workbook(rows: str, strings: str = "", old: bool = False) -> bytes:
    styles = "<numFmts><numFmt numFmtId='170' formatCode='[$-407]d. mmm yy'/><numFmt numFmtId='171' formatCode='0.0%'/>"
    styles += "<numFmt numFmtId='172' formatCode='0 &quot;days&quot;'/></numFmts><cellXfs>"
    styles += "".join(f"<xf numFmtId='{form}'/>" for form in (0, 170, 171, 172, 20)) + "</cellXfs>"
    return archive(
        **{
            "_rels/.rels": related(a=("officeDocument", "/xl/book.xml")),
            "xl/book.xml": f"<workbook {NAMES}><workbookPr date1904='{int(old)}'/>"
            "<sheet name='S' r:id='a'/></workbook>",
            "xl/_rels/book.xml.rels": related(
                a=("worksheet", "s.xml"), b=("sharedStrings", "t.xml"), c=("styles", "../xl/c.xml")
            ),
            "xl/s.xml": f"<worksheet><sheetData>{rows}</sheetData></worksheet>",
            "xl/t.xml": f"<sst>{strings}</sst>",
            "xl/c.xml": f"<styleSheet>{styles}</styleSheet>",
        }
    )


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("<c s='1'><v>46095</v></c>", "2026-03-14"),
        ("<c s='1'><v>46095.4375</v></c>", "2026-03-14 10:30"),
        ("<c s='1'><v>9e15</v></c>", "9e15"),
        ("<c s='2'><v>0.125</v></c>", "12.5%"),
        ("<c s='3'><v>5</v></c>", "5"),
        ("<c s='4'><v>0.4375</v></c>", "10:30"),
        ("<c><v>0.1</v></c>", "0.1"),
        ("<c><v>1234567.0</v></c>", "1234567"),
        ("<c t='b'><v>1</v></c>", "TRUE"),
        ("<c t='e'><v>#REF!</v></c>", "#REF!"),
        ("<c t='str'><f>A1</f><v>made</v></c>", "made"),
        ("<c t='d'><v>2026-03-14T10:30:00</v></c>", "2026-03-14T10:30:00"),
        ("<c t='inlineStr'><is><r><t>in </t></r><r><t>line</t></r></is></c>", "in line"),
        ("<c t='s'><v>0</v></c>", "東京 tower"),
    ],
)
def test_cells_of_excel(read: Read, cell: str, shown: str) -> None:
    strings = "<si><r><t>東京</t></r><rPh><t>トウキョウ</t></rPh><r><t> tower</t></r></si>"
    assert texts(read("a.xlsx", workbook(f"<row>{cell}</row>", strings))) == [shown]


def test_dates_of_old_macintosh_workbooks(read: Read) -> None:
    assert texts(read("a.xlsx", workbook("<row><c s='1'><v>44633</v></c></row>", old=True))) == ["2026-03-14"]


def test_slides_with_notes_and_without_what_every_slide_repeats(read: Read) -> None:
    def shape(kind: str, *lines: str) -> str:
        paragraphs = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r><a:br/></a:p>" for line in lines)
        return f"<p:sp><p:nvPr><p:ph type='{kind}'/></p:nvPr><p:txBody>{paragraphs}</p:txBody></p:sp>"

    slide = shape("body", "first", "second") + shape("title", "Roof") + shape("sldNum", "7") + shape("ftr", "Zolla")
    data = archive(
        **{
            "ppt/presentation.xml": f"<p:presentation {NAMES}><p:sldId id='1' r:id='b'/><p:sldId id='2' r:id='a'/>"
            "</p:presentation>",
            "ppt/_rels/presentation.xml.rels": related(a=("slide", "slides/1.xml"), b=("slide", "slides/2.xml")),
            "ppt/slides/1.xml": f"<p:sld {NAMES}>{slide}</p:sld>",
            "ppt/slides/_rels/1.xml.rels": related(n=("notesSlide", "../notes/1.xml"), l=("slideLayout", "../l.xml")),
            "ppt/notes/1.xml": f"<p:notes {NAMES}>{shape('body', 'say it slowly')}{shape('sldNum', '7')}</p:notes>",
            "ppt/slides/2.xml": f"<p:sld {NAMES}>{shape('title', 'Offer')}</p:sld>",
        }
    )
    first, second = read("deck.pptx", data)
    assert (first.title, second.title) == ("Offer", "Offer, Roof")
    assert [(block.page, block.text) for block in second.blocks] == [
        *((2, "Roof"), (2, "first"), (2, "second"), (2, "Notes: say it slowly")),
    ]


RTF = {
    r"caf\'e9": "café",
    r"\f1\'e8\'e2\'e0\f0": "ива",
    r"\u1513?\u1500?": "של",
    r"\uc2\u8364\'80\'805": "€5",
    r"\uc0\u8364 5": "€5",
    r"\u-10179?\u-8704?": "😀",
    r"a\~b\_c\{d\}\\": "a b-c{d}\\",
    r"a{\*\unknown b}c": "ac",
    r"a{\footnote  note}": "a note",
    r"a{\pict 0a0b}{\header h}b": "ab",
    r"{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}": "link",
    r"a\bin3 }}}b": "ab",
    r"\intbl one\par more\cell two\cell\row": "one more | two",
    r"\ldblquote a\rdblquote\emdash b": "“a”—b",
}


@pytest.mark.parametrize(("body", "text"), RTF.items(), ids=RTF)
def test_rich_text(read: Read, body: str, text: str) -> None:
    data = rf"{{\rtf1\ansi\ansicpg1252{{\fonttbl{{\f0 A;}}{{\f1\fcharset204 B;}}}}\f0 {body}\par}} behind"
    assert texts(read("a.rtf", data)) == [text]


def test_rich_text_tells_title_author_and_date(read: Read) -> None:
    info = r"{\info{\title Roof {\i re}newal}{\author \u321?ukasz}{\creatim\yr2026\mo3\dy14\hr10\min30}{\doccomm no}}"
    (paper,) = read("a.rtf", rf"{{\rtf1{info}\pard text\par}}")
    assert (paper.title, paper.people, paper.date) == ("Roof renewal", ("Łukasz",), datetime(2026, 3, 14, 10, 30))


@pytest.mark.parametrize("data", [b"hello", b"{\\rtf1" + b"{" * 2000, b"{\\rtf1"], ids=["no rtf", "deep", "empty"])
def test_broken_rich_text_is_refused(read: Read, data: bytes) -> None:
    with pytest.raises(UnreadableFile, match=r"broken RTF file|no text in it"):
        read("a.rtf", data)


@pytest.mark.long
@pytest.mark.parametrize("piece", [b"{\\field{\\*\\fldinst ", b"\\f1", b"\\'e9", b"}{", b"\\bin1 ", b"{\\*", b"\\u1 "])
def test_rich_text_without_end_takes_linear_time(read: Read, piece: bytes) -> None:
    with pytest.raises(UnreadableFile):
        read("a.rtf", b"{\\rtf1" + piece * 200_000 + b"{" * 1001)
