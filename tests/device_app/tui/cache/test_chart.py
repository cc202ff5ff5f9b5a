"""Bar charts drawn with block characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.tui.cache.chart import REST, columns, rounded, spread

AMOUNTS = st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), max_size=40)


def test_a_bar_is_as_high_as_its_share_of_the_largest() -> None:
    assert columns([4, 2, 1, 0], [4, 2, 1, 0], 2) == ["█   ", "██▄ "]


def test_what_is_not_filled_is_shaded() -> None:
    assert columns([1, 0], [4, 2], 4) == [f"{REST} ", f"{REST} ", f"{REST}{REST}", f"█{REST}"]


@pytest.mark.parametrize(("value", "whole"), [(1, 1000), (999, 1000)])
def test_the_least_of_either_part_shows(value: float, whole: float) -> None:
    column = "".join(columns([value], [whole], 3))
    assert "█" in column
    assert REST in column


@given(AMOUNTS, st.integers(1, 8))
def test_every_line_has_a_cell_for_each_value(amounts: list[tuple[float, float]], height: int) -> None:
    values, whole = [min(pair) for pair in amounts], [max(pair) for pair in amounts]
    lines = columns(values, whole, height)
    assert [len(line) for line in lines] == [len(amounts)] * height


def test_days_stand_apart() -> None:
    assert spread("█▄", 2) == "█ ▄ "
    assert spread("█▄", 1) == "█▄"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0"), (0.4, "0.4"), (9.96, "10"), (940, "940"), (1234, "1.2k"), (35_000, "35k"), (2.5e6, "2.5M")],
)
def test_a_scale_takes_four_characters(value: float, expected: str) -> None:
    assert rounded(value) == expected
