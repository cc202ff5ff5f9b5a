"""Names of days that are rewritten into plain ones, which both date parsers understand."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english import periods, windows
from device_app.english.day_names import plainly

TODAY = date(2026, 11, 20)  # a Friday


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("schedule tmrw", "2026-11-21", "2026-11-21"),
        ("agenda 23/11/2026", "2026-11-23", "2026-11-23"),
        ("the last week of november", "2026-11-24", "2026-11-30"),
        ("in the second week of october", "2026-10-08", "2026-10-14"),
        ("the weekend of 14 november", "2026-11-14", "2026-11-15"),
        ("the week of the 16th", "2026-11-16", "2026-11-22"),
        ("early in november", "2026-11-01", "2026-11-10"),
        ("mid november or so", "2026-11-11", "2026-11-20"),
        ("on the fourteenth of november", "2026-11-14", "2026-11-14"),
        ("saturday the 14th of november", "2026-11-14", "2026-11-14"),
        ("this autumn", "2026-09-01", "2026-11-30"),
        ("a week from tomorrow", "2026-11-28", "2026-11-28"),
        ("3 days after tomorrow", "2026-11-24", "2026-11-24"),
        ("mails november", "2026-11-01", "2026-11-30"),
        ("mails between march and may", "2026-03-01", "2026-05-31"),
        ("mails from december to february", "2025-12-01", "2026-02-28"),
        ("mails march to may 2025", "2025-03-01", "2025-05-31"),
        ("mails from 3 march to 5 may", "2026-03-03", "2026-05-05"),
        ("the rest of november", "2026-11-20", "2026-11-30"),
    ],
)
def test_days_are_put_plainly(text: str, first: str, last: str) -> None:
    period = periods.read(text, TODAY)
    assert period
    assert (str(period.first), str(period.last)) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("agenda 23/11", "2026-11-23", "2026-11-23"), ("the week of the 2nd", "2026-11-30", "2026-12-06")],
)
def test_an_agenda_reads_them_ahead(text: str, first: str, last: str) -> None:
    read = windows.window_in(text, TODAY)
    assert read
    assert (str(read[0].first), str(read[0].last)) == (first, last)


@pytest.mark.parametrize(
    "text", ["what may i do", "31/31", "a week of rain", "june's mails", "the 3/4 of it", "march on"]
)
def test_other_words_stay(text: str) -> None:
    assert plainly(text, TODAY, ahead=False) == text


@given(st.text(alphabet="0123456789/ ofthewknd.,-janumrcyst", max_size=40))
def test_any_text_is_put_plainly_or_left(text: str) -> None:
    plainly(text, TODAY, ahead=True)
