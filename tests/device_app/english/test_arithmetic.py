"""Numbers as rules write them."""

import pytest

from device_app.english import arithmetic


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2^64", "18,446,744,073,709,551,616"),
        ("2^60", "1,152,921,504,606,846,976"),
        ("999999999999*999999999999", "999,999,999,998,000,000,000,001"),
        ("2^99", "6.338253001e+29"),
    ],
)
def test_large_numbers(value: str, text: str) -> None:
    read = arithmetic.read(value)
    assert read
    assert read.value is not None
    assert arithmetic.shown(read.value) == text
