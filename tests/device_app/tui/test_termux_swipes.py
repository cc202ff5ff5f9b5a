"""The app on a phone, whose terminal sends arrow keys for a swipe, and where the model is loaded late and unloaded
early.
"""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from models.fake import FakeEngine
from tests.device_app.tui.conftest import DRILL
from tests.devices import fake_device


@pytest.fixture(autouse=True)
def _on_a_phone(monkeypatch: pytest.MonkeyPatch, paths: Any) -> None:
    monkeypatch.setenv("PREFIX", "/data/data/com.termux/files/usr")


async def test_a_swipe_scrolls_and_recalls_no_question(person: Any, notes: Path) -> None:
    async with person.at(40, 20):
        chat = person.chat
        assert not person.app.is_swiped  # with --mouse, the terminal sends swipes as turns of a wheel
        person.app.is_swiped = True
        await person.presses("slash", "down")
        assert chat.commands.highlighted == 1  # commands are still chosen with the arrows
        await person.presses("backspace")
        for _ in range(2):
            await person.asks(DRILL)
        end = chat.transcript.scroll_y
        assert end >= 7
        chat.composer.begin("half a question")
        await person.presses(*["up"] * 4)
        assert (chat.composer.text, chat.transcript.scroll_y) == ("half a question", end - 4)
        await person.presses(*["down"] * 2)
        assert chat.transcript.scroll_y == end - 2
        chat.composer.begin("")
        await person.presses(*["up"] * 2)
        assert (chat.composer.text, chat.transcript.scroll_y) == ("", end - 4)
        await person.presses("escape", "up")  # where answers are read
        chosen = chat.transcript.selected
        assert chat.transcript.scroll_y == end - 5
        await person.presses("ctrl+up")
        assert chat.transcript.selected is not chosen
        await person.presses("escape", "ctrl+up")
        assert chat.composer.text == DRILL


@pytest.mark.long
async def test_the_model_is_loaded_once_something_is_typed_and_let_go_while_memory_is_short(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[FakeEngine] = []

    def load() -> FakeEngine:
        loaded.append(FakeEngine())
        return loaded[-1]

    person.make = partial(fake_device, engine=load)
    monkeypatch.setattr("device_app.tui.edge.answers.is_needed", lambda: True)
    async with person.at(40, 20):
        assert loaded == []
        await person.presses("a")
        await person.until(lambda: len(loaded) == 1)
        await person.chat._answers.keep_up()
        await person.pilot.pause()
        assert len(loaded) == 1  # it is about to be used
        await person.presses("backspace")
        await person.asks(DRILL)
        answers = person.chat._answers
        await answers.keep_up()
        await person.until(lambda: answers._loads_late)
        await person.asks(DRILL)  # a kept answer needs none
        assert len(loaded) == 1
        await person.presses("b")
        await person.until(lambda: len(loaded) == 2)
