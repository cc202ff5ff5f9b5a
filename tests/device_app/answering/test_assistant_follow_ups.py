"""Filters and follow-up questions: which documents are searched, and which earlier questions are added to the
prompt.
"""

from pathlib import Path

import pytest

from storage.database import Database
from tests.device_app.conftest import answered, assistant, options


def test_filters_narrow_the_sources(database: Database) -> None:
    answer = answered(assistant(database), "in:cat.md who has the drill?", options(relevance=0))
    assert [Path(hit.passage.path).name for hit in answer.hits] == ["cat.md"]


def test_a_follow_up_keeps_the_filters_of_the_questions_before_it(database: Database) -> None:
    room = assistant(database)
    chosen = options(relevance=0)
    first = answered(room, "in:cat.md what about the drill?", chosen)
    prompt = room.prompt("And now?", chosen, first.conversation_id)
    assert prompt is not None
    assert "Earlier question: what about the drill?" in prompt.text()
    for question in ("And who has it?", "And why?"):
        answer = answered(room, question, chosen, first.conversation_id)
        assert [Path(hit.passage.path).name for hit in answer.hits] == ["cat.md"]


def test_a_follow_up_is_read_with_the_question_before_it(database: Database) -> None:
    room = assistant(database)
    first = answered(room, "Who has borrowed the blue drill?", options(relevance=0))
    second = answered(room, "And why her?", options(relevance=0), first.conversation_id)
    assert second.conversation_id == first.conversation_id
    assert second.hits[0].passage.path.endswith("drill.md")
    prompt = room.prompt("And why her?", options(relevance=0), first.conversation_id)
    assert prompt is not None
    assert "Earlier question: Who has borrowed the blue drill?" in prompt.text()


def test_a_follow_up_is_read_with_where_its_thread_began_and_the_last_of_it(database: Database) -> None:
    room, chosen = assistant(database), options(relevance=0)
    conversation = None
    for question in (
        "How much medicine does the cat take?",
        "Who has borrowed the blue drill?",
        "And why?",
        "And when?",
    ):
        conversation = answered(room, question, chosen, conversation).conversation_id
    prompt = room.prompt("And who said so?", chosen, conversation)
    assert prompt is not None
    asked = [line.partition(": ")[2] for line in prompt.text().splitlines() if line.startswith("Earlier question")]
    assert asked == ["Who has borrowed the blue drill?", "And when?"]


@pytest.mark.parametrize("earlier", [["Who has borrowed the blue drill?"], ["in:cat.md and now?", "And why her?"]])
def test_a_question_that_stands_alone_is_answered_as_if_it_were_the_first(
    database: Database, earlier: list[str]
) -> None:
    room, chosen = assistant(database), options(relevance=0, fresh=True)
    conversation = None
    for question in earlier:
        conversation = answered(room, question, chosen, conversation).conversation_id
    for question in ("When does the dentist see me?", "What is the capital of Mongolia?"):
        alone, here = answered(room, question, chosen), answered(room, question, chosen, conversation)
        assert (here.text, here.hits) == (alone.text, alone.hits)
        assert room.prompt(question, chosen, conversation) == room.prompt(question, chosen)


def test_a_question_that_stands_alone_is_served_from_the_bank_in_a_conversation(database: Database) -> None:
    room = assistant(database)
    known = answered(room, "When does the dentist see me?", options())
    first = answered(room, "Who has borrowed the blue drill?", options())
    again = answered(room, "When does the dentist see me?", options(), first.conversation_id)
    assert (again.origin, again.text) == ("qa_bank", known.text)
    assert answered(room, "And why then?", options(relevance=0), first.conversation_id).origin == "device"
