"""Whatever a file holds, reading it gives documents or a reason."""

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
    ".pdf": b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\n"
    b"endobj\n3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F<</Type/Font"
    b"/Subtype/Type1/BaseFont/Helvetica>>>>>>>>\nendobj\n4 0 obj\n<</Length 30>>\nstream\nBT /F 1 Tf (Hello) Tj ET\n"
    b"endstream\nendobj\ntrailer\n<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n",
    ".docx": WORD,
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
    ]
)
"""A word or two of each format's grammar in the wrong place."""


def packed(document: bytes) -> bytes:
    """A Word file: what is damaged is the markup inside, for its archive has check sums."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("word/document.xml", document)
    return archive.getvalue()


@st.composite
def damaged(draw: st.DrawFn, valid: bytes) -> bytes:
    data = valid
    for _ in range(draw(st.integers(1, 4))):
        first, last = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        piece = draw(st.just(b"") | HOSTILE | st.binary(max_size=6) | st.just(data[first:last] * 2))
        data = data[:first] + piece + data[last:]
    return data


@pytest.mark.parametrize("suffix", VALID)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_file_gives_documents_or_a_reason(tmp_path: Path, suffix: str, data: st.DataObject) -> None:
    path = tmp_path / f"a{suffix}"
    content = data.draw(damaged(VALID[suffix]) | st.binary(max_size=200))
    path.write_bytes(packed(content) if suffix == ".docx" else content)
    try:
        documents = list(readers.read(path))
    except UnreadableFile as error:
        assert 0 < len(str(error)) < 100
    else:
        assert documents
        for document in documents:
            repr(document).encode()
            assert document.title or document.blocks
