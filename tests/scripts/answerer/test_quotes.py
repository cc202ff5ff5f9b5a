"""Training examples from meeting transcripts: an answer quotes the transcript, and no held-out meeting is used."""

import pytest

from scripts.answerer.quotes import MOST, SOURCE, quotes
from scripts.datasets.folders import Folder, is_held_out
from shared.types import Block, Document

TURN = "So um we should move the {disfmarker} the lantern , it 's too close to our door ."
QUOTED = "We should move the lantern, it's too close to our door."
TAUGHT, HELD_OUT = (
    next(f"m{number}.json" for number in range(99) if is_held_out(f"m{number}") is held_out)
    for held_out in (False, True)
)


def meeting(*turns: str, file: str = TAUGHT) -> Folder:
    document = Document("1", "chat", "", tuple(map(Block, turns)), people=("Grad B", "The Chair"))
    return Folder({file: [document]}, [], summaries=True)


def pairs(folder: Folder) -> dict[str, str]:
    return {pair.question: pair.answer for lesson in quotes(folder) for pair in lesson.pairs}


def test_an_answer_says_of_what_was_asked_who_said_what_without_what_filled_a_pause() -> None:
    [(question, answer)] = pairs(meeting(f"Grad B: {TURN.replace('the {disfmarker} ', '')}")).items()
    assert "the lantern" in question
    opening, _, said = answer.partition(", Grad B said: ")
    assert opening.endswith("the lantern")
    assert said == QUOTED


def test_who_is_not_named_there_is_not_named_in_the_answer() -> None:
    result = [pairs(meeting(TURN.replace("lantern", thing))) for thing in ("lantern", "barn", "boat", "ladder", "gate")]
    answers = {question: answer for each in result for question, answer in each.items()}
    assert answers
    assert not any("Grad B" in text for pair in answers.items() for text in pair)
    assert all(", it was said: We should" in answer for answer in answers.values())


@pytest.mark.parametrize(
    ("spoken", "quoted"),
    [
        ("So far the lantern has been of use to us .", "So far the lantern has been of use to us."),
        ("And uh so the lantern has been of use to us .", "The lantern has been of use to us."),
        ("Mm - hmm , the lantern [laughter] has been of use to us .", "The lantern has been of use to us."),
        ("Yeah, well, we 've hung the lantern too low .", "We've hung the lantern too low."),
        ("They say, 'Take the lantern and go to the end' .", "They say, 'Take the lantern and go to the end'."),
    ],
)
def test_what_is_quoted_is_what_was_said(spoken: str, quoted: str) -> None:
    answers = pairs(meeting(f"Grad B: {spoken}")).values()
    assert answers
    assert all(answer.endswith(f": {quoted}") for answer in answers)


@pytest.mark.parametrize(
    "turn",
    [
        "Take the lantern .",  # it says too little
        f"The barn {'on and ' * 40}on.",  # or too much
        "Is the lantern of any use to anybody ?",  # asks
        "And the lantern that we had hung behind",  # is broken off
        "We should take our lantern to that boathouse .",  # or has no thing with "the" before it
    ],
)
def test_of_what_tells_nothing_that_can_be_quoted_nothing_is_asked(turn: str) -> None:
    assert pairs(meeting(f"Grad B: {turn}")) == {}


def test_no_meeting_that_is_held_out_is_quoted() -> None:
    assert list(quotes(meeting(f"Grad B: {TURN}", file=HELD_OUT))) == []


def test_each_passage_is_a_lesson_with_few_questions() -> None:
    lessons = list(quotes(meeting(*(f"Grad B: {TURN}" for _ in range(40)))))
    assert len(lessons) > 1
    for lesson in lessons:
        assert (lesson.source, len(lesson.passages)) == (SOURCE, 1)
        assert 0 < len(lesson.pairs) <= MOST
