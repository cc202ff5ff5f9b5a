"""Snippets and facets of a search: pure functions."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge.matches import facets, snippet
from storage.documents import Facts
from storage.search import CLOSING, OPENING


def marked(text: str) -> str:
    return text.replace("[", OPENING).replace("]", CLOSING)


@pytest.mark.parametrize(
    ("text", "most", "words"),
    [
        ("Petra has the [blue] [drill].", 60, ["blue", "drill"]),
        ("[Drill] first.\n" + "Nothing here. " * 20 + "The [blue] [drill] at last.", 60, ["blue", "drill"]),
        ("No match at all, " * 20, 60, []),
        ("", 60, []),
    ],
)
def test_a_snippet_shows_where_most_words_match(text: str, most: int, words: list[str]) -> None:
    cut = snippet(marked(text), most)
    assert [cut.text[start:end] for start, end in cut.marks] == words
    assert len(cut.text) <= most + 4
    assert "\n" not in cut.text


@given(st.text(alphabet=f"ab é\n{OPENING}{CLOSING}שלום", max_size=80), st.integers(30, 60))
def test_a_snippet_of_any_text_has_its_marks_inside(text: str, most: int) -> None:
    cut = snippet(text, most)
    assert all(0 <= start <= end <= len(cut.text) for start, end in cut.marks)
    assert OPENING not in cut.text and CLOSING not in cut.text


def facts(document: int, kind: str, date: str | None, *people: str) -> Facts:
    return Facts(document, document, kind, date, json.dumps(people), f"/home/runa/{kind}s/{document}".encode())


def test_documents_are_counted_once_by_person_time_kind_and_folder() -> None:
    mail = facts(1, "mail", "2026-03-14", "Anna Perk <a@x>", "Petra")
    counts = facets([mail, mail, facts(2, "note", "2026-03-15", "Petra"), facts(3, "note", None)])
    filters: Any = {name: [(each.filter, each.count) for each in some] for name, some in counts.items()}
    assert filters == {
        "who": [("who:Petra", 2), ('who:"Anna Perk"', 1)],
        "when": [("on:2026-03", 2)],
        "kind": [("kind:note", 2), ("kind:mail", 1)],
        "folder": [("in:/home/runa/notes", 2), ("in:/home/runa/mails", 1)],
    }


def test_matches_of_many_months_are_counted_by_year() -> None:
    counts = facets(
        [facts(month, "note", f"2025-{month:02}-01") for month in range(1, 13)] + [facts(13, "note", "2026-01-01")]
    )
    assert [each.filter for each in counts["when"]] == ["on:2025", "on:2026"]
