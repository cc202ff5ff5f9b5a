"""What was said in meetings, as lessons: an answer quotes what stands there, and nothing held out is taught."""

import pytest

from scripts.answerer.quotes import SOURCE, quotes
from scripts.datasets.folders import Folder, is_held_out
from shared.prompt import NOT_FOUND
from shared.types import Block, Document

TURN = "So um we should move {disfmarker} the old lantern behind the boathouse next week ."
TAUGHT, HELD_OUT = (
    next(f"m{number}.json" for number in range(99) if is_held_out(f"m{number}") is held_out)
    for held_out in (False, True)
)


def meeting(*turns: str, people: tuple[str, ...] = ("Grad B", "The Chair"), file: str = TAUGHT) -> Folder:
    document = Document("1", "chat", "", tuple(map(Block, turns)), people=people)
    return Folder({file: [document]}, [], summaries=True)


def pairs(folder: Folder) -> dict[str, str]:
    return {pair.question: pair.answer for lesson in quotes(folder) for pair in lesson.pairs}


def test_an_answer_says_who_said_what_without_what_filled_a_pause() -> None:
    said = "Grad B said: We should move the old lantern behind the boathouse next week."
    found = pairs(meeting(f"Grad B: {TURN}"))
    assert found
    assert all(answer.endswith(said) for answer in found.values())
    assert all("the old lantern" in question or "the boathouse" in question for question in found)


def test_an_answer_begins_with_what_was_asked_about() -> None:
    for question, answer in pairs(meeting(f"Grad B: {TURN}")).items():
        thing = "the old lantern" if "the old lantern" in question else "the boathouse"
        assert thing in answer.partition(" said: ")[0]


def test_who_is_not_named_there_is_not_named_in_the_answer() -> None:
    found = pairs(meeting(TURN))
    assert found
    assert not any("Grad B" in text for pair in found.items() for text in pair)
    assert all("it was said: We should" in answer for answer in found.values())


@pytest.mark.parametrize("turn", ["Grad B: Okay .", "The Chair: Thank you .", f"Grad B: the barn {'on and ' * 40}on."])
def test_of_what_says_too_little_or_too_much_nothing_is_asked(turn: str) -> None:
    assert pairs(meeting(turn)) == {}


def test_no_meeting_that_is_held_out_is_quoted() -> None:
    assert list(quotes(meeting(f"Grad B: {TURN}", file=HELD_OUT))) == []


def test_each_lesson_is_of_one_passage_and_never_abstains() -> None:
    for lesson in quotes(meeting(*(f"Grad B: {TURN}" for _ in range(40)))):
        assert (lesson.source, len(lesson.passages)) == (SOURCE, 1)
        assert not any(pair.answer == NOT_FOUND for pair in lesson.pairs)
