"""Making text from outside harmless for a terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.printable import printable, safe, safe_line


@given(st.text())
def test_safe_text_can_neither_steer_nor_reorder_the_terminal(text: str) -> None:
    shown = safe(text)
    assert not {c for c in shown if unicodedata.category(c) in {"Cc", "Cs"}} - {"\n", "\t"}
    assert not {c for c in shown if unicodedata.bidirectional(c) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI"}}
    assert "\n" not in safe_line(text)
    shown.encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain — ünï 👩‍👧 日本", "plain — ünï 👩‍👧 日本"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x1b]0;title\x07", "]0;title"),
        ("one\r\ntwo", "one\ntwo"),
        ("photo\u202egnp.exe", "photognp.exe"),
        ("caf\udce9.txt", "caf.txt"),
        ("in\u200bvoi\u00adce\U000e0041.pdf", "invoice.pdf"),
    ],
)
def test_safe_text_keeps_words(text: str, shown: str) -> None:
    assert safe(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("bell\x07 \x9b31m null\x00", "bell 31m null"),
        ("evil\u202egnp.exe", "evilgnp.exe"),
        ("half \ud800 pair", "half  pair"),
        ("👩‍👩‍👧 stays", "👩‍👩‍👧 stays"),
    ],
)
def test_printable_text_cannot_drive_a_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown
