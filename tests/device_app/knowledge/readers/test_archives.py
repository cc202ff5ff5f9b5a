"""Archives that would unpack to too much data, and files that are not valid archives."""

import io
import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from device_app.knowledge import readers
from device_app.knowledge.readers import archives, sheets, xlsx
from shared.errors import UnreadableFile
from shared.types import Document

Read = Callable[..., list[Document]]
FILES = Path(__file__).parent / "files"
ZIPPED = {
    "docx": "word/document.xml",
    "odt": "content.xml",
    "ods": "content.xml",
    "odp": "content.xml",
    "xlsx": "xl/worksheets/sheet1.xml",
    "pptx": "ppt/slides/slide2.xml",
    "epub": "OEBPS/sections/section0002.xhtml",
}
ENTITIES = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {after} "{f"&{before};" * 10}">' for before, after in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)


def changed(name: str, members: Mapping[str, bytes]) -> bytes:
    """Return the archive `name` with some of its members replaced or added."""
    result = io.BytesIO()
    with (
        zipfile.ZipFile(FILES / name) as before,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for member in before.namelist():
            after.writestr(member, members.get(member, before.read(member)))
        for member in members.keys() - set(before.namelist()):
            after.writestr(member, members[member])
    return result.getvalue()


@pytest.mark.parametrize("kind", ZIPPED)
def test_a_zip_bomb_is_refused_before_it_is_unpacked(read: Read, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = changed(f"libreoffice.{kind}", {ZIPPED[kind]: bytes(30 << 20)})
    assert len(data) < 200_000

    def unpack(*_: object, **__: object) -> None:
        raise AssertionError("unpacked")

    monkeypatch.setattr(zipfile.ZipFile, "open", unpack)
    with pytest.raises(UnreadableFile, match=r"a zip bomb: .* would unpack to 31,457,280"):
        read(f"a.{kind}", data)


@pytest.mark.parametrize("kind", ZIPPED)
def test_a_bomb_of_entities_is_refused(read: Read, kind: str) -> None:
    with zipfile.ZipFile(FILES / f"libreoffice.{kind}") as archive:
        markup = archive.read(ZIPPED[kind]).decode()
    declaration, _, root = markup.rpartition("?>")
    bomb = f"{declaration}?>{ENTITIES}{root.replace('Zolla', '&i;').replace('Tiles', '&i;')}"
    data = changed(f"libreoffice.{kind}", {ZIPPED[kind]: bomb.encode()})
    if kind == "epub":  # chapters are read as HTML, which knows no entities of a file's own
        assert sum(len(block.text) for document in read("a.epub", data) for block in document.blocks) < 1000
        return
    with pytest.raises(UnreadableFile, match="broken"):
        read(f"a.{kind}", data)


def test_too_many_members_are_refused(read: Read) -> None:
    members = dict.fromkeys((f"{number}.xml" for number in range(archives.MOST_MEMBERS)), b"")
    with pytest.raises(UnreadableFile, match="more than 10,000"):
        read("a.odt", changed("libreoffice.odt", members))


def test_members_too_large_together_are_refused(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_UNPACKED", 1 << 20)
    members = {f"{number}.xml": bytes(1 << 19) for number in range(2)}
    with pytest.raises(UnreadableFile, match=r"would unpack to 1 MB"):
        read("a.odt", changed("libreoffice.odt", members))


def test_a_blank_picture_is_no_zip_bomb(read: Read) -> None:
    assert read("a.docx", changed("libreoffice.docx", {"word/media/a.bmp": bytes(30 << 20)}))


@pytest.mark.parametrize("kind", ZIPPED)
def test_what_office_encrypts_is_named(read: Read, kind: str) -> None:
    with pytest.raises(UnreadableFile, match="encrypted, or a file of an Office before 2007"):
        read(f"a.{kind}", bytes.fromhex("D0CF11E0A1B11AE1") + bytes(1000))


def sheet(rows: str) -> bytes:
    """Return an Excel workbook whose first sheet consists of these rows."""
    start = "<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><sheetData>"
    return changed("openpyxl.xlsx", {"xl/worksheets/sheet1.xml": f"{start}{rows}</sheetData></worksheet>".encode()})


def table(rows: str) -> bytes:
    """Return an OpenDocument spreadsheet that consists of these rows."""
    with zipfile.ZipFile(FILES / "odfpy.ods") as archive:
        content = archive.read("content.xml").decode()
    first, last = content.index("<table:table-row"), content.index("</table:table>")
    return changed("odfpy.ods", {"content.xml": (content[:first] + rows + content[last:]).encode()})


CELL = "<table:table-cell office:value-type='float' office:value='{}'/>"


def read_in_part(path: Path, data: bytes) -> tuple[int, list[str]]:
    """The number of rows read, and what was left out."""
    path.write_bytes(data)
    omitted: list[str] = []
    documents = list(readers.read(path, on_omitted=omitted.append))
    return sum(len(document.blocks) for document in documents if "People" not in document.title), omitted


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_the_rows_after_the_most_are_counted(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MOST_ROWS", 3000)
    monkeypatch.setattr(xlsx, "MOST_ROWS", 3000)
    if kind == "xlsx":
        data = sheet("".join(f"<row r='{n}'><c r='A{n}'><v>{n}</v></c><c><v>1</v></c></row>" for n in range(1, 5001)))
    else:
        data = table("".join(f"<table:table-row>{CELL.format(n) * 2}</table:table-row>" for n in range(5000)))
    read, omitted = read_in_part(tmp_path / f"a.{kind}", data)
    assert read == 2999  # the first names the columns
    assert omitted == ["2,000 rows of the sheet “Costs” after the first 3,000"]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_sheet_of_a_million_rows_is_cut(tmp_path: Path, kind: str) -> None:
    if kind == "xlsx":
        rows = "".join(f"<row r='{n}'><c r='A{n}'><v>{n}</v></c><c><v>1</v></c></row>" for n in range(1, 1_000_001))
        data = sheet(rows)
    else:
        data = table(f"<table:table-row table:number-rows-repeated='1000000'>{CELL.format(1) * 2}</table:table-row>")
    read, omitted = read_in_part(tmp_path / f"a.{kind}", data)
    assert read == 49_999
    assert omitted == ["950,000 rows of the sheet “Costs” after the first 50,000"]


def test_a_million_empty_rows_and_columns_are_nothing(tmp_path: Path) -> None:
    cells = CELL.format(1) + "<table:table-cell table:number-columns-repeated='16383'/>"
    rows = f"<table:table-row>{cells}</table:table-row><table:table-row table:number-rows-repeated='1048574'>"
    rows += "<table:table-cell table:number-columns-repeated='16384'/></table:table-row>"
    assert read_in_part(tmp_path / "a.ods", table(rows * 2)) == (1, [])


def test_a_row_of_too_many_cells_is_refused(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="more than 100,000 cells in a row"):
        read("a.xlsx", sheet("<row r='1'>" + "<c><v>1</v></c>" * 60_000 + "</row>"))


def test_a_cell_far_to_the_right_takes_no_room(read: Read) -> None:
    rows = "<row r='1'><c r='A1'><v>1</v></c><c r='XFD1'><v>2</v></c></row>"
    assert [block.text for block in read("a.xlsx", sheet(rows))[0].blocks] == ["1"]


def test_formulas_that_nobody_computed_are_counted(tmp_path: Path) -> None:
    cells = "<c><v>1</v></c><c><f>A1*2</f></c><c><f>A1*3</f><v>3</v></c><c r='XFD1'><v>2</v></c>"
    rows = "".join(f"<row r='{number}'>{cells}</row>" for number in range(1, 4))
    assert read_in_part(tmp_path / "a.xlsx", sheet(rows)) == (
        *(2, ["3 formulas without a computed value", "3 cells after column 1,000"]),
    )


def test_chapters_that_are_no_text_are_counted(tmp_path: Path) -> None:
    data = changed("libreoffice.epub", {ZIPPED["epub"]: bytes(range(256)) * 9})
    assert read_in_part(tmp_path / "a.epub", data)[1] == ["1 of 3 chapters, broken or copy protected"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.data())
@pytest.mark.parametrize("kind", ZIPPED)
def test_a_file_with_bytes_changed_gives_documents_or_a_reason(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    content = bytearray((FILES / f"libreoffice.{kind}").read_bytes())
    places = st.integers(0, len(content) - 1) | st.integers(len(content) - 600, len(content) - 1)  # the list of members
    for place, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=6)):
        content[place] = byte
    path = tmp_path / f"a.{kind}"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))])
    try:
        assert list(readers.read(path))
    except UnreadableFile as error:
        assert 0 < len(str(error)) < 100


