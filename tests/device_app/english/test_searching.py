"""How the text typed into the search is parsed into words and filters."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device_app.english.searching import FILTERS, MOST_CHARACTERS, completions, ends_in_word, parse, written
from shared.types import SearchFilters

TODAY = date(2026, 11, 25)
MARCH = {"after": date(2026, 3, 1), "before": date(2026, 3, 31)}


@pytest.mark.parametrize(
    ("typed", "words", "filters"),
    [
        ("blue drill", ("blue", "drill"), {}),
        ("the drill of Petra", ("drill", "petra"), {}),
        ("to be or not to be", ("to", "be", "or", "not"), {}),
        ("Crème brûlée", ("creme", "brulee"), {}),
        ("from:anna kind:mail invoice", ("invoice",), {"senders": ("anna",), "kinds": ("mail",)}),
        ("FROM: anna, invoice", ("invoice",), {"senders": ("anna",)}),
        ('who:"Rick Moen" or who:petra', ("or",), {"people": ("Rick Moen", "petra")}),
        ("who:“Rick Moen” tea", ("tea",), {"people": ("Rick Moen",)}),
        (
            "to:petra title:invoice folder:tax",
            (),
            {"recipients": ("petra",), "titles": ("invoice",), "places": ("tax",)},
        ),
        ("on:2026-03 tax", ("tax",), MARCH),
        ("since:2026-03 until:2026-03 tax", ("tax",), MARCH),
        ("on:yesterday", (), {"after": date(2026, 11, 24), "before": date(2026, 11, 24)}),
        ("before:2026", (), {"before": date(2026, 12, 31)}),
        ("What is on: Monday's list", ("monday", "list"), {}),
        ("drill from:", ("drill",), {}),
        ("from:", (), {}),
        ('from:"Rick Mo', (), {"senders": ("Rick Mo",)}),
        ("😀 🎉", (), {}),
        ("", (), {}),
        ("  \t\n", (), {}),
        (".* (drill|saw) [a-z]+ $", ("drill", "saw", "z"), {}),
        ("שלום kind:note", ("שלום",), {"kinds": ("note",)}),
        ("مرحبا بالعالم", ("مرحبا", "بالعالم"), {}),
        ("http://example.org/a", ("http", "example", "org"), {}),
    ],
)
def test_words_and_filters(typed: str, words: tuple[str, ...], filters: dict[str, Any]) -> None:
    search = parse(typed, TODAY)
    assert (search.words, search.filters, search.notes) == (words, SearchFilters(**filters), ())


def test_what_is_in_quotation_marks_is_a_phrase() -> None:
    search = parse('the "blue drill" of “Mrs Krizman” and "', TODAY)
    assert search.phrases == ("blue drill", "Mrs Krizman")
    assert search.words == ("of", "the", "and") or not set(search.words) & {"blue", "drill"}


@pytest.mark.parametrize(
    ("typed", "note"),
    [
        ("after:20 drill", "after:20 is not a date"),
        ("on:2026-02-31", "on:2026-02-31 is not a date"),
        ("drill " * 200, "only the first 1,000 characters"),
    ],
)
def test_what_is_left_out_is_said(typed: str, note: str) -> None:
    search = parse(typed, TODAY)
    assert note in search.notes[0]
    assert search.filters == SearchFilters()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("drill fr", ["drill from:"]),
        ("drill t", ["drill to:", "drill title:"]),
        ("from:pe", ["from:Petra", 'from:"Anna Perk"']),
        ('a from:"pe', ["a from:Petra", 'a from:"Anna Perk"']),
        ("from:", ["from:Petra", 'from:"Anna Perk"']),
        ("from:Petra", []),
        ("kind:m", []),
        ("drill ", []),
        ("", []),
    ],
)
def test_filters_are_completed(typed: str, completed: list[str]) -> None:
    assert completions(typed, {"from": ["Petra", "Anna Perk"]}) == completed


@pytest.mark.parametrize(
    ("typed", "is_word"), [("drill", True), ("drill ", False), ("kind:ma", False), ('"a b', False)]
)
def test_whether_a_word_is_being_typed(typed: str, is_word: bool) -> None:
    assert ends_in_word(typed) is is_word


def test_every_example_of_a_filter_is_one() -> None:
    for each in FILTERS:
        search = parse(each.example, TODAY)
        assert search.filters != SearchFilters() and not search.words and not search.notes, each


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60), st.text(alphabet='from:kind" on-2026“”.*()', max_size=40))
def test_no_text_raises_and_what_is_written_is_read_back(anything: str, like_a_filter: str) -> None:
    for text in (anything, like_a_filter, f"from:{anything} {like_a_filter}", f'"{anything}'):
        search = parse(text, TODAY)
        assert all(word.strip() for word in search.words)
        assert isinstance(completions(text, {"from": [anything]}), list)
    assert len(parse("x " * MOST_CHARACTERS, TODAY).words) == 1
    value = " ".join(anything.replace('"', " ").split())
    if value and "\0" not in value:
        assert parse(f"who:{written(anything)}", TODAY).filters.people == (value,)
