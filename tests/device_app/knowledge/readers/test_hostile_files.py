"""Reading a file with any content gives documents or a reason why not."""

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from device_app.knowledge import readers
from shared.errors import UnreadableFile

WORD = (
    b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:pPr><w:numPr>'
    b'<w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>H</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:tcPr>'
    b'<w:vMerge/><w:gridSpan w:val="2"/></w:tcPr><w:p/></w:tc></w:tr></w:tbl><w:footnoteReference w:id="2"/>'
    b'<w:hyperlink w:anchor="a"/></w:body></w:document>'
)
ODF = (
    "<office:document-content xmlns:office='urn:oasis:names:tc:opendocument:xmlns:office:1.0' xmlns:t"
    "ext='urn:oasis:names"
    ":tc:opendocument:xmlns:text:1.0' xmlns:table='urn:oasis:names:tc:opendocument:xmlns:table:1.0' x"
    "mlns:draw='urn:oasis"
    ":names:tc:opendocument:xmlns:drawing:1.0' xmlns:presentation='urn:oasis:names:tc:opendocument:xm"
    "lns:presentation:1.0"
    "'><office:body><office:{0}>{1}</office:{0}></office:body></office:document-content>"
)
# A valid file of each format; each is cut, has pieces repeated and hostile ones put in.
VALID = {
    ".txt": b"[14.03.26, 09:30:05] Ana: Hi\n[14.03.26, 09:31:00] Bo: Ho\n",
    ".md": b"---\ntitle: T\n---\n# H\n\n*a* [b](c)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    ".org": b"#+TITLE: T\n* TODO a :b:\nSCHEDULED: <2026-03-14 Sat>\n[[a][b]]\n",
    ".html": b"<title>T</title><main><p>a &amp; <b>b</b></p><table><tr><td>1<td>2</table></main>",
    ".eml": b"From: =?utf-8?q?A?= <a@x.org>\nDate: Sat, 14 Mar 2026 10:00:00 +0100\nContent-Type: multipart/mixed;"
    b" boundary=b\n\n--b\nContent-Type: text/html; charset=utf-8\n\n<p>Hi\n--b\nContent-Type: text/plain;"
    b" name*=utf-8''a.txt\nContent-Disposition: attachment; filename=a\nContent-Transfer-Encoding: base64\n\neA=="
    b"\n--b--",
    ".mbox": b"From a Sat Mar 14 10:00:00 2026\nSubject: a\n\n>From x\n\nFrom b Sat Mar 14 10:00:00 2026\n\n> y\n",
    ".csv": b'a;b\n"1;\n2";3\n',
    ".json": b'{"name": "a", "messages": [{"from": "A", "text": ["b", {"text": "c"}], "date": "2026-03-14"}]}',
    ".jsonl": b'{"from": "A", "subject": "s", "body": "b", "date": 1773482400}\n{"a": {"b": [1, null]}}\n',
    ".ics": b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART;TZID=Europe/Rome:20260314T100000\r\nDURATION:PT1H\r\n"
    b"RRULE:FREQ=WEEKLY;BYDAY=-1TU;UNTIL=20260601\r\nATTENDEE;CN=A:mailto:a@x\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
    ".vcf": b'BEGIN:VCARD\nVERSION:2.1\nN:B;A;;;\nTEL;CELL;X="a:b":1234\nitem1.ADR;TYPE=home:;;a\\,b\n c;;\n'
    b"NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=latin1:=C3=\n=A9\nBDAY:19800712\nEND:VCARD\nBEGIN:VCARD\nFN:A\n",
    ".pdf": b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\n"
    b"endobj\n3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F<</Type/Font"
    b"/Subtype/Type1/BaseFont/Helvetica>>>>>>>>\nendobj\n4 0 obj\n<</Length 30>>\nstream\nBT /F 1 Tf (Hello) Tj ET\n"
    b"endstream\nendobj\ntrailer\n<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n",
    ".docx": WORD,
    ".rtf": b"{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0\\fcharset204 A;}}{\\stylesheet{\\s1\\outlinele"
    b"vel0 heading 1;}}{\\info{\\title T}"
    b"{\\creatim\\yr2026\\mo3\\dy14}}\\pard\\s1 H\\par\\pard\\f0\\'e9\\u1495?\\uc2\\u-10179??{\\*\\x y"
    b"}\\intbl a\\cell b\\cell\\row}",
    ".odt": ODF.format(
        "text",
        "<text:h text:outline-level='1'>H</text:h><text:p>a<text:s/>b<draw:frame><text:p>c</text:p>"
        "</draw:frame></text:p><table:table><table:table-row><table:table-cell><text:p>d</text:p></table:table-cell>"
        "</table:table-row></table:table>",
    ).encode(),
    ".odp": ODF.format(
        "presentation",
        "<draw:page><draw:frame presentation:class='title'><text:p>T</text:p></draw:frame>"
        "<presentation:notes><text:p>n</text:p></presentation:notes></draw:page>",
    ).encode(),
    ".ods": ODF.format(
        "spreadsheet",
        "<table:table table:name='S'><table:table-row table:number-rows-repeated='3'>"
        "<table:table-cell office:value-type='float' office:value='1.5'/><table:table-cell table:numb"
        "er-columns-repeated='9'>"
        "<text:p>x</text:p></table:table-cell></table:table-row></table:table>",
    ).encode(),
    ".xlsx": b"<worksheet><sheetData><row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1' t='inlineStr'><i"
    b"s><t>x</t></is></c></row>"
    b"<row r='2'><c r='A2' s='1'><v>46000.5</v></c><c t='b'><v>1</v></c></row></sheetData></worksheet>",
    ".pptx": b"<p:sld xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' xmlns:a='ht"
    b"tp://schemas.openxml"
    b"formats.org/drawingml/2006/main'><p:sp><p:nvPr><p:ph type='title'/></p:nvPr><a:p><a:r><a:t>T</a:"
    b"t></a:r></a:p></p:sp>"
    b"<a:tr><a:tc><a:p><a:t>c</a:t></a:p></a:tc></a:tr></p:sld>",
    ".epub": b"<package><metadata><title>T</title></metadata><manifest><item id='c' href='c.xhtml' med"
    b"ia-type='application/xhtml+xml"
    b"'/><item id='n' href='n.ncx' media-type='application/x-dtbncx+xml'/></manifest><spine><itemref i"
    b"dref='c'/></spine></package>",
}
HOSTILE = st.sampled_from(
    [
        *(
            b"\0",
            b"\xff\xfe",
            b'"',
            b"((((",
            b"\r",
            b"\n\n",
            b"{",
            b"[[",
            b"<!--",
            b"<",
            b"&#xD800;",
            b"\\ud800",
            b"NaN",
        ),
        *(b"=?x?b?z?=", b"1e999", b"-1", b"9" * 25, b"DTSTART:0", b"TZID=", b"BYDAY=99ZZ", b"charset=idna"),
        *(b"filename*=a", b"x-uuencode", b" obj", b"stream", b"\x1b[2J", b'w:val="x"', b"<w:p>", b"</w:tc>"),
        *(b"\\bin9", b"\\u", b"{\\*", b"repeated='1e9'", b"r='0'", b"t='s'", b"..", b"<!DOCTYPE a [<!ENTITY b 'c'>]>"),
    ]
)
"""Short pieces of each format's syntax, inserted in wrong places."""


