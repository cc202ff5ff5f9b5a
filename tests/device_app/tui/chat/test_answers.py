"""Answers in the chat: while they are generated, stopped or regenerated, and their sources."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from device_app.answering.assistant import Assistant
from device_app.cli import run
from device_app.question.abstention import NEAREST, NOT_TOLD
from models.engine import Logits
from models.fake import FakeEngine
from shared.errors import EngineError
from shared.prompt import NOT_FOUND
from storage.conversations import ConversationStore
from tests.device_app.tui.conftest import DRILL
from tests.devices import fake_device


@pytest.fixture
def gate(person: Any) -> Iterator[Event]:
    """An event for which the fake model waits after its first letters."""
    opened = Event()

    class Waiting(FakeEngine):
        written = 0

        def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
            self.written += 1
            if self.written == 8:
                opened.wait()
            return super().decode(tokens)

    person.make = partial(fake_device, engine=Waiting)
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
    assert run(["add", str(notes)], fake_device) == 0
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


async def test_a_stopped_answer_of_the_model_alone_is_asked_of_it_alone_again(
    person: Any, notes: Path, gate: Event
) -> None:
    async with person.at(100, 40):
        # The fake engine repeats the line before the last one of the prompt.
        await person.chat.action_model_only("Who has the drill?\nPetra has the drill and the saw.\nWho has it?")
        await person.until(lambda: "writing" in person.sees())
        await person.presses("escape")
        gate.set()
        await person.settled()
        assert "stopped before its end" in person.sees()
        await person.sends("/regen")
        await person.settled()
        assert "from the model alone: no source" in person.sees()
        assert "drill.md" not in person.sees()


async def test_a_request_to_the_model_alone_that_failed_is_asked_of_it_alone_again(
    person: Any, notes: Path, gate: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise EngineError("There is no engine today.")

    gate.set()
    async with person.at(100, 40):
        with monkeypatch.context() as broken:
            broken.setattr(Assistant, "_answered", refuse)
            await person.chat.action_model_only("Who has the drill?\nPetra has the drill and the saw.\nWho has it?")
            await person.until(lambda: "There is no engine today" in person.sees())
        await person.sends("/regen")
        await person.settled()
        assert "from the model alone: no source" in person.sees()


async def test_what_is_written_is_kept_while_it_is_written(
    person: Any, notes: Path, gate: Event, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device_app.tui.edge.writing.SHOW_EVERY_S", 0.0)
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
        assert any("Still answering" in message for message in person.messages())
        await person.presses("escape")
        gate.set()
        await person.settled()


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


async def test_a_source_opens_where_it_stands_in_its_file(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("escape", "1")
        await person.until(lambda: "Source 1 of 1" in person.sees())
        seen = person.sees()
        assert "Anna has the old saw." in seen
        assert "notes/drill.md,line1" in re.sub(r"[│▌\s]", "", seen)  # wherever the line is broken
        await person.presses("y", "escape")
        assert "blue drill" in person.app.clipboard


async def test_a_source_that_is_gone_is_told(person: Any, store: ConversationStore, record: Any) -> None:
    store.write(store.begin(DRILL).id, "Petra.", record(DRILL, "Petra."))
    async with person.at():
        await person.presses("ctrl+o", "enter")
        await person.until(lambda: person.chat.transcript.views)
        await person.sends("/sources 2")
        await person.until(lambda: "was changed or deleted" in " ".join(person.sees().split()))
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
    assert run(["add", str(notes)], fake_device) == 0
    async with person.at(80, 40):
        await person.asks(DRILL)
        await person.sends("/why")
        await person.until(lambda: f"1.00 {DRILL}" in person.sees())
        assert "the question could not be answered" in person.sees()
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
