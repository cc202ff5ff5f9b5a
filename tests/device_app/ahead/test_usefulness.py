"""Kinds of questions that are predicted but never asked are predicted less, and more again once they are asked."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.ahead.usefulness import CHANCES, HALF_LIFE, LEAST, Prediction, Tally, form, is_worth, liking, tally

NOW = datetime(2026, 11, 25, tzinfo=UTC)
LATER = [NOW - timedelta(minutes=CHANCES - place) for place in range(CHANCES)]
"""The times of just enough later questions that a predicted question which was not asked among them counts as
a miss.
"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When is the dentist?", "when"),
        ("What did Anna say about the roof?", "said"),
        ("What have I told Petra about the key?", "said"),
        ("What is the password?", "what"),
        ("How much was the chimney?", "how much"),
        ("Whose drill is this?", "who"),
        ("Is Anna free?", "whether"),
        ("the password?", "other"),
        ("", "other"),
    ],
)
def test_questions_are_told_apart_by_their_form(question: str, expected: str) -> None:
    assert form(question) == expected


def made(count: int, *, asked: int = 0, days: float = 1) -> list[Prediction]:
    at = NOW - timedelta(days=days)
    return [Prediction(f"When is event {number}?", at, number < asked) for number in range(count)]


@pytest.mark.parametrize(
    ("predictions", "asked_at", "least", "most"),
    [
        ([], LATER, 1.0, 1.0),
        (made(200), [], 1.0, 1.0),  # nothing was asked since: that says nothing
        (made(200), LATER[1:], 1.0, 1.0),
        (made(20), LATER, 0.45, 0.55),
        (made(200), LATER, LEAST, LEAST),
        (made(200, asked=10), LATER, 0.99, 1.0),
        (made(200, asked=4), LATER, 0.4, 0.5),
        (made(200, days=30 * 12), LATER, 0.99, 1.0),  # long ago
        (made(200, asked=1), [], 1.0, 1.0),  # one was asked by now, the others had no chance
    ],
)
def test_what_is_never_asked_is_predicted_less(
    predictions: list[Prediction], asked_at: list[datetime], least: float, most: float
) -> None:
    share = tally(predictions, asked_at, NOW).get("when", Tally()).share
    assert least <= share <= most


def test_a_prediction_fades_by_half() -> None:
    old = [Prediction("When is it?", NOW - HALF_LIFE, True)]
    assert tally(old, [], NOW) == {"when": Tally(0.5, 0.5)}


@given(st.floats(0, 1e6), st.floats(0, 1), st.floats(0, 1e6))
def test_more_asked_never_means_fewer_predicted(predicted: float, share: float, more: float) -> None:
    before, after = Tally(predicted, predicted * share), Tally(predicted, predicted * share + more)
    assert LEAST <= before.share <= after.share <= 1


def test_a_share_of_a_useless_form_is_still_predicted_and_always_the_same_one() -> None:
    tallies = {"when": Tally(10_000, 0)}
    questions = [f"When is event {number}?" for number in range(1000)]
    worth = [question for question in questions if is_worth(question, tallies)]
    assert 50 <= len(worth) <= 150
    assert worth == [question for question in questions if is_worth(question, tallies)]
    assert all(is_worth(f"Who is person {number}?", tallies) for number in range(50))


def test_forms_that_are_asked_are_liked() -> None:
    assert liking(["When is it?", "Who is it?"], ["When was that?", "When is tea?", "Who?", "Why?"]) == [0.5, 0.25]
    assert liking(["When is it?"], []) == [0.0]
