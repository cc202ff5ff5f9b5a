from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge.readers.decoding import decode, limited_lines, lines_of, open_text
from shared.types import Document

Read = Callable[..., list[Document]]
GERMAN = "Liebe Grüße aus München, schöne Füße und ein Straßenbahnfahrer möchte Öl."
RUSSIAN = "Привет, как дела? Встретимся завтра в десять часов у метро."
JAPANESE = "こんにちは、明日の会議は十時から始まります。よろしくお願いします。"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "latin-1"])
def test_german_is_read_in_any_charset_it_is_written_in(encoding: str) -> None:
    assert decode(GERMAN.encode(encoding)) == GERMAN


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        ("你好,明天的会议十点开始,请准时参加。谢谢你的帮助。", "gb18030"),
        ("Chère Madame Lefèvre, voilà la réponse à votre lettre de février. À bientôt!", "cp1252"),
        ("Señora Núñez, mañana a las tres. Cost: £40", "cp1252"),
        ("Kjære Åse, blåbærsyltetøyet er ferdig på lørdag", "cp1252"),
        ("Perché la città è così bella oggi, dice Tomaso", "cp1252"),
        ("Zażółć gęślą jaźń, proszę przyjść jutro", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy. Dobrý den, jak se máte?", "cp1250"),
        ("Καλημέρα, πώς είσαι; Θα τα πούμε αύριο το πρωί.", "cp1253"),
    ],
)
def test_other_languages_are_guessed(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        ("Grüße".encode("cp1252"), "iso-8859-1", "Grüße"),
        ("“Grüße”".encode("cp1252"), "iso-8859-1", "“Grüße”"),
        ("Grüße".encode(), "iso-8859-1", "Grüße"),
        ("Grüße aus Köln".encode("cp1252"), "utf-8", "Grüße aus Köln"),
        ("Grüße aus Köln".encode("cp1252"), "us-ascii", "Grüße aus Köln"),
        (JAPANESE.encode("iso2022_jp"), "iso-2022-jp", JAPANESE),
        (b"plain", "no-such-charset", "plain"),
        (b"plain", "base64", "plain"),
        (b"plain", "\0", "plain"),
        (b"a-b", "punycode", "a-b"),
        (b"\\d", "unicode_escape", "\\d"),
        ("Grüße".encode(), None, "Grüße"),
    ],
)
def test_a_declared_charset_is_believed_as_far_as_it_goes(data: bytes, declared: str | None, text: str) -> None:
    assert decode(data, declared) == text


def test_a_damaged_byte_in_utf8_costs_one_character() -> None:
    assert decode(GERMAN.encode() + b"\xff" + GERMAN.encode()) == f"{GERMAN}\ufffd{GERMAN}"


@given(
    st.binary(max_size=300), st.text(max_size=12) | st.sampled_from(["utf-7", "utf-16", "hz", "idna", "rot13", "utf-8"])
)
def test_any_bytes_under_any_declaration_are_text(data: bytes, declared: str) -> None:
    assert isinstance(decode(data, declared), str)


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    assert lines_of("a\r\nb\rc\nd\fe\x85f\u2028g") == ["a", "b", "c", "d e f g"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_a_stream_finds_its_charset_even_late_in_the_file(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(("plain\r\n" * 30_000 + GERMAN + "\r\n").encode(encoding))
    with open_text(path) as stream:
        lines = list(limited_lines(stream, 1000))
    assert len(lines) == 30_001
    assert lines[-1] == GERMAN + "\n"


def test_an_endless_line_comes_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x" * 2500)
    with open_text(path) as stream:
        assert [len(line) for line in limited_lines(stream, 1000)] == [1000, 1000, 500]