def test_rows_and_dates_that_no_sheet_can_have_are_read_as_they_stand(read: Read) -> None:
    rows = "".join(f"<row r='{r}'><c><v>{value}</v></c></row>" for r, value in ((-5, "x"), (10**30, 2), (9, "1e400")))
    assert [block.line for block in read("a.xlsx", sheet(rows))[0].blocks] == [2, 9]


def test_a_row_repeated_without_end_is_counted_without_being_read(tmp_path: Path) -> None:
    rows = f"<table:table-row table:number-rows-repeated='{10**30}'>{CELL.format(1) * 2}</table:table-row>" * 1000
    assert read_in_part(tmp_path / "a.ods", table(rows)) == (
        *(49_999, ["1,048,526,000 rows of the sheet “Costs” after the first 50,000"]),
    )


def test_a_row_of_one_cell_without_end_is_refused_while_it_is_read(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_XML", 1 << 20)
    text = random.Random(1).randbytes(1 << 20).hex()
    with pytest.raises(UnreadableFile, match="1 MB of text and markup in a row"):
        read("a.xlsx", sheet(f"<row r='1'><c t='str'><v>{text}</v></c></row>"))


def test_a_text_that_many_cells_share_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MOST_CHARACTERS", 1_000_000)
    monkeypatch.setattr(sheets, "_LONGEST_ROW", 1000)
    start = "<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><sheetData>"
    rows = "<row><c t='s'><v>0</v></c><c t='s'><v>0</v></c></row>" * 5000
    members = {
        "xl/worksheets/sheet1.xml": f"{start}{rows}</sheetData></worksheet>".encode(),
        "xl/sharedStrings.xml": f"<sst><si><t>{'x' * 30_000}</t></si></sst>".encode(),
    }
    path = tmp_path / "a.xlsx"
    path.write_bytes(changed("libreoffice.xlsx", members))
    omitted: list[str] = []
    costs, *_ = readers.read(path, on_omitted=omitted.append)
    characters = [len(block.text) for block in costs.blocks]
    assert characters == [1000] * 2000
    assert omitted == ["2,999 rows of the sheet “Costs” after the first 2,001"]


def test_a_chapter_a_slide_and_a_sheet_that_are_named_again_and_again_are_read_once(read: Read) -> None:
    for kind, part, named in (
        ("epub", "OEBPS/content.opf", "<itemref"),
        ("pptx", "ppt/presentation.xml", "<p:sldId "),
        ("xlsx", "xl/workbook.xml", "<sheet "),
    ):
        with zipfile.ZipFile(FILES / f"libreoffice.{kind}") as archive:
            markup = archive.read(part).decode()
        first = markup.index(named)
        item = markup[first : markup.index("/>", first) + 2]
        data = changed(f"libreoffice.{kind}", {part: markup.replace(item, item * 1000).encode()})
        assert len(read(f"a.{kind}", data)) == len(read(f"b.{kind}", (FILES / f"libreoffice.{kind}").read_bytes()))
