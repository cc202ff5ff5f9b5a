"""The period of time that a question names, if it names exactly one."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english import periods

TODAY = date(2026, 11, 20)  # a Friday
READ = {
    "mails from Rick in October": ("October 2026", "mails from Rick"),
    "mails in December": ("December 2025", "mails"),
    "how many mails this year": ("2026", "how many mails"),
    "mails in July last year": ("July 2025", "mails"),
    "what came last week": ("9 November 2026 to 15 November 2026", "what came"),
    "wrote in Agust 2002": ("August 2002", "wrote"),
    "find mails by Tim from august 2002": ("August 2002", "find mails by Tim"),
    "what was said on the 7th of april": ("Tuesday 7 April 2026", "what was said"),
    "mails since March": ("since 1 March 2026", "mails"),
    "what did Tom write before 3 June 2026": ("up to 2 June 2026", "what did Tom write"),
    "between 3 and 9 May what came": ("3 May 2026 to 9 May 2026", "what came"),
    "from monday to thursday": ("16 November 2026 to 19 November 2026", ""),
    "what came in the last 7 days": ("13 November 2026 to 20 November 2026", "what came"),
    "two days ago": ("Wednesday 18 November 2026", ""),
    "what did I do last weekend": ("14 November 2026 to 15 November 2026", "what did I do"),
    "Easter Monday 2026": ("Monday 6 April 2026", ""),
}


@pytest.mark.parametrize("text", READ)
def test_one_period(text: str) -> None:
    period = periods.read(text, TODAY)
    assert period
    assert (period.words, period.rest) == READ[text]


@pytest.mark.parametrize("text", ["the latest mail", "may I go", "mails in May and in June", "31 February 2026", ""])
def test_none_or_several(text: str) -> None:
    assert periods.read(text, TODAY) is None


def test_ahead_the_next_is_meant() -> None:
    period = periods.read("on 25 december", TODAY, ahead=True)
    assert period
    assert period.first == date(2026, 12, 25)


@given(st.text(max_size=60), st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.booleans())
def test_any_text_on_any_day(text: str, today: date, ahead: bool) -> None:
    period = periods.read(text, today, ahead=ahead)
    assert period is None or not period.first or not period.last or period.first <= period.last


@given(st.sampled_from(["in 9999 years", "9999 weeks ago", "9999 years ago", "in 9999 days"]), st.dates())
def test_beyond_the_calendar_there_is_none(text: str, today: date) -> None:
    periods.read(text, today)
