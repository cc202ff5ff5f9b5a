"""Stored conversations: they can be read and searched, and a deleted one is gone completely."""

from pathlib import Path

import pytest

from storage.conversations import ConversationStore
from storage.database import Database


@pytest.fixture
def store(tmp_path: Path) -> ConversationStore:
    return ConversationStore(Database(tmp_path / "jackdaw.db"))


def test_a_turn_is_incomplete_until_its_record_is_written(store: ConversationStore) -> None:
    turn = store.begin("When is the\n dentist?")
    store.write(turn.id, "On Tue")
    (partial,) = store.turns(turn.conversation_id)
    assert (partial.answer, partial.complete) == ("On Tue", False)
    store.write(turn.id, "On Tuesday.", {"model": "m"})
    (whole,) = store.turns(turn.conversation_id)
    assert (whole.answer, whole.complete, whole.record) == ("On Tuesday.", True, {"model": "m"})
    assert store.recent()[0].title == "When is the dentist?"


def test_the_latest_conversation_is_the_one_last_added_to(store: ConversationStore) -> None:
    first, second = store.begin("One?"), store.begin("Two?")
    assert store.latest() == second.conversation_id
    store.begin("And then?", first.conversation_id)
    assert store.latest() == first.conversation_id
    assert [(conversation.id, conversation.turns) for conversation in store.recent()] == [
        (first.conversation_id, 2),
        (second.conversation_id, 1),
    ]


def test_search_finds_words_of_questions_and_of_answers(store: ConversationStore) -> None:
    turn = store.begin("Who has the drill?")
    store.write(turn.id, "Matteo borrowed it in May.", {})
    store.begin("When is the dentist?")
    for words in ("drills", "matteo", "drill May"):
        assert [passages.id for passages in store.search(words)] == [turn.id], words
    assert store.search("drill dentist") == store.search(' "*( ') == store.search("") == []


def test_search_gives_the_best_match_first_and_of_equal_ones_the_latest(store: ConversationStore) -> None:
    best = store.begin("Where is the drill, the drill?")
    worst = store.begin("Where are the saw, the hammer, the nails, the ladder, the paint and the drill?")
    first, second = (store.begin("Where is the red drill?") for _ in range(2))
    assert [turn.id for turn in store.search("drill")] == [best.id, second.id, first.id, worst.id]
    assert [turn.id for turn in store.search("drill", limit=1)] == [best.id]


def test_conversations_are_counted(store: ConversationStore) -> None:
    assert store.count() == 0
    store.begin("And then?", store.begin("One?").conversation_id)
    store.begin("Two?")
    assert store.count() == 2


def test_deleting_leaves_no_trace(store: ConversationStore) -> None:
    turn = store.begin("Who has the drill?")
    assert store.delete(turn.conversation_id)
    assert not store.delete(turn.conversation_id)
    assert store.search("drill") == store.turns(turn.conversation_id) == []
    assert store.recent() == []
    assert store.database.problems() == []


def test_a_question_takes_the_place_of_a_turn_and_those_behind_it(store: ConversationStore) -> None:
    first, other = store.begin("One?"), store.begin("Another?")
    for question in ("Two?", "Three?"):
        store.begin(question, first.conversation_id)
    again = store.begin("Two, again?", first.conversation_id)
    store.replace(first.id + 2, again)
    assert [turn.question for turn in store.turns(first.conversation_id)] == ["One?", "Two, again?"]
    assert again.conversation_id == first.conversation_id
    assert [turn.question for turn in store.turns(other.conversation_id)] == ["Another?"]
    assert store.search("three") == []
    assert store.database.problems() == []


def test_search_while_a_word_is_typed_finds_what_begins_with_it(store: ConversationStore) -> None:
    turn = store.begin("Who has the drill?")
    store.begin("When is the dentist?")
    assert [found.id for found in store.search("the dri", prefix=True)] == [turn.id]
    assert store.search("dri") == store.search("dri the", prefix=True) == []
    assert store.search('" * (', prefix=True) == []


def test_of_very_many_matches_the_latest_come_first(store: ConversationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.conversations.MOST_RANKED", 2)
    turns = [store.begin(f"Where is the {'drill ' * (5 - number)}?") for number in range(4)]
    assert [turn.id for turn in store.search("drill", limit=3)] == [turn.id for turn in reversed(turns[1:])]
    assert [turn.id for turn in store.search("drill", limit=4)] == [turn.id for turn in turns]


def test_what_left_the_device_is_added_up_over_finished_answers(store: ConversationStore) -> None:
    assert store.egress() == (0, 0)
    for left in (1200, 34):
        store.write(store.begin("Who?").id, "Petra.", {"egress": {"bytes": left}})
    store.write(store.begin("Who?").id, "Pet")
    assert store.egress() == (2, 1234)


def test_what_is_said_in_a_conversation_that_is_gone_begins_another(store: ConversationStore) -> None:
    gone = store.begin("When is the dentist?").conversation_id
    store.delete(gone)
    turn = store.begin("And where?", gone)
    assert [later.question for later in store.turns(turn.conversation_id)] == ["And where?"]
