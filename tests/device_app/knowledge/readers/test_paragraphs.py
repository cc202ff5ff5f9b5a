from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge.readers.paragraphs import joined_blocks, numbered_blocks

WRAPPED = """The council met on Tuesday evening to talk about the cistern, and nobody
brought the plans. Petra promised to look for them in the archive, which is
closed until May.

Then we went home."""


def test_a_wrapped_paragraph_is_one_block_with_the_line_it_begins_on() -> None:
    blocks = list(numbered_blocks(WRAPPED.split("\n")))
    assert [(block.line, block.text.count("\n")) for block in blocks] == [(1, 2), (5, 0)]


def test_where_lines_have_no_numbers_wrapping_is_undone() -> None:
    first, second = joined_blocks(WRAPPED.split("\n"))
    assert "nobody brought the plans" in first.text
    assert second.text == "Then we went home."


def test_a_word_cut_by_a_hyphen_is_whole_again() -> None:
    lines = ["The committee decided to postpone the renovation of the cis-", "tern until the spring, when it is dry."]
    assert [block.text for block in joined_blocks(lines)] == [
        "The committee decided to postpone the renovation of the cistern until the spring, when it is dry."
    ]


def test_short_lines_list_items_and_long_lines_stay_apart() -> None:
    for text in (
        "Anna Meier\nHauptstrasse 3\nBern",
        "- milk, of which there is never enough in this house at all\n- bread, the dark one of the baker by the bridge",
        "1. Take the stairs to the second floor and turn left at once\n2. Ring twice, wait, and ring a third time",
        "A sentence that is longer than anyone would wrap it by hand, since it goes on and on until the end of it. " * 2
        + "\nAnother.",
    ):
        assert len(list(numbered_blocks(text.split("\n")))) == text.count("\n") + 1


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=90)))
def test_no_line_is_lost_moved_or_doubled(lines: list[str]) -> None:
    blocks = list(numbered_blocks(lines))
    seen = [(block.line or 0) + offset for block in blocks for offset in range(block.text.count("\n") + 1)]
    assert seen == [number for number, line in enumerate(lines, 1) if line.strip()]
    texts = [line for block in blocks for line in block.text.split("\n")]
    assert texts == [line.strip() for line in lines if line.strip()]
