"""Finding the sentence of a source that supports an answer."""

import pytest

from device_app.english.query import Query
from device_app.knowledge import evidence
from device_app.knowledge.proof import Subject
from models.fake import FakeEmbedder
from shared.types import StoredPassage

PASSAGES = [
    "Fly home from Bergen. Where: Bergen airport. Booking reference XK4T9Z. Leave an hour early.",
    "The dentist moved. The new appointment is on Thursday 19 March at 16:15. Bring the old pictures.",
]

SENTENCE = "The new appointment is on Thursday 19 March at 16:15."


@pytest.mark.parametrize(
    ("question", "answer", "source", "sentence"),
    [
        ("What is the booking reference?", "Bergen Airport: XK4T9Z", 1, "Booking reference XK4T9Z."),
        ("When is the dentist?", "on 19 March at 16:15", 2, "The new appointment is on Thursday 19 March at 16:15."),
        ("When is the dentist?", PASSAGES[1], 2, "The new appointment is on Thursday 19 March at 16:15."),
    ],
)
def test_the_sentence_that_holds_the_answer_is_found(question: str, answer: str, source: int, sentence: str) -> None:
    evidence_ = evidence.find(question, answer, PASSAGES, FakeEmbedder())
    assert evidence_ is not None
    assert (evidence_.source, evidence_.sentence) == (source, sentence)
    assert 0 < evidence_.share <= 1


@pytest.mark.parametrize(
    ("question", "answer", "support", "quoted"),
    [
        ("What is the booking reference?", "Booking reference  XK4T9Z", "word for word", "Booking reference XK4T9Z."),
        ("When is the appointment?", "on 19 March at 16:15", "proven", SENTENCE),
        ("When is the appointment?", "at 16:15, and leave an hour early", "near", None),
        ("Who is Anna's dentist?", "on 19 March at 16:15", "near", None),
        ("zeppelin?", "quite unrelated words", "none", None),
    ],
)
def test_only_what_proves_an_answer_is_quoted(question: str, answer: str, support: str, quoted: str | None) -> None:
    read = [StoredPassage(1, text, 0, 1, None, 1, "notes", "note", None, (), "notes.md") for text in PASSAGES]
    carried = evidence.behind(Subject(Query(question), read), answer, read, FakeEmbedder())
    assert carried.support == support
    assert (carried.proof and carried.proof.sentence) == quoted
    assert (carried.nearest is not None) == (support == "near")


@pytest.mark.parametrize(("answer", "passages"), [("", PASSAGES), ("yes", []), ("quite unrelated words", PASSAGES)])
def test_where_no_sentence_carries_it_none_is_shown(answer: str, passages: list[str]) -> None:
    assert evidence.find("zeppelin?", answer, passages, FakeEmbedder()) is None
