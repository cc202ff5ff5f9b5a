"""The chat's input field: typing, the commands that it offers, and the meaning of keys in it."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from device_app.tui.chat.screen import ChatScreen
from models.fake import FakeEngine
from tests.device_app.tui.conftest import DRILL
from tests.devices import fake_device


async def test_up_edits_the_last_question(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("up")
        assert person.chat.composer.text == DRILL


async def test_commands_are_offered_and_completed(person: Any, notes: Path) -> None:
    async with person.at():
        await person.presses("slash", "h")
        assert "List all commands and keys." in person.sees()
        await person.presses("tab")
        assert person.chat.composer.text == "/help"
        await person.presses("enter")
        assert "Where you write" in person.sees()
        await person.presses("escape")
        await person.sends("/hlep")
        assert any("Did you mean /help?" in message for message in person.messages())
        assert person.chat.composer.text == "/hlep"


async def test_commands_used_most_are_offered_first_also_the_next_time(person: Any, notes: Path) -> None:
    async with person.at():
        await person.sends("/theme light")
        await person.presses("slash")
        assert person.chat.commands.get_option_at_index(0).id == "theme"
    async with person.at():
        await person.until(lambda: person.chat.uses)
        await person.presses("slash")
        assert [person.chat.commands.get_option_at_index(place).id for place in range(2)] == ["theme", "add"]


async def test_what_cannot_be_done_now_is_neither_offered_nor_done(person: Any) -> None:
    async with person.at():
        await person.presses("slash")
        assert "/regen" not in person.sees()
        await person.sends("/regen")
        assert any("ask something first" in message for message in person.messages())


async def test_the_palette_does_what_it_offers(person: Any, notes: Path) -> None:
    async with person.at():
        await person.presses("ctrl+p", *"theme")
        await person.until(lambda: "/theme" in person.sees())
        await person.presses("enter")
        await person.until(lambda: person.app.theme == "light")


async def test_enter_does_not_overtake_what_was_typed(person: Any, notes: Path) -> None:
    async with person.at():
        await person.pilot.press(*"drill", "enter")
        await person.settled()
        assert [view.question for view in person.chat.transcript.views] == ["drill"]


async def test_a_line_is_broken_without_shift(person: Any) -> None:
    async with person.at():
        await person.presses("a", "ctrl+j", "b")
        assert person.chat.composer.text == "a\nb"


async def test_the_person_may_write_while_the_model_loads(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def writes() -> None:
        await person.pilot.pause()
        assert person.chat.status.doing == "loading the model"
        await person.presses(*"hello")
        assert person.chat.composer.text == "hello"

    def load() -> FakeEngine:
        while person.chat.composer.text != "hello":
            time.sleep(0.01)
        return FakeEngine()

    person.make = partial(fake_device, engine=load)
    monkeypatch.setattr(person, "settled", writes)
    async with person.at():
        await person.until(lambda: person.chat.status.doing == "ready")


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
