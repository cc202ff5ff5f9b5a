"""Whether a passage contains an answer: judged by the answer's words, whatever the words around them."""

import pytest

from scripts.answerer.lessons import passage
from scripts.datasets.answering import tells, words
from scripts.datasets.folders import Asked

PASSAGE = passage(
    "The old lantern was hung behind the boathouse by two strong rowers on a cold evening.", "Club log", "2026-03-08"
)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("behind the boathouse",), True),
        (("Behind boathouse!",), True),  # neither case, marks nor articles count
        (("hung",), True),
        (("hun",), False),  # whole words alone
        (("boathouse behind",), False),  # in their order
        (("in the cellar", "behind the boathouse"), True),  # any of them
        (("Club log",), True),  # the model reads the title, too
        (("2026-03-08",), True),  # and the day
        (("two strong rowers hung the lantern up",), True),  # most of a long one
        (("three weak swimmers hid the lantern away",), False),
        (("strong lantern",), False),  # of a short one, all of it in one piece
        (("Yes",), True),  # nobody writes it down
        (("No, never",), True),
        ((), False),
    ],
)
def test_a_passage_tells_an_answer_in_its_words_or_most_of_them(answers: tuple[str, ...], expected: bool) -> None:
    assert tells(PASSAGE, Asked("Where was it?", answers, frozenset(), frozenset())) is expected


def test_whatever_is_of_a_meeting_tells_what_was_said_there() -> None:
    asked = Asked("What was said?", ("Nothing of all that.",), frozenset(), frozenset(), "meeting.json")
    assert tells(PASSAGE, asked)


def test_words_are_compared_without_case_marks_and_articles() -> None:
    assert words("The Café's 2nd door, an Open one!") == ["café", "s", "2nd", "door", "open", "one"]
