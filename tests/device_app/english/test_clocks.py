"""Times of day in texts."""

import pytest

from device_app.english.clocks import in_full, named, without


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("at 15:00", [{900}]),
        ("at 3:30", [{210, 930}]),
        ("15.30 or 4 pm", [{930}, {960}]),
        ("10am", [{600}]),
        ("12 pm and 12 am", [{720}, {0}]),
        ("at noon", [{720}]),
        ("at 4", [{240, 960}]),
        ("half past seven", [{450, 1170}]),
        ("quarter to eight", [{465, 1185}]),
        ("we start at 4 instead of 3", [{240, 960}, {180, 900}]),
        ("from 3 to 4 o'clock", [{180, 900}, {240, 960}]),
        ("we meet by 8", [{480, 1200}]),
        ("moved to 4 december", []),
        ("moved from 4 people to 5 people", []),
        ("3", [{180, 900}]),
        ("moved to 2", []),
        ("version 1.15:2", []),
        ("at 100", []),
        ("", []),
    ],
)
def test_times_that_are_named(text: str, times: list[set[int]]) -> None:
    assert [set(each) for each in named(text)] == times


def test_a_text_without_its_times() -> None:
    assert without("on friday at 15:00 or noon").split() == ["on", "friday", "at", "or"]


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("fri 4 dec", "friday 4 dec"),
        ("on thu. 26", "on thursday 26"),
        ("on sat at 9", "on saturday at 9"),
        ("we sat in the sun", "we sat in the sun"),
    ],
)
def test_names_of_weekdays_in_full(text: str, full: str) -> None:
    assert in_full(text) == full
