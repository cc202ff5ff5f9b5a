"""The part of a line that belongs to one person."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.contacts import contacts, entry, own_number

JOINED = "Ivo Hrib, builder: 555 0117 (not between 12 and 13, he eats) Katja Sirk, plumber: 555 0126 Tom Reed: 555 0199"
LONG = "The cellar is damp. " * 20


@pytest.mark.parametrize(
    ("line", "name", "part"),
    [
        ("Katja Sirk, plumber: 555 0126, evenings only.", "katja", "Katja Sirk, plumber: 555 0126, evenings only."),
        (
            "The keys are with Katja, her number is 555 0126.",
            "katja",
            "The keys are with Katja, her number is 555 0126.",
        ),
        ("555 0126 is Katja's number.", "katja", "555 0126 is Katja's number."),
        (JOINED, "ivo", "Ivo Hrib, builder: 555 0117 (not between 12 and 13, he eats)"),
        (JOINED, "katja", "Katja Sirk, plumber: 555 0126"),
        (JOINED, "tom", "Tom Reed: 555 0199"),
        ("Marta 555 0101, Katja 555 0126, Tom 555 0199", "katja", "Katja 555 0126"),
        ("555 0101 Marta 555 0126 Katja 555 0199 Tom", "katja", "555 0126 Katja"),
        ("Call 555 0126 and ask for Katja, or 555 0199.", "katja", "Call 555 0126 and ask for Katja, or 555 0199."),
        ("Ada, ada@x.example, 555 0101 Bo, bo@x.example", "ada", "Ada, ada@x.example, 555 0101"),
        (f"{LONG}Katja came. {LONG}Call 555 0126.", "katja", "Katja came. … Call 555 0126."),
        ("Katja has no number", "katja", "Katja has no number"),
        ("Ivo 555 0101, Katja Kos 555 0126, Katja Sirk 555 0199", "katja", "Katja Kos 555 0126 … Katja Sirk 555 0199"),
    ],
)
def test_the_part_of_one_person(line: str, name: str, part: str) -> None:
    assert entry(line, re.compile(name, re.IGNORECASE), 300) == part


@pytest.mark.parametrize("text", ["born 12/02/1961", "room 14-16-18", "on 3-4-26", "the years 2025-2026", "2025/2026"])
def test_dates_and_years_are_no_numbers(text: str) -> None:
    assert contacts(text) == []


@pytest.mark.parametrize("text", ["06-12-34-56-78", "0316/555 010", "(555) 012-3456", "+43 316 555 010"])
def test_numbers_in_any_groups(text: str) -> None:
    assert [match[0] for match in contacts(f"call {text} today")] == [text]


@given(
    st.lists(
        st.sampled_from(["Katja", "katja", "555 0126", "a@b.example", "(x)", "Tom", ",", ". ", "x" * 90]), max_size=30
    ),
    st.integers(40, 300),
)
def test_a_number_is_kept_and_the_length_is_bounded(words: list[str], most: int) -> None:
    line = " ".join(words)
    part = entry(line, re.compile("katja", re.IGNORECASE), most)
    assert len(part) <= most
    assert bool(contacts(part)) == bool(contacts(line))


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("Tel: +386 41 555 099", "+386 41 555 099"),
        ("Mobile 031 555 222", "031 555 222"),
        ("T. 555 0126 | F. 555 0127", ""),
        ("Phone: 555 0126 | Fax: 555 0127 | a@b.org", "555 0126"),
        ("555 0126 (home)", "555 0126"),
        ("+386 (0)41 555-099", "+386 (0)41 555-099"),
        ("Tom: 555 0126", ""),
        ("call 555 0126 if it rains", ""),
        ("Fax 555 0127", ""),
        ("2026-10-05", ""),
        ("", ""),
    ],
)
def test_a_line_of_a_number_alone(line: str, number: str) -> None:
    assert own_number(line) == number


@pytest.mark.parametrize(("repeated", "count"), [("a", 0), ("a.", 0), ("(", 0), ("+", 0), ("1", 1)])
def test_a_word_without_end_is_read_once(repeated: str, count: int) -> None:
    """In time that grows with the length: where it grew with its square, this took hours."""
    assert len(contacts(repeated * 1_000_000)) == count
