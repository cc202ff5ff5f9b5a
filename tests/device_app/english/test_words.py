"""Normalising words so that their forms can be compared."""

import pytest

from device_app.english import words


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("in two weeks", "in 2 weeks"),
        ("twenty-five euro", "25 euros"),
        ("eleven days", "11 day"),
        ("12,500 people", "12500 people"),
        ("AdamSmith", "Adam Smith"),
        ("Café", "cafe"),
        ("renewed", "renew"),
    ],
)
def test_what_says_the_same_is_the_same(first: str, other: str) -> None:
    assert words.said(first) == words.said(other)


@pytest.mark.parametrize(("first", "other"), [("25", "20"), ("Anna", "Anne"), ("3.5", "35"), ("15:20", "15:40")])
def test_what_differs_stays_apart(first: str, other: str) -> None:
    assert words.said(first) != words.said(other)


def test_what_only_asks_or_joins_tells_nothing() -> None:
    assert words.content_words("What is the code of the door, and where is the door?") == words.said("code door")


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("When is Anne Lindgren's birthday?", {"ann", "lindgren"}),
        ("Which books did I give five stars in 2026?", {"5", "2026"}),
        ("Who broke it?", set()),
        ("", set()),
    ],
)
def test_names_are_what_has_a_capital_within_or_is_a_number(question: str, named: set[str]) -> None:
    assert words.names(question) == named


@pytest.mark.parametrize(
    ("text", "is_denied"),
    [
        ("Do not bleed the radiators.", True),
        ("Don't get it repaired yourself.", True),
        ("nobody has one", True),
        ("The note lies on the table.", False),
        ("Nottingham is north of here.", False),
    ],
)
def test_what_says_no(text: str, is_denied: bool) -> None:
    assert words.denies(text) == is_denied
