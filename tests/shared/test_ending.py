"""Where an answer is ended although the model would go on, for instance because it repeats itself."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.ending import Ending, Piece, ended


def _pieces(*texts: str) -> list[Piece]:
    return [Piece(number, text) for number, text in enumerate(texts)]


def _shown(*texts: str) -> str:
    return "".join(piece.text for piece in ended(_pieces(*texts)))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Petra has the drill.", "Petra has the drill."),
        ("Petra has the drill. Petra has the drill. Petra", "Petra has the drill."),
        ("Petra has the drill.\n\nPetra has the DRILL.\n", "Petra has the drill."),
        ("Petra has the drill. She lives next door. Petra has the", "Petra has the drill. She lives next door."),
        ("Petra has the drill. Petra has the saw.", "Petra has the drill. Petra has the saw."),
        ("Yes. Yes. It is on Tuesday.", "Yes. Yes. It is on Tuesday."),
        ("On Tuesday.\nQuestion: And when", "On Tuesday."),
        ("On Tuesday.\nQuestion 3 was harder.", "On Tuesday.\nQuestion 3 was harder."),
        ("On Tuesday.\n\nEarlier question: Who", "On Tuesday."),
        ("1. Buy the milk\n2. Buy the bread\n3. Buy the milk\n", "1. Buy the milk\n2. Buy the bread"),
        ("1. Buy the cold milk\n2. Go\n3. Buy the cold", "1. Buy the cold milk\n2. Go"),
        ("1. Buy the milk\n2. Buy the bread\n1. Buy the milk", "1. Buy the milk\n2. Buy the bread"),
        ("", ""),
        ("  \n", ""),
    ],
)
def test_an_answer_ends_where_it_repeats_itself_or_plays_the_user(written: str, shown: str) -> None:
    assert _shown(*written).strip() == shown


@pytest.mark.parametrize(
    "written",
    [
        "User: petra\nPassword: moonlight",
        "On the card:\nUser: petra\nPassword: moonlight",
        "Question: When is it?\nAnswer: On Tuesday.",
        "It says so. Question: is it at nine? Ask her.",
        "The price in May is 120. The price in May is 12. Ask Petra.",
        "The price in May is 120. The price in May is 12",
        "It costs -5 euros today. It costs 5 euros today.",
        "It weighs 1.5 kg now. It weighs 15 kg now.",
        "Meet at the parking lot\nMeet at the park",
        "12. March is a day off\n19. March is a day off\n",
        "| a | b |\n|---|---|\n|---|---|\n",
    ],
)
def test_what_only_resembles_a_repetition_or_the_user_is_shown(written: str) -> None:
    assert _shown(*written) == written


def test_a_circle_without_a_sentence_end_is_left() -> None:
    circle = [Piece(token, " again") for token in [7, 8, 9] * 100]
    assert len(list(ended(circle))) < 20


def test_numbers_with_many_zeros_are_no_circle() -> None:
    assert len(list(ended([Piece(1, "1"), *[Piece(2, "0")] * 9]))) == 10


def test_what_cannot_repeat_is_passed_on_at_once() -> None:
    assert [piece.text for piece in ended(_pieces("Petra", " has", " it", " now"))] == ["Petra", " has", " it", " now"]
    stream = ended(iter(_pieces("Petra", " has", " it.", " She")))
    assert next(stream).text == "Petra"


def test_the_model_is_not_asked_for_more_than_shows_the_repetition() -> None:
    asked = 0

    def written() -> Iterator[Piece]:
        nonlocal asked
        for piece in _pieces("Petra", " has it", ". ", "Petra", " has it", ". ", "Petra"):
            asked += 1
            yield piece

    assert "".join(piece.text for piece in ended(written())).strip() == "Petra has it."
    assert asked == 6


@given(st.lists(st.sampled_from(["a b c", "d e f", ". ", "\n", "Question", ":", " x", "1", "2.", " -"]), max_size=30))
def test_what_is_shown_is_a_beginning_of_what_was_written(texts: list[str]) -> None:
    assert "".join(texts).startswith(_shown(*texts))


@given(st.text(alphabet="abcdefgh", max_size=40))
def test_text_without_sentences_is_shown_whole(text: str) -> None:
    assert _shown(*text) == text


@given(st.lists(st.text(alphabet="aB1é", min_size=1, max_size=3), min_size=3, max_size=6).map(" ".join))
def test_nothing_of_a_repetition_is_shown(sentence: str) -> None:
    assert _shown(*f"{sentence}. {sentence}. {sentence}").strip() == f"{sentence}."


TEXTS = ("The cat", " sat", ". ", "\n", "1. ", "Question:", "It is. ", "!", " ")


@st.composite
def written(draw: st.DrawFn) -> list[Piece]:
    """Generate the pieces of an answer, some sequences of which are repeated."""
    circles = st.tuples(st.lists(st.sampled_from(TEXTS), max_size=6), st.sampled_from([1, 1, 1, 3, 4, 8, 15, 16, 20]))
    return [
        Piece(TEXTS.index(text), text) for texts, turns in draw(st.lists(circles, max_size=6)) for text in texts * turns
    ]


@given(written())
@example([Piece(8, " ")] * 20 + [Piece(0, "The cat"), Piece(1, " sat")])
@example([Piece(8, " ")] * 15 + [Piece(0, "The cat"), Piece(1, " sat")])
@example([Piece(number, "a") for number in [*[1, 2, 3, 4, 5] * 4, 6, 7]])
@example([Piece(number, "a") for number in [*[1, 2, 3, 4, 5] * 3, 1, 2, 3, 4, 6, 7]])
def test_behind_what_was_written_elsewhere_it_ends_as_if_it_had_written_that(pieces: list[Piece]) -> None:
    piecewise, at_once = Ending(), Ending()
    for piece in pieces:
        piecewise.feed(piece)
    at_once.go_on([piece.token for piece in pieces], "".join(piece.text for piece in pieces))
    assert at_once.over == piecewise.over
    if not at_once.over:
        assert at_once._sentence == piecewise._sentence
        assert at_once._said == piecewise._said


def test_a_circle_in_what_was_written_elsewhere_ends_it_whatever_follows() -> None:
    circle, shorter = Ending(), Ending()
    circle.go_on([1] * 20 + [2, 3], "a" * 22)
    shorter.go_on([1] * 15 + [2, 3], "a" * 17)
    assert (circle.over, shorter.over) == (True, False)
