"""The chat as a person uses it: asking, stopping, asking again, coming back to a conversation."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.widgets import Input

from device_app.abstention import NEAREST, NOT_TOLD
from device_app.build import Device
from device_app.cli import run
from device_app.sources.local import LocalSource
from device_app.tui.chat.conversations import ConversationList
from device_app.tui.chat.screen import ChatScreen
from device_app.tui.chat.transcript import PAGE
from models.engine import Logits
from models.fake import FakeEngine
from shared.prompt import CHATML, NOT_FOUND
from storage.conversations import ConversationStore

DRILL = "Who has the blue drill?"


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Where a model waits after its first letters, until it is set."""
    opened = Event()

    class Waiting(FakeEngine):
        written = 0

        def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
            self.written += 1
            if self.written == 8:
                opened.wait()
            return super().decode(tokens)

    monkeypatch.setattr(Device, "_load", lambda _: LocalSource(Waiting(), CHATML))
    yield opened
    opened.set()


async def test_an_answer_wears_its_badge_its_sources_and_its_times(person: Any, notes: Path) -> None:
    async with person.at(100, 40):
        await person.asks(DRILL)
        seen = person.sees()
        assert "Petra has borrowed the blue drill." in seen
        assert "● device · " in seen
        assert "tok/s · nothing left this device" in seen
        assert "drill.md" in seen
        assert "in all" in seen
        assert "━" in seen


async def test_what_the_files_do_not_say_is_shown_so_with_the_nearest_passages(person: Any, notes: Path) -> None:
    (notes / "zither.md").write_text(f"# My zither\n\nWhat it cost, my zither.\n\n{NOT_FOUND}")
    assert run(["add", str(notes)]) == 0
    async with person.at(100, 40):
        await person.asks("What did my zither cost?")
        seen = person.sees()
        assert NOT_TOLD in seen
        assert "● no answer · " in seen
        assert NEAREST in seen
        assert "zither.md" in seen
        assert NOT_FOUND not in seen


