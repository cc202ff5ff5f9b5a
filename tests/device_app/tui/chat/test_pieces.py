"""The Markdown of an answer is divided into pieces: no text is lost, and no piece that can be divided is long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.tui.chat.pieces import MOST_CHARACTERS, MOST_WIDGETS, height, pieces

LINES = st.sampled_from(
    ["word " * 80, "- item", "  - inner", "1. one", "> said", "", "```", "| a | b |", "|---|---|", "# x"]
)


@given(st.lists(LINES, max_size=60).map("\n".join) | st.text(st.characters(exclude_characters="\r")))
def test_joined_they_are_the_text(text: str) -> None:
    assert "".join(piece.text for piece in pieces(text)) == text


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("word " * 80 + "\n\n", MOST_CHARACTERS // 400),
        ("- item\n", MOST_WIDGETS // 4),
        ("1. item\n", MOST_WIDGETS // 4),
        ("# Heading\n", MOST_WIDGETS),
        ("---\n", MOST_WIDGETS),
    ],
)
def test_each_holds_so_many_blocks_at_the_most(text: str, most: int) -> None:
    parts = pieces(text * 200)
    assert len(parts) >= 200 // most
    assert max(piece.text.count("\n") // text.count("\n") for piece in parts) <= most
    assert not any(piece.plain for piece in parts)


def test_what_is_written_later_leaves_the_first_pieces_as_they_were() -> None:
    text = "".join(f"{number}. item {'word ' * (number % 9)}\n" for number in range(1, 120))
    whole = pieces(text)
    for end in range(0, len(text), 97):
        early = pieces(text[:end])
        assert early[:-1] == whole[: len(early) - 1]


def test_a_list_that_is_cut_goes_on() -> None:
    parts = pieces("- item\n" * 100 + "\nThe end.")
    assert [piece.goes_on for piece in parts[:2]] == [True, True]
    assert not parts[-1].goes_on


@pytest.mark.parametrize("text", ["| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 500, "- a\n" + "  - b\n" * 500])
def test_what_cannot_be_cut_and_is_heavy_is_shown_as_it_was_written(text: str) -> None:
    before, heavy, behind = pieces(f"Before.\n\n{text}\nBehind.")
    assert (before.plain, heavy.plain, behind.plain) == (False, True, False)
    assert heavy.markdown.endswith(heavy.text)


def test_rows_are_guessed_by_the_width() -> None:
    assert height("word " * 20 + "\n\nshort\n", 50) == 5
