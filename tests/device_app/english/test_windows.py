"""The days that a question about the calendar names."""

from datetime import date, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.day_phrases import resolved
from device_app.english.windows import window_in

TODAY = date(2026, 11, 25)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("today", "11-25", "11-25"),
        ("tomorrow", "11-26", "11-26"),
        ("the day after tomorrow", "11-27", "11-27"),
        ("yesterday", "11-24", "11-24"),
        ("wednesday", "11-25", "11-25"),
        ("friday", "11-27", "11-27"),
        ("this friday", "11-27", "11-27"),
        ("next friday", "11-27", "11-27"),
        ("next wednesday", "12-02", "12-02"),
        ("last friday", "11-20", "11-20"),
        ("wed next week", "12-02", "12-02"),
        ("next week on friday", "12-04", "12-04"),
        ("this week", "11-23", "11-29"),
        ("next week", "11-30", "12-06"),
        ("last week", "11-16", "11-22"),
        ("weekend", "11-28", "11-29"),
        ("next weekend", "12-05", "12-06"),
        ("coming weekend", "11-28", "11-29"),
        ("last weekend", "11-21", "11-22"),
        ("next month", "12-01", "12-31"),
        ("this month", "11-01", "11-30"),
        ("rest of the week", "11-25", "11-29"),
        ("rest of the month", "11-25", "11-30"),
        ("next 3 days", "11-25", "11-28"),
        ("next two weeks", "11-25", "12-09"),
        ("the 30th", "11-30", "11-30"),
        ("the 3rd", "12-03", "12-03"),
        ("3 december", "12-03", "12-03"),
        ("december 3rd", "12-03", "12-03"),
        ("the 3rd of december", "12-03", "12-03"),
        ("2026-12-03", "12-03", "12-03"),
        ("3.12.2026", "12-03", "12-03"),
        ("in december", "12-01", "12-31"),
        ("friday to sunday", "11-27", "11-29"),
        ("today and tomorrow", "11-25", "11-26"),
        ("between friday and monday", "11-27", "11-30"),
        ("between 3 december and 7 december", "12-03", "12-07"),
        ("from 3 to 7 december", "12-03", "12-07"),
        ("21 november", "11-21", "11-21"),
    ],
)
def test_days_by_name(text: str, first: str, last: str) -> None:
    named = window_in(f"what is on {text}", TODAY)
    assert named
    assert (named[0].first, named[0].last) == (date.fromisoformat(f"2026-{first}"), date.fromisoformat(f"2026-{last}"))
    assert (named[0].begins, named[1].removesuffix(" the")) == (None, "what is on")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("monday the 30th", "11-30", "11-30"),
        ("the 30th that i have to prepare for", "11-30", "11-30"),
        ("between now and sunday", "11-25", "11-29"),
        ("from now until friday", "11-25", "11-27"),
        ("until sunday", "11-25", "11-29"),
        ("later this week", "11-25", "11-29"),
        ("by the end of the month", "11-25", "11-30"),
        ("at the end of the month", "11-21", "11-30"),
        ("by the end of next week", "11-25", "12-06"),
        ("in the week after next", "12-07", "12-13"),
        ("the weekend after next", "12-12", "12-13"),
        ("a week on friday", "12-04", "12-04"),
        ("friday week", "12-04", "12-04"),
        ("in 3 days", "11-28", "11-28"),
        ("a fortnight from today", "12-09", "12-09"),
        ("over the next fortnight", "11-25", "12-09"),
        ("in the coming days", "11-25", "11-30"),
        ("for the whole of december", "12-01", "12-31"),
        ("on christmas eve", "12-24", "12-24"),
    ],
)
def test_days_by_phrases(text: str, first: str, last: str) -> None:
    named = window_in(f"what is on {text}", TODAY)
    assert named
    assert (named[0].first, named[0].last) == (date.fromisoformat(f"2026-{first}"), date.fromisoformat(f"2026-{last}"))


@pytest.mark.parametrize(
    "text",
    ["how long is it until sunday", "the 4th floor", "in 3 days of rain", "in 400 days", "the christmas eve party"],
)
def test_words_that_only_look_like_such_phrases(text: str) -> None:
    assert resolved(text, TODAY) == text
    assert (named := window_in(text, TODAY)) is None or named[0].is_one_day


@given(st.text(max_size=60), st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.booleans())
def test_phrases_of_any_text_are_rewritten(text: str, today: date, is_past: bool) -> None:
    assert isinstance(resolved(text.lower(), today, is_past=is_past), str)


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("tomorrow morning", time(0), time(12)),
        ("friday afternoon", time(12), time(18)),
        ("this evening", time(18), time.max),
        ("tonight", time(18), time.max),
        ("tomorrow at 3 pm", time(15), time(15)),
        ("at 3 tomorrow", time(15), time(15)),
        ("at 9 tomorrow", time(9), time(9)),
        ("tomorrow at 15:30", time(15, 30), time(15, 30)),
        ("tomorrow at noon", time(12), time(12)),
        ("tomorrow between 2 and 4", time(14), time(16)),
        ("tomorrow from 10 to 11:30", time(10), time(11, 30)),
        ("tomorrow after 5", time(17), time.max),
        ("tomorrow before 10 am", time(0), time(10)),
    ],
)
def test_parts_of_a_day(text: str, begins: time, ends: time) -> None:
    named = window_in(f"am i free {text}", TODAY)
    assert named
    assert (named[0].begins, named[0].ends, named[1]) == (begins, ends, "am i free")


@pytest.mark.parametrize(
    "text",
    [
        "when is the parents' evening",
        "the children's afternoon",
        "what is on",
        "friday or on 3 december",
        "today and friday",
        "next week in the morning",
        "2027-02-30",
        "in the next 999 months",
    ],
)
def test_no_days_or_several(text: str) -> None:
    assert window_in(text, TODAY) is None


@pytest.mark.parametrize(("text", "day"), [("monday", "11-23"), ("wednesday", "11-18"), ("3 november", "11-03")])
def test_what_was_on_is_asked_of_days_that_passed(text: str, day: str) -> None:
    named = window_in(f"what was on {text}", TODAY, is_past=True)
    assert named
    assert named[0].first == date.fromisoformat(f"2026-{day}")


WORDS = "what is on at from to the next last this week friday 3rd 31 february december in 99 pm am 25:00 next weekend 0"


@given(
    st.lists(st.sampled_from(WORDS.split()), max_size=8), st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.booleans()
)
def test_any_words_give_days_in_order_or_none(words: list[str], today: date, is_past: bool) -> None:
    named = window_in(" ".join(words), today, is_past=is_past)
    assert named is None or named[0].first <= named[0].last
