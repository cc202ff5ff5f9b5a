"""Cutting text into sentences and passages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.printable import printable
from shared.text import PASSAGE_WORDS, count_words, passages, sentences
from shared.types import Block


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
        ("Dr. Smith met J. Doe at St. Ives. They ate.", ["Dr. Smith met J. Doe at St. Ives.", "They ate."]),
        ("It cost 3.5 dollars, i.e. nothing.", ["It cost 3.5 dollars, i.e. nothing."]),
        ("- one\n- two\n\n  - three", ["- one", "- two", "- three"]),
        ("雨が降る。寒い。", ["雨が降る。", "寒い。"]),
        ("  \n ", []),
    ],
)
def test_sentences(text: str, cut: list[str]) -> None:
    assert sentences(text) == cut


@given(st.text(st.characters(codec="utf-8")))
def test_cutting_sentences_loses_no_word(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(st.lists(st.text(max_size=600), max_size=8), st.integers(4, 40))
def test_passages_hold_every_word_once_and_are_bounded(texts: list[str], words: int) -> None:
    import unicodedata

    cut = passages([Block(text) for text in texts], words)
    assert [passage.ordinal for passage in cut] == list(range(len(cut)))
    held = "".join("".join(passage.text.split()) for passage in cut)
    given_text = "".join("".join(unicodedata.normalize("NFC", printable(text)).split()) for text in texts)
    assert held == given_text
    # A remainder of up to a quarter may have joined.
    assert all(count_words(passage.text) <= words * 1.5 for passage in cut)


def test_passages_are_about_the_length_asked_for() -> None:
    text = " ".join(f"This is sentence number {number} of them." for number in range(200))
    cut = passages([Block(text)])
    assert all(PASSAGE_WORDS * 0.75 <= count_words(passage.text) <= PASSAGE_WORDS * 1.25 for passage in cut)


def test_a_passage_knows_where_it_begins() -> None:
    lines = "\n".join(f"Line number {number} holds exactly seven words." for number in range(1, 101))
    cut = passages([Block(lines, line=1), Block("A page.", page=3)], words=35)
    for passage in cut:
        assert passage.text.startswith(f"Line number {passage.line} ")
    assert cut[1].line == 7


@pytest.mark.parametrize("length", [1_000, 100_000])
def test_text_without_a_space_is_cut_too(length: int) -> None:
    cut = passages([Block("x" * length)])
    assert sum(len(passage.text) for passage in cut) == length
    assert max(len(passage.text) for passage in cut) <= 40 * PASSAGE_WORDS * 1.5
