"""Numbers in words, written in digits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.numerals import in_digits


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("two hundred and fifty euros", "250 euros"),
        ("five thousand two hundred and six", "5206"),
        ("half a million", "500000"),
        ("2.5 million", "2500000"),
        ("twenty-seven and twenty seven", "27 and 27"),
        ("add two, three and four", "add 2, 3 and 4"),
        ("one and a half", "1.5"),
        ("a dozen, three dozen", "12, 36"),
        ("a third of nine", "a third of 9"),
        ("a week", "a week"),
        ("1,250 times twelve", "1,250 times 12"),
        ("², 50% and ten", "², 50% and 10"),
    ],
)
def test_numbers_are_written_in_digits(text: str, digits: str) -> None:
    assert in_digits(text) == digits


@given(st.text(max_size=60))
def test_any_text_is_accepted(text: str) -> None:
    assert isinstance(in_digits(text.lower()), str)
