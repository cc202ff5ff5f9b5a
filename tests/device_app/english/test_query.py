"""Filters written inside a question, such as a file type or a sender."""

from datetime import date

import pytest

from device_app.english.query import MOST_CHARACTERS, Query, parse
from shared.errors import UsageError
from shared.types import Filters

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("question", "text", "filters"),
    [
        ("When is the dentist?", "When is the dentist?", Filters()),
        ("from:anna what  did she order", "what did she order", Filters(people=("anna",))),
        ('what from:"Anna Silva" said', "what said", Filters(people=("Anna Silva",))),
        ("in:mail in:notes kind:chat x", "x", Filters(places=("mail", "notes"), kinds=("chat",))),
        ("x after:2026-03", "x", Filters(after=date(2026, 3, 1))),
        ("x before:2026-02", "x", Filters(before=date(2026, 2, 28))),
        ("x on:2026", "x", Filters(after=date(2026, 1, 1), before=date(2026, 12, 31))),
        ("x after:2026 after:2026-05-02", "x", Filters(after=date(2026, 5, 2))),
        ("what does a:b mean, http://from:x", "what does a:b mean, http://from:x", Filters()),
    ],
)
def test_filters_are_taken_out_of_the_question(question: str, text: str, filters: Filters) -> None:
    asked = parse(question, TODAY)
    assert (asked.text, asked.filters) == (text, filters)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("", "There is no question"),
        ("   \n", "There is no question"),
        ("from:anna", "There is no question"),
        ("x after:yesterday", "after:yesterday is not a date"),
        ("x on:2026-02-30", "on:2026-02-30 is not a date"),
        ("x on:2026-13", "is not a date"),
        ("x on:0000", "is not a date"),
        ("why " * 12_500, "50,000 characters|49,999 characters"),
    ],
)
def test_what_cannot_be_asked_is_said(question: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(question, TODAY)


def test_the_longest_question_is_allowed() -> None:
    assert len(parse("x" * MOST_CHARACTERS, TODAY).text) == MOST_CHARACTERS


def test_the_days_of_a_question_are_read_and_left_in_it() -> None:
    asked = parse("from:anna what did she order on 14 March", TODAY)
    assert asked.text == "what did she order on 14 March"
    assert asked.days == ((date(2026, 3, 14), date(2026, 3, 14)), (date(2027, 3, 14), date(2027, 3, 14)))


@pytest.mark.parametrize(
    ("before", "after", "filters", "days"),
    [
        ("in:notes x on 14 March 2026", "and then?", Filters(places=("notes",)), 1),
        ("in:notes x on 14 March 2026", "in:mail and then?", Filters(places=("mail",)), 1),
        ("x on 14 March 2026", "and on 15 or 16 March 2026?", Filters(), 1),
        ("x", "and yesterday?", Filters(), 1),
    ],
)
def test_a_follow_up_keeps_the_filters_and_days_that_it_does_not_change(
    before: str, after: str, filters: Filters, days: int
) -> None:
    earlier, asked = parse(before, TODAY), parse(after, TODAY)
    together = asked.following(earlier)
    assert together == Query(f"{earlier.text} {asked.text}", filters, asked.days or earlier.days)
    assert len(together.days) == days
