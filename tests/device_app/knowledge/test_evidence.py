"""The sentence that carries an answer."""

import pytest

from device_app.knowledge import evidence
from models.fake import FakeEmbedder

PASSAGES = [
    "Fly home from Bergen. Where: Bergen airport. Booking reference XK4T9Z. Leave an hour early.",
    "The dentist moved. The new appointment is on Thursday 19 March at 16:15. Bring the old pictures.",
]


@pytest.mark.parametrize(
    ("question", "answer", "source", "sentence"),
    [
        ("What is the booking reference?", "Bergen Airport: XK4T9Z", 1, "Booking reference XK4T9Z."),
        ("When is the dentist?", "on 19 March at 16:15", 2, "The new appointment is on Thursday 19 March at 16:15."),
        ("When is the dentist?", PASSAGES[1], 2, "The new appointment is on Thursday 19 March at 16:15."),
    ],
)
def test_the_sentence_that_holds_the_answer_is_found(question: str, answer: str, source: int, sentence: str) -> None:
    found = evidence.find(question, answer, PASSAGES, FakeEmbedder())
    assert found is not None
    assert (found.source, found.sentence) == (source, sentence)
    assert 0 < found.similarity <= 1


@pytest.mark.parametrize(
    ("question", "answer", "support"),
    [
        ("What is the booking reference?", "Booking reference  XK4T9Z", "word for word"),
        ("When is the dentist?", PASSAGES[1], "word for word"),
        ("When is the dentist?", PASSAGES[1] + " It is on a Monday.", "near"),
        ("When is the dentist?", "on 19 March at 16:15", "near"),
        ("zeppelin?", "quite unrelated words", "none"),
    ],
)
def test_how_far_an_answer_is_carried(question: str, answer: str, support: str) -> None:
    found = evidence.find(question, answer, PASSAGES, FakeEmbedder())
    assert evidence.support(answer, found, PASSAGES) == support


@pytest.mark.parametrize(("answer", "passages"), [("", PASSAGES), ("yes", []), ("quite unrelated words", PASSAGES)])
def test_where_no_sentence_carries_it_none_is_shown(answer: str, passages: list[str]) -> None:
    assert evidence.find("zeppelin?", answer, passages, FakeEmbedder()) is None