RELATION = "<Relationship Id='{}' Type='/{}' Target='{}'/>"


def related(*relations: str) -> str:
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f"<Relationships xmlns='{space}'>{''.join(relations)}</Relationships>"


REFERRING = "xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'"
# The member that is damaged, for an archive has check sums, and those about it that are not.
ARCHIVES: dict[str, tuple[str, dict[str, str]]] = {
    ".docx": ("word/document.xml", {}),
    **dict.fromkeys((".odt", ".odp", ".ods"), ("content.xml", {})),
    ".xlsx": (
        "xl/sheet.xml",
        {
            "xl/workbook.xml": f"<workbook {REFERRING}><sheet name='S' r:id='a'/></workbook>",
            "xl/_rels/workbook.xml.rels": related(
                RELATION.format("a", "worksheet", "sheet.xml"),
                RELATION.format("b", "sharedStrings", "strings.xml"),
                RELATION.format("c", "styles", "styles.xml"),
            ),
            "xl/strings.xml": "<sst><si><t>x</t></si></sst>",
            "xl/styles.xml": "<styleSheet><cellXfs><xf/><xf numFmtId='14'/></cellXfs></styleSheet>",
        },
    ),
    ".pptx": (
        "ppt/slide.xml",
        {
            "ppt/presentation.xml": "<p:presentation xmlns:p='http://schemas.openxmlformats.org/prese"
            "ntationml/2006/main' "
            f"{REFERRING}><p:sldId r:id='a'/></p:presentation>",
            "ppt/_rels/presentation.xml.rels": related(RELATION.format("a", "slide", "slide.xml")),
        },
    ),
    ".epub": (
        "a.opf",
        {
            "META-INF/container.xml": "<container><rootfile full-path='a.opf'/></container>",
            "c.xhtml": "<h1>H</h1><p>x</p>",
            "n.ncx": "<ncx><navPoint><navLabel><text>N</text></navLabel><content src='c.xhtml#a'/></navPoint></ncx>",
        },
    ),
}


def packed(suffix: str, document: bytes) -> bytes:
    """Return the file with the damaged document; in an archive, the document is the markup inside."""
    if suffix not in ARCHIVES:
        return document
    archive = io.BytesIO()
    damaged_member, others = ARCHIVES[suffix]
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr(damaged_member, document)
        for name, content in others.items():
            members.writestr(name, content)
    return archive.getvalue()


@st.composite
def damaged(draw: st.DrawFn, valid: bytes) -> bytes:
    data = valid
    for _ in range(draw(st.integers(1, 4))):
        first, last = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        piece = draw(st.just(b"") | HOSTILE | st.binary(max_size=6) | st.just(data[first:last] * 2))
        data = data[:first] + piece + data[last:]
    return data


@pytest.mark.parametrize("suffix", [".rtf", ".odt", ".odp", ".ods", ".xlsx", ".pptx", ".epub"])
def test_the_valid_files_are_valid(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(packed(suffix, VALID[suffix]))
    assert list(readers.read(path))


@pytest.mark.parametrize("suffix", VALID)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_file_gives_documents_or_a_reason(tmp_path: Path, suffix: str, data: st.DataObject) -> None:
    path = tmp_path / f"a{suffix}"
    content = data.draw(damaged(VALID[suffix]) | st.binary(max_size=200))
    path.write_bytes(packed(suffix, content))
    try:
        documents = list(readers.read(path))
    except UnreadableFile as error:
        assert 0 < len(str(error)) < 100
    else:
        assert documents
        for document in documents:
            repr(document).encode()
            assert document.title or document.blocks
