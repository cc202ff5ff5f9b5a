"""How names, addresses and numbers are compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english import naming
from device_app.english.naming import Named


@pytest.mark.parametrize(
    ("person", "parts"),
    [
        ("Anna Berg <anna@berg.org>", Named("Anna Berg", "anna@berg.org")),
        ("Anna Berg <+49 170 1234567>", Named("Anna Berg", number="+49 170 1234567")),
        ("anna@berg.org <anna@berg.org>", Named("", "anna@berg.org")),
        ("anna@berg.org", Named("", "anna@berg.org")),
        ("<anna@berg.org>", Named("", "anna@berg.org")),
        ("+46 70-123 45 67", Named("", number="+46 70-123 45 67")),
        ("JakeWatson", Named("JakeWatson")),
        ("Ana <3 Bo", Named("Ana <3 Bo")),
        ("", Named()),
    ],
)
def test_what_a_document_says_of_a_person_is_split(person: str, parts: Named) -> None:
    assert naming.split(person) == parts


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("JakeWatson", "Jake Watson"),
        ("Watson, Jake", "jake watson"),
        ("Dr. Anna Berg", "Anna Berg (she/her)"),
        ("José Núñez", "Jose Nunez"),
        ("jake_watson", "Jake.Watson"),
        ("Anna Berg via Lists", "Anna Berg"),
        ("\u200fדוד כהן", "דָּוִד כהן"),
        ("محمد علي", "مُحَمَّد علي"),
        ("İpek Şahin", "ipek sahin"),
    ],
)
def test_the_same_name_in_two_forms(name: str, other: str) -> None:
    assert naming.name_key(name) == naming.name_key(other) != ""


@pytest.mark.parametrize(("name", "other"), [("Anna Berg", "Anna Bergman"), ("李华", "李明"), ("Will", "Wilma")])
def test_two_names(name: str, other: str) -> None:
    assert naming.name_key(name) != naming.name_key(other)


@pytest.mark.parametrize(
    ("number", "other", "same"),
    [
        ("+46 70-123 45 67", "0701234567", True),
        ("0046701234567", "(070) 123 45 67", True),
        ("+49 170 1234567", "+49 170 1234568", False),
        ("12345", "12345", True),
        ("٠٧٠١٢٣٤٥٦٧", "0701234567", True),
    ],
)
def test_numbers(number: str, other: str, same: bool) -> None:
    assert (naming.number_key(number) == naming.number_key(other)) is same


@pytest.mark.parametrize("text", ["", "MYBANK", "12", "2 kg of flour", "a1234567", "²²²²²"])
def test_no_number(text: str) -> None:
    assert naming.number_key(text) == ""


@pytest.mark.parametrize(
    ("name", "full"), [("Anna", False), ("Anna Berg", True), ("AnnaBerg", True), ("李华", True), ("", False)]
)
def test_a_full_name(name: str, full: bool) -> None:
    assert naming.is_full(name) is full


@given(st.text(max_size=300))
def test_any_text_is_compared(text: str) -> None:
    naming.split(text)
    naming.number_key(text)
    assert naming.name_key(text) == naming.name_key(f" {text[:200]} ") or len(text) > 190
