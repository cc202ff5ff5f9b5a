"""Which days a question refers to."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.dates import named

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("question", "spans"),
    [
        ("What happened on 2026-03-14?", ["2026-03-14"]),
        ("Who called on 20260314 at 5 PM?", ["2026-03-14"]),
        ("on March 14, 2026", ["2026-03-14"]),
        ("the 14th of march 2026", ["2026-03-14"]),
        ("in May 5, 2026", ["2026-05-05"]),
        ("14 Mar", ["2026-03-14", "2027-03-14"]),
        ("Sept. 4", ["2026-09-04", "2027-09-04"]),
        ("Feb 29", ["2024-02-29", "2028-02-29"]),
        ("21 November", ["2026-11-21", "2027-11-21"]),
        ("in 2026-03", ["2026-03-01..2026-03-31"]),
        ("What may I do in march 2026?", ["2026-03-01..2026-03-31"]),
        ("during August", ["2026-08-01..2026-08-31", "2027-08-01..2027-08-31"]),
        ("in 2019", ["2019-01-01..2019-12-31"]),
        ("from 1 May to 3 May 2026", ["2026-05-01", "2027-05-01", "2026-05-03"]),
        ("What did I eat yesterday?", ["2026-11-20"]),
        ("today or tomorrow", ["2026-11-21", "2026-11-22"]),
        ("What did we do this morning?", ["2026-11-21"]),
        ("last week", ["2026-11-09..2026-11-15"]),
        ("next month", ["2026-12-01..2026-12-31"]),
        ("this year", ["2026-01-01..2026-12-31"]),
        ("14.3.2026 or 14. 3. 2026", ["2026-03-14", "2026-03-14"]),
        ("on 14/03/2026", ["2026-03-14"]),
        ("on 03/04/2026", ["2026-04-03", "2026-03-04"]),
        ("at 2026-03-14T10:00", ["2026-03-14"]),
        ("on 5 may", ["2026-05-05", "2027-05-05"]),
        ("last March", ["2026-03-01..2026-03-31"]),
        ("next March", ["2027-03-01..2027-03-31"]),
        ("since September", ["2026-09-01..2026-11-21"]),
        ("since 2025", ["2025-01-01..2026-11-21"]),
        ("last Tuesday", ["2026-11-17"]),
        ("next tuesday", ["2026-11-24"]),
        ("What do I do on Tuesday?", ["2026-11-17", "2026-11-24"]),
        ("last Saturday", ["2026-11-14"]),
        ("on Saturday", ["2026-11-21", "2026-11-28"]),
        ("last night", ["2026-11-20"]),
        ("the march of time", []),
        ("the number of Jan", []),
        ("a picture of April", []),
        ("of the 3 may I keep", []),
        ("may 5 people come", []),
        ("a bill of 2000 euros", []),
        ("from March", []),
        ("who may decide", []),
        ("2026-02-30", []),
        ("room 2026", []),
        ("call 12345-12-12", []),
        ("0000-01-01", []),
        ("March 5:30", []),
        ("", []),
    ],
)
def test_days_are_read(question: str, spans: list[str]) -> None:
    def shown(first: date, last: date) -> str:
        return str(first) if first == last else f"{first}..{last}"

    assert [shown(*span) for span in named(question, TODAY)] == spans


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_every_way_of_writing_a_day_is_that_day(day: date) -> None:
    for written in (f"{day:%Y-%m-%d}", f"{day:%Y%m%d}", f"{day:%d %B %Y}", f"{day:%B %d, %Y}", f"{day:%b %d %Y}"):
        assert named(f"on {written}", TODAY) == [(day, day)]


@given(st.text(max_size=60), st.dates(date(1970, 1, 1), date(2200, 1, 1)))
def test_any_text_is_read_without_a_fault(text: str, today: date) -> None:
    assert all(first <= last for first, last in named(text, today))
