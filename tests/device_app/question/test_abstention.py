"""The sentence with which a model abstains, and its variants: never shown as an answer, in whatever pieces it is
generated.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.question.abstention import NOT_TOLD, NOT_TOLD_ANYWHERE, NOT_TOLD_THERE, not_told, relevance, shown
from shared.ending import Piece
from shared.errors import GaveWay
from shared.prompt import NOT_FOUND, is_not_found
from shared.protocol.messages import PublicPassage
from shared.public import hit
from shared.types import Hit, StoredPassage

OWN = Hit(StoredPassage(1, "Text.", 0, None, None, 1, "Note", "note", None, (), "/note"), 0.9, 0.9)
THEIRS = hit(PublicPassage(1, "Rivers", "facts/Rivers.txt", "The Danube.", 0.8, 0.8))

POORER = replace(OWN, score=0.5)

BEGINNINGS = st.integers(0, len(NOT_FOUND)).map(lambda end: NOT_FOUND[:end])
TEXTS = st.builds(
    "".join, st.tuples(st.sampled_from(["", " ", "\n"]), BEGINNINGS, st.text(" .!Tan\n", max_size=6) | st.text())
)


def pieces(texts: Sequence[str]) -> list[Piece]:
    return [Piece(number, text) for number, text in enumerate(texts)]


def written(*texts: str) -> list[str]:
    return list(shown(pieces(texts), []))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([NOT_FOUND], []),
        (list(NOT_FOUND), []),
        ([" ", *NOT_FOUND, "\n"], []),
        (["The passages", " do not say"], []),
        (["The passages", " do not say", ".", "!"], []),
        (["", ""], []),
        (["\n", " \n"], []),
        ([], []),
        (["Petra", " has", " it."], ["Petra", " has", " it."]),
        (["The", " passages", " do", " tell", " it."], ["The passages do tell", " it."]),
        ([" The", " dentist"], [" The dentist"]),
        (["The passages do not say.", " Petra", " has it."], ["The passages do not say. Petra", " has it."]),
        (["The passages do not say", " when", "."], ["The passages do not say when", "."]),
        (["The passages", " do"], ["The passages do"]),
        (["Well. ", NOT_FOUND], ["Well. ", NOT_FOUND]),
        (["T", "", "o"], ["To"]),
    ],
)
def test_only_what_cannot_become_it_is_shown(texts: list[str], expected: list[str]) -> None:
    assert written(*texts) == expected


@given(TEXTS, st.data())
def test_what_is_shown_is_the_whole_text_in_order_or_nothing_however_it_is_split(
    text: str, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    parts = [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    said: list[Piece] = []
    given_pieces = pieces(parts)
    assert "".join(shown(given_pieces, said)) == ("" if is_not_found(text) or not text.strip() else text)
    assert said == given_pieces


@given(TEXTS)
def test_where_it_breaks_off_all_was_shown_but_what_might_have_become_it(text: str) -> None:
    def breaking() -> Iterator[Piece]:
        yield from pieces(list(text))
        raise GaveWay

    messages: list[str] = []
    with suppress(GaveWay):
        messages.extend(shown(breaking(), []))
    might = any(is_not_found(text + NOT_FOUND[place:]) for place in range(len(NOT_FOUND) + 1))
    assert "".join(messages) == ("" if might else text)


def test_a_piece_is_noted_when_it_comes_though_it_is_held_back() -> None:
    said: list[Piece] = []
    stream = shown(pieces(["The passages", " do not", " tell it.", " Petra has it."]), said)
    assert next(stream) == "The passages do not tell it."
    assert len(said) == 3


@pytest.mark.parametrize(
    ("hits", "expected"), [((OWN,), NOT_TOLD), ((OWN, THEIRS), NOT_TOLD_ANYWHERE), ((THEIRS,), NOT_TOLD_THERE)]
)
def test_it_is_said_of_whose_passages_were_read(hits: Sequence[Hit], expected: str) -> None:
    assert not_told(hits) == expected


@pytest.mark.parametrize(
    ("hits", "expected"),
    [([], None), ([THEIRS], None), ([POORER], 0.5), ([POORER, OWN], 0.9), ([THEIRS, POORER], None)],
)
def test_how_likely_something_is_relevant_a_server_does_not_say(hits: Sequence[Hit], expected: float | None) -> None:
    assert relevance(hits) == expected
