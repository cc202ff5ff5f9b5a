"""Word families: which forms of a word meet."""

import re

import pytest

from device_app.english.stemming import family, forms, stemmed

RELATED = [
    ("installed", "installation"),
    ("moved", "move"),
    ("delivered", "delivery"),
    ("delivered", "deliveries"),
    ("renewed", "renewal"),
    ("arrive", "arrivals"),
    ("cancelled", "cancellation"),
    ("reserved", "reservation"),
    ("registered", "registration"),
    ("expires", "expiry"),
    ("decided", "decision"),
]


@pytest.mark.parametrize(("word", "other"), [*RELATED, *((other, word) for word, other in RELATED)])
def test_words_of_one_family_meet(word: str, other: str) -> None:
    assert re.fullmatch(forms(word), other)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("bat", "battery"),
        ("cell", "celery"),
        ("reserve", "reservoir"),
        ("deliver", "delicate"),
        ("generation", "general"),
        ("information", "informal"),
        ("plant", "plantation"),
        ("form", "formation"),
    ],
)
def test_other_words_do_not(word: str, other: str) -> None:
    assert not re.fullmatch(forms(word), other)


def test_a_noun_of_its_own_keeps_its_stem() -> None:
    assert stemmed("delivery") != stemmed("delivered")  # two columns of a table may have these names


def test_a_family_names_the_other_words() -> None:
    assert family("delivery") == ("deliver", "deliveries")
    assert family("dentist") == ()
