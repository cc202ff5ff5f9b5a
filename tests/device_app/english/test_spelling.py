"""Corrections of spelling by one letter: which words are considered, and which one is chosen."""

import pytest

from device_app.english.spelling import best, is_correctable, nearest, spellings


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("pasword", "password"),
        ("passwword", "password"),
        ("bassword", "password"),
        ("passward", "password"),
        ("passwor", "password"),
        ("wifi", "wi fi"),
        ("солнцр", "солнце"),
        ("שלוב", "שלום"),
    ],
)
def test_one_letter_away(typed: str, meant: str) -> None:
    assert meant in spellings(typed)
    assert typed not in spellings(typed)


def test_letters_exchanged_are_one_mistake() -> None:
    assert "password" in spellings("passwrod")


@pytest.mark.parametrize(
    ("word", "correctable"),
    [("drill", True), ("saw", False), ("2026", False), ("a" * 25, False), ("snake_case", False), ("東京都庁", False)],
)
def test_what_is_corrected(word: str, correctable: bool) -> None:
    assert is_correctable(word) is correctable


def test_the_frequent_word_is_taken_and_the_one_beside_the_other_words_before_it() -> None:
    weights = {"boot": 1.0, "boat": 1.0, "bolt": 1.0}
    assert best(weights, {"boot": 9, "boat": 4}, {}) == "boot"
    assert best(weights, {"boot": 9, "boat": 4}, {"boat": 1}) == "boat"
    assert best(weights, {}, {}) is None


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("ocotber", "october"),
        ("october", "october"),
        ("octobers", "october"),
        ("moctober", "moctober"),  # the first letter is rarely wrong
        ("octo", "octo"),
        ("", ""),
        ("monday", "monday"),
    ],
)
def test_a_word_is_corrected_by_a_vocabulary(word: str, meant: str) -> None:
    assert nearest(word, frozenset({"october", "november"}), 0.83) == meant
