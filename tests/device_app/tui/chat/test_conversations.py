"""Conversations in the chat: continued, searched, listed, opened, exported and deleted."""

import json
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from device_app.tui.chat.conversations import ConversationList
from device_app.tui.chat.transcript import PAGE
from storage.conversations import ConversationStore
from tests.device_app.tui.conftest import DRILL


async def test_a_question_is_edited_and_what_came_after_it_goes(
    person: Any, notes: Path, store: ConversationStore
) -> None:
    async with person.at(80, 40):
        for question in ("Who has the old saw?", DRILL, "When is the dentist?"):
            await person.asks(question)
        await person.presses("escape", "up", "e")
        assert person.chat.composer.text == DRILL
        await person.presses("escape")
        assert person.chat.composer.text == ""
        await person.presses("escape", "e")
        await person.asks("Who has borrowed the drill?")
        assert [turn.question for turn in store.turns(1)] == ["Who has the old saw?", "Who has borrowed the drill?"]
        assert store.count() == 1


async def test_a_past_conversation_is_continued(person: Any, notes: Path, store: ConversationStore) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("ctrl+n")
        await person.asks("When is the dentist?")
    async with person.at():
        await person.presses("ctrl+o")
        await person.until(lambda: DRILL in person.sees())
        await person.presses("down", "down", "enter")
        await person.until(lambda: person.chat.transcript.views)
        await person.asks("And the old saw?")
        assert [turn.question for turn in store.turns(1)] == [DRILL, "And the old saw?"]


async def test_search_finds_a_turn_in_any_conversation_and_opens_it_with_the_focus_where_questions_are_typed(
    person: Any, store: ConversationStore, record: Any
) -> None:
    for number in range(30):
        turn = store.begin(f"Question {number}?", 1 if number else None)
        store.write(turn.id, "Zanzibar." if number == 3 else "No.", record("", ""))
    async with person.at():
        await person.sends("/conversations zanzi")
        await person.until(lambda: "Zanzibar." in person.sees())
        await person.presses("enter")
        await person.until(lambda: person.chat.transcript.views)
        assert person.app.focused is person.chat.composer
        assert person.chat.transcript.selected.question == "Question 3?"
        assert person.chat.transcript.selected.has_class("-selected")
        assert "Zanzibar." in person.sees()


async def test_the_search_field_is_a_key_away_on_a_wide_screen(person: Any, store: ConversationStore) -> None:
    store.begin(DRILL)
    async with person.at(120, 40):
        await person.presses("ctrl+o")
        assert isinstance(person.app.focused, Input)


@pytest.mark.long
async def test_a_hit_in_the_middle_of_a_very_long_talk_opens_a_few_turns(
    person: Any, store: ConversationStore, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device_app.tui.chat.transcript.MOST", 12)
    for number in range(60):
        turn = store.begin(f"Question {number}?", 1 if number else None)
        store.write(turn.id, "Zanzibar." if number == 20 else "No.", record("", ""))
    async with person.at():
        await person.chat.open_conversation(1, 21)
        assert person.chat.transcript.selected.question == "Question 20?"
        person.chat.transcript.focus()
        for step, last in ((1, 36), (-1, 16)):
            while person.chat.transcript.selected.question != f"Question {last}?":
                await person.presses("down" if step > 0 else "up")
                assert len(person.chat.transcript.views) <= 12 + PAGE
        await person.asks(DRILL)
        assert person.chat.transcript.selected.question == DRILL
        assert person.chat.transcript.views[-2].question == "Question 59?"


async def test_a_long_conversation_shows_its_end_and_the_rest_when_asked(
    person: Any, store: ConversationStore, record: Any
) -> None:
    for number in range(12):
        store.write(store.begin(f"Question {number}?", 1 if number else None).id, "Yes.", record("", ""))
    async with person.at():
        await person.presses("ctrl+o", "enter")
        await person.until(lambda: person.chat.transcript.views)
        assert len(person.chat.transcript.views) < 10
        await person.presses("escape", *["up"] * 11)
        await person.until(lambda: len(person.chat.transcript.views) == 12)
        assert person.chat.transcript.selected.question == "Question 0?"


async def test_a_long_talk_keeps_few_turns_mounted(person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("device_app.tui.chat.transcript.MOST", 2)
    async with person.at():
        for question in (DRILL, "Who has the old saw?", "When is the dentist?"):
            await person.asks(question)
        assert [view.question for view in person.chat.transcript.views] == [
            "Who has the old saw?",
            "When is the dentist?",
        ]
        await person.presses("escape", "up", "up")
        await person.until(lambda: len(person.chat.transcript.views) == 3)
        assert person.chat.transcript.selected.question == DRILL


async def test_the_list_grows_as_it_is_scrolled(person: Any, store: ConversationStore) -> None:
    for number in range(120):
        store.begin(f"Question {number}?")
    async with person.at(120, 40):
        panel = person.chat.query_one(ConversationList)
        await person.until(lambda: panel._list.option_count == 50)
        await person.presses("ctrl+o", "down", "end")
        await person.until(lambda: panel._list.option_count == 100)
        await person.presses("end")
        await person.until(lambda: panel._list.option_count == 120)


@pytest.mark.parametrize("kind", ["md", "json"])
async def test_a_conversation_is_exported_beside_what_is_there(
    person: Any,
    notes: Path,
    store: ConversationStore,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    async with person.at():
        await person.asks(DRILL)
        name = f"jackdaw-{store.turns(1)[0].asked_at[:10]}-who-has-the-blue-drill"
        for file in (f"{name}.{kind}", f"{name}-2.{kind}"):
            await person.sends(f"/export {kind}")
            await person.until((tmp_path / file).exists)
            text = (tmp_path / file).read_text()
            assert "Petra has borrowed the blue drill." in text
            assert kind == "md" or json.loads(text)["turns"][0]["complete"]


async def test_forgetting_takes_a_yes_and_leaves_nothing(person: Any, notes: Path, store: ConversationStore) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.sends("/forget")
        assert store.count() == 1
        await person.presses("y")
        await person.until(lambda: store.count() == 0)
        assert store.database.execute("SELECT COUNT(*) FROM qa_entries") == [(0,)]
        await person.until(lambda: "You can ask about" in person.sees())
