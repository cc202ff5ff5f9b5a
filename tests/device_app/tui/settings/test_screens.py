"""Pictures of the settings and models screens, on a phone's, a small and a large terminal."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from models.catalog import Entry, Weights
from storage.paths import Paths
from tests.device_app.tui.conftest import PHONE, SIZES


async def settings(person: Any, words: str = "") -> None:
    await person.app.action_settings(words)
    await person.until(lambda: person.app.screen._list.option_count)


async def models(person: Any, *keys: str) -> None:
    await person.app.action_model()
    await person.until(lambda: person.app.screen._list.option_count)
    await person.presses(*keys)


@SIZES
def test_settings(looks: Any, size: Any, paths: Paths) -> None:
    paths.create()
    paths.config_file.write_text("[answer]\nmax_tokens = 77\n")
    assert looks(size, settings)


@PHONE
def test_a_value_that_is_wrong(looks: Any, size: Any) -> None:
    async def steps(person: Any) -> None:
        await settings(person, "temp")
        await person.presses("enter", "ctrl+u", *"nine", "enter")
        await person.until(lambda: "cannot be" in person.sees())

    assert looks(size, steps)


@PHONE
def test_a_value_of_the_environment(looks: Any, size: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_ANSWER_MIN_P", "0.1")

    async def steps(person: Any) -> None:
        await settings(person, "min_p")
        await person.presses("enter")

    assert looks(size, steps)


@SIZES
def test_models(looks: Any, size: Any) -> None:
    assert looks(size, models)


@PHONE
def test_a_model_that_does_not_fit(looks: Any, size: Any, device: Any) -> None:
    device(memory=1_200_000_000)

    async def steps(person: Any) -> None:
        await models(person, "down", "down", "down", "enter")

    assert looks(size, steps)


@PHONE
def test_a_model_being_fetched(looks: Any, size: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Event()

    def pull(_: Weights, entry: Entry, progress: Callable[[str, int, int], None]) -> bool:
        while not ended.wait(0.01):
            progress("Fetching", entry.size // 2, entry.size)
        return True

    monkeypatch.setattr(Weights, "pull", pull)

    async def steps(person: Any) -> None:
        await models(person, "down", "down", "enter")
        await person.until(lambda: "50%" in person.sees())

    try:
        assert looks(size, steps)
    finally:
        ended.set()


@PHONE
def test_private(looks: Any, size: Any) -> None:
    async def steps(person: Any) -> None:
        person.app.action_private()
        await person.until(lambda: "stored here" in person.sees() or "been asked yet" in person.sees())

    assert looks(size, steps)


async def test_the_smallest_terminal(person: Any) -> None:
    async with person.at(20, 8):
        await settings(person)
        await person.presses("down", "enter", "escape", "escape")
        await models(person, "down")
        await person.presses("escape")
        person.app.action_private()
        await person.presses("escape")
        await person.pilot.resize_terminal(120, 40)
        assert person.app.screen is person.chat
