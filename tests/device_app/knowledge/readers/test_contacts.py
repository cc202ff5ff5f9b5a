"""Contacts in vCard files, as phones and address books write them."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from device_app.english import query
from device_app.everyday.persons import Persons
from device_app.everyday.rule import Asked
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from device_app.knowledge.readers.contacts import read_vcf
from models.fake import FakeEmbedder
from shared.errors import UnreadableFile
from shared.types import Document
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.everyday.conftest import NOW

Read = Callable[..., list[Document]]

APPLE = (
    "BEGIN:VCARD\r\nVERSION:3.0\r\nPRODID:-//Apple Inc.//macOS 14.5//EN\r\nN:Berg;Anna;;Dr.;\r\nFN:Dr. Anna Berg\r\n"
    "NICKNAME:Anni\r\nORG:Berg & Söhne\\, Ltd;Roofs;\r\nTITLE:Engineer\r\n"
    "EMAIL;type=INTERNET;type=WORK;type=pref:anna@ber\r\n"
    " g.example\r\nTEL;type=CELL;type=VOICE;type=pref:+386 41 555 012\r\nTEL;type=WORK;type=FAX:01 555 99\r\n"
    "item1.TEL:031 555 777\r\nitem1.X-ABLabel:_$!<Assistant>!$_\r\n"
    "item2.ADR;type=HOME;type=pref:;;Salita 14;Trieste;;34100;Italy\r\nBDAY;X-APPLE-OMIT-YEAR=1604:1604-05-03\r\n"
    "NOTE:Met at the\\nboathouse\\, 2024\r\nPHOTO;ENCODING=b;TYPE=JPEG:" + "\r\n ".join(["QUJD" * 18] * 200) + "\r\n"
    "UID:abc-1\r\nEND:VCARD\r\n"
)
ANDROID_2_1 = (
    "BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C5=BDnidar=C5=A1i=C4=8D;Jo=C5=BE=\r\n"
    "e;;;\r\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Jo=C5=BEe =\r\n=C5=BDnidar=C5=A1i=C4=8D\r\n"
    "TEL;CELL:041555013\r\nTEL;HOME;PREF:01 555 0133\r\nEMAIL;INTERNET:joze@z.example\r\nBDAY:19800712\r\nEND:VCARD\r\n"
)
GNOME_4 = (
    "BEGIN:VCARD\nVERSION:4.0\nUID:urn:uuid:4fbe8971\nFN:Lena Kos\nN:Kos;Lena;;;\nBDAY:--0704\n"
    'TEL;VALUE=uri;PREF=1;TYPE="voice,home":tel:+1-555-555-5555;ext=5555\nEMAIL;TYPE=work:lena@kos.example\n'
    'ADR;LABEL="12 Mill: Road";TYPE=home:;;12 Mill Road;Lyon;;;France\nKIND:individual\nEND:VCARD\n'
    "BEGIN:VCARD\nVERSION:4.0\nKIND:group\nFN:Rowers\nMEMBER:urn:uuid:4fbe8971\nEND:VCARD\n"
)


def lines(document: Document) -> list[str]:
    return [block.text for block in document.blocks]


def test_a_card_of_version_3(read: Read) -> None:
    (card,) = read("a.vcf", APPLE.encode())
    assert (card.key, card.kind, card.title) == ("abc-1", "contact", "Dr. Anna Berg")
    assert card.people == (
        "Dr. Anna Berg <anna@berg.example>",
        "Dr. Anna Berg <+386 41 555 012>",
        "Dr. Anna Berg <031 555 777>",
    )
    assert lines(card) == [
        "Dr. Anna Berg (Anni), Engineer, Berg & Söhne, Ltd, Roofs",
        "The work e-mail address of Dr. Anna Berg is anna@berg.example.",
        "The mobile number of Dr. Anna Berg is +386 41 555 012.",
        "The fax number of Dr. Anna Berg is 01 555 99.",
        "The assistant number of Dr. Anna Berg is 031 555 777.",
        "The home address of Dr. Anna Berg is Salita 14, Trieste, 34100, Italy.",
        "Dr. Anna Berg's birthday is on 3 May.",
        "Note: Met at the boathouse, 2024",
    ]


def test_a_card_of_version_2_1_in_quoted_printable(read: Read) -> None:
    (card,) = read("a.vcf", ANDROID_2_1.encode())
    assert card.title == "Jože Žnidaršič"
    assert lines(card)[1:] == [
        "The mobile number of Jože Žnidaršič is 041555013.",
        "The home number of Jože Žnidaršič is 01 555 0133.",
        "The e-mail address of Jože Žnidaršič is joze@z.example.",
        "Jože Žnidaršič's birthday is on 12 July 1980.",
    ]


def test_cards_of_version_4_without_groups_of_people(read: Read) -> None:
    (card,) = read("a.vcard", GNOME_4.encode())
    assert card.people == ("Lena Kos <+1-555-555-5555>", "Lena Kos <lena@kos.example>")
    assert lines(card)[1:] == [
        "Lena Kos's birthday is on 4 July.",
        "The home number of Lena Kos is +1-555-555-5555.",
        "The work e-mail address of Lena Kos is lena@kos.example.",
        "The home address of Lena Kos is 12 Mill Road, Lyon, France.",
    ]


@pytest.mark.parametrize(
    ("data", "titles"),
    [
        (b"BEGIN:VCARD\nFN:A B\nTEL:123456\n", ["A B"]),  # no end
        (b"BEGIN:VCARD\nFN:A B\nBEGIN:VCARD\nFN:C D\nTEL:1\nEND:VCARD\n", ["A B", "C D"]),
        (b"\xef\xbb\xbfbegin:vcard\nfn:A B\nend:vcard\n", ["A B"]),
        (b"BEGIN:VCARD\nFN:A\0 B\nTEL:12\0 34 56\nEND:VCARD\n", ["A B"]),
        (b"BEGIN:VCARD\nN:B;A;;;\nEND:VCARD\n", ["A B"]),
        (b"BEGIN:VCARD\nORG:Bakery;\nTEL:123456\nEND:VCARD\n", ["Bakery"]),
        (b"BEGIN:VCARD\nFN:A <b> B\nTEL\n:\n;:x\nTEL;TYPE=:\nEND:VCARD\nEND:VCARD\nTEL:1\n", ["A b B"]),
        (b"BEGIN:VCARD\nFN;ENCODING=QUOTED-PRINTABLE:A =\n", ["A"]),
        (b"BEGIN:VCARD\nTEL:1\nEND:VCARD\nBEGIN:VCARD\nFN:A B\nEND:VCARD\n", ["A B"]),
    ],
)
def test_broken_cards_are_read_as_far_as_they_go(read: Read, data: bytes, titles: list[str]) -> None:
    assert [document.title for document in read("a.vcf", data)] == titles


@pytest.mark.parametrize("line", [b'TEL;TYPE="cell', b"TEL;" + b'"' * 9])
def test_a_property_without_a_value_is_left_out(read: Read, line: bytes) -> None:
    (card,) = read("a.vcf", b"BEGIN:VCARD\nFN:A B\n" + line + b"\nEND:VCARD\n")
    assert lines(card) == ["A B"]


def test_a_file_without_a_card_is_refused(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="not a file of contacts"):
        read("a.vcf", b"FN:A B\n")


@pytest.mark.parametrize(
    "line", [b"PHOTO:" + b"A" * 100_000_000, b"NOTE:" + b"x " * 1_000_000, b"NOTE:" + b"x\n " * 50_000]
)
def test_a_large_card_takes_little_memory(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "a.vcf"
    path.write_bytes(b"BEGIN:VCARD\nFN:A B\n" + line + b"\nTEL:123456\nEND:VCARD\n")
    tracemalloc.start()
    (card,) = read_vcf(path, 1 << 20)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert card.people == ("A B <123456>",)
    assert sum(len(block.text) for block in card.blocks) < 20_000
    assert most < 2_000_000


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what's Anna Berg's number?", "Dr. Anna Berg · +386 41 555 012 · 031 555 777"),
        ("Lena's email", "Lena Kos · lena@kos.example"),
        ("when is Jože's birthday?", "Jože Žnidaršič's birthday is on 12 July 1980."),
        ("who is Anna Berg?", "> Dr. Anna Berg (Anni), Engineer, Berg & Söhne, Ltd"),
    ],
)
def test_questions_for_contacts_are_answered(tmp_path: Path, question: str, answer: str) -> None:
    for name, text in (("a.vcf", APPLE), ("b.vcf", ANDROID_2_1), ("c.vcf", GNOME_4)):
        (tmp_path / name).write_text(text)
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([*tmp_path.glob("*.vcf")])
    ruled = Persons(store, known_people(store.database)).answer(Asked(query.parse(question, NOW.date()), NOW))
    assert ruled
    assert answer in ruled.text


def test_numbers_of_people_of_one_name_are_not_mixed(tmp_path: Path) -> None:
    people = (("Ada Berg", "0101 555"), ("Ada Bergmann", "0102 555"))
    cards = "".join(f"BEGIN:VCARD\nFN:{name}\nTEL:{number}\nEND:VCARD\n" for name, number in people)
    (tmp_path / "a.vcf").write_text(cards)
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path / "a.vcf"])
    for question in ("what is Ada's number?", "who is Ada?"):
        rule = Persons(store, known_people(store.database))
        ruled = rule.answer(Asked(query.parse(question, NOW.date()), NOW))
        assert ruled
        assert ruled.text.startswith("Ada Berg · 0101 555\n\nAda Bergmann · 0102 555\n\n")
        items = [item.as_json() for item in ruled.items]
        assert [(item["name"], item["numbers"]) for item in items] == [(name, (number,)) for name, number in people]