async def test_the_same_question_is_answered_before(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("ctrl+n")
        await person.asks(DRILL)
        assert "● answered before · " in person.sees()


async def test_escape_stops_and_keeps_what_was_written(
    person: Any, notes: Path, gate: Event, store: ConversationStore
) -> None:
    async with person.at():
        await person.sends(DRILL)
        await person.until(lambda: "writing" in person.sees())
        await person.presses("escape")
        gate.set()
        await person.settled()
        assert "stopped before its end" in person.sees()
        (turn,) = store.turns(1)
        assert not turn.complete
        assert turn.answer in ("Petra ha", "Petra has")
        await person.sends("/copy")
        assert person.app.clipboard == turn.answer
    async with person.at():
        await person.presses("ctrl+o")
        await person.until(lambda: DRILL in person.sees())
        await person.presses("enter")
        await person.until(lambda: "stopped before its end" in person.sees())


async def test_what_is_written_is_kept_while_it_is_written(
    person: Any, notes: Path, gate: Event, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for often in ("SAVE_EVERY_S", "SHOW_EVERY_S"):
        monkeypatch.setattr(f"device_app.tui.edge.writing.{often}", 0.0)
    async with person.at():
        await person.sends(DRILL)
        await person.until(lambda: store.count() and store.turns(1)[0].answer.startswith("Petra"))
        assert not store.turns(1)[0].complete
        await person.presses("escape")
        gate.set()
        await person.settled()


async def test_a_second_question_waits_for_the_first(person: Any, notes: Path, gate: Event) -> None:
    async with person.at():
        await person.sends(DRILL)
        await person.sends("And the saw?")
        assert person.chat.composer.text == "And the saw?"
        assert any("Still answering" in told for told in person.told())
        await person.presses("escape")
        gate.set()
        await person.settled()


async def test_an_answer_is_made_anew_in_its_place(person: Any, notes: Path, store: ConversationStore) -> None:
    async with person.at():
        await person.asks("Who has the old saw?")
        await person.asks(DRILL)
        before = [turn.id for turn in store.turns(1)]
        await person.presses("ctrl+r")
        await person.until(lambda: [turn.id for turn in store.turns(1)] != before)
        await person.settled()
        assert [turn.question for turn in store.turns(1)] == ["Who has the old saw?", DRILL]
        assert store.turns(1)[0].id == before[0]
        assert len(person.chat.transcript.views) == 2


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


async def test_up_edits_the_last_question(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("up")
        assert person.chat.composer.text == DRILL


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


async def test_search_finds_a_turn_in_any_conversation_and_opens_it_there(
    person: Any, store: ConversationStore, record: Any
) -> None:
    for number in range(30):
        turn = store.begin(f"Question {number}?", 1 if number else None)
        store.write(turn.id, "Zanzibar." if number == 3 else "No.", record("", ""))
    async with person.at():
        await person.sends("/search zanzi")
        await person.until(lambda: "Zanzibar." in person.sees())
        await person.presses("enter")
        await person.until(lambda: person.chat.transcript.views)
        assert person.chat.transcript.selected.question == "Question 3?"
        assert "Zanzibar." in person.sees()


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


async def test_a_source_opens_where_it_stands_in_its_file(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("escape", "1")
        await person.until(lambda: "Source 1 of 1" in person.sees())
        seen = person.sees()
        assert "Anna has the old saw." in seen
        assert "drill.md" in seen
        await person.presses("y", "escape")
        assert "blue drill" in person.app.clipboard


async def test_a_source_that_is_gone_is_told(person: Any, store: ConversationStore, record: Any) -> None:
    store.write(store.begin(DRILL).id, "Petra.", record(DRILL, "Petra."))
    async with person.at():
        await person.presses("ctrl+o", "enter")
        await person.until(lambda: person.chat.transcript.views)
        await person.sends("/sources 2")
        await person.until(lambda: "has changed or gone" in " ".join(person.sees().split()))
        assert "Anna has the old saw." in person.sees()


async def test_why_shows_times_and_kept_answers(person: Any, notes: Path) -> None:
    async with person.at(80, 40):
        await person.asks(DRILL)
        await person.sends("/why")
        await person.until(lambda: f"1.00 {DRILL}" in person.sees())
        assert "this answer itself" in person.sees()
        assert "retrieve" in person.sees()


async def test_why_says_that_an_answer_which_is_none_is_not_kept(person: Any, notes: Path) -> None:
    (notes / "drill.md").write_text(f"# Tools\n\n{DRILL}\n\n{NOT_FOUND}")
    assert run(["add", str(notes)]) == 0
    async with person.at(80, 40):
        await person.asks(DRILL)
        await person.sends("/why")
        await person.until(lambda: f"1.00 {DRILL}" in person.sees())
        assert "it could not be answered" in person.sees()
        assert "this answer itself" not in person.sees()


async def test_code_is_copied_alone(person: Any, store: ConversationStore, record: Any) -> None:
    store.write(store.begin("How?").id, "So:\n\n```sh\nls -l\n```\n\nThat is it.", record("", ""))
    async with person.at():
        await person.presses("ctrl+o", "enter")
        await person.until(lambda: person.chat.transcript.views)
        await person.sends("/copy code")
        assert person.app.clipboard == "ls -l"
        await person.sends("/copy")
        assert person.app.clipboard.endswith("That is it.")


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


async def test_commands_are_offered_and_completed(person: Any, notes: Path) -> None:
    async with person.at():
        await person.presses("slash", "h")
        assert "Every command and every key." in person.sees()
        await person.presses("tab")
        assert person.chat.composer.text == "/help"
        await person.presses("enter")
        assert "Where you write" in person.sees()
        await person.presses("escape")
        await person.sends("/hlep")
        assert any("Did you mean /help?" in told for told in person.told())
        assert person.chat.composer.text == "/hlep"


async def test_what_cannot_be_done_now_is_neither_offered_nor_done(person: Any) -> None:
    async with person.at():
        await person.presses("slash")
        assert "/regen" not in person.sees()
        await person.sends("/regen")
        assert any("ask something first" in told for told in person.told())


async def test_enter_does_not_overtake_what_was_typed(person: Any, notes: Path) -> None:
    async with person.at():
        await person.pilot.press(*"drill", "enter")
        await person.settled()
        assert [view.question for view in person.chat.transcript.views] == ["drill"]


async def test_a_line_is_broken_without_shift(person: Any) -> None:
    async with person.at():
        await person.presses("a", "ctrl+j", "b")
        assert person.chat.composer.text == "a\nb"


async def test_the_palette_does_what_it_offers(person: Any, notes: Path) -> None:
    async with person.at():
        await person.presses("ctrl+p", *"theme")
        await person.until(lambda: "/theme" in person.sees())
        await person.presses("enter")
        await person.until(lambda: person.app.theme == "light")


async def test_an_answer_goes_on_while_another_conversation_is_read(
    person: Any, notes: Path, gate: Event, store: ConversationStore
) -> None:
    async with person.at():
        await person.sends(DRILL)
        await person.until(lambda: "writing" in person.sees())
        await person.presses("ctrl+n")
        gate.set()
        await person.settled()
        assert store.turns(1)[0].complete
        assert not person.chat.transcript.views
        await person.asks("When is the dentist?")
        assert store.count() == 2


async def test_the_person_may_write_while_the_model_loads(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def writes() -> None:
        await person.pilot.pause()
        assert person.chat.status.doing == "loading the model"
        await person.presses(*"hello")
        assert person.chat.composer.text == "hello"

    def load(_: Device) -> LocalSource:
        while person.chat.composer.text != "hello":
            time.sleep(0.01)
        return LocalSource(FakeEngine(), CHATML)

    monkeypatch.setattr(Device, "_load", load)
    monkeypatch.setattr(person, "settled", writes)
    async with person.at():
        await person.until(lambda: person.chat.status.doing == "ready")


async def test_the_search_field_is_a_key_away_on_a_wide_screen(person: Any, store: ConversationStore) -> None:
    store.begin(DRILL)
    async with person.at(120, 40):
        await person.presses("ctrl+o")
        assert isinstance(person.app.focused, Input)


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


async def test_a_question_may_begin_with_a_digit_that_chooses_when_it_stands_alone(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChatScreen, "choices", lambda _: (DRILL, "Who has the old saw?"))
    sent: list[str] = []
    monkeypatch.setattr("device_app.tui.chat.composer.CHOOSES_AFTER_S", 0.05)

    async def asked(_: ChatScreen, question: str, **__: object) -> None:
        sent.append(question)

    monkeypatch.setattr(ChatScreen, "_ask", asked)
    async with person.at():
        await person.presses("2")
        await person.until(lambda: sent == ["Who has the old saw?"])
        monkeypatch.setattr("device_app.tui.chat.composer.CHOOSES_AFTER_S", 3600.0)
        await person.presses("1", "space", *"drill", "enter")
        await person.presses("1", "enter")
        await person.presses("3", "enter")
        assert sent[1:] == ["1 drill", DRILL, "3"]
        assert person.chat.composer.text == ""
