"""Pictures of the cache screen, on a phone's, a small and a large terminal."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Static

from device_app.device import Device
from device_app.tui.cache.screen import CacheScreen
from tests.device_app.tui.conftest import PHONE, SIZES

Steps = Callable[[Any, CacheScreen], Awaitable[None]]


@pytest.fixture
def looks(looks: Callable[..., bool]) -> Callable[..., bool]:
    """Returns a function that runs some steps, and compares a picture of the cache screen with the stored one."""

    def compare(size: tuple[int, int], steps: Steps | None = None, theme: str = "dark") -> bool:
        async def opened(person: Any) -> None:
            person.app.theme = theme
            await person.presses("ctrl+l")
            screen = person.app.screen
            await person.until(lambda: screen._overview is not None and screen._panels.suggestions.display)
            if steps:
                await steps(person, screen)

        return looks(size, opened)

    return compare


async def answers(person: Any, screen: CacheScreen) -> None:
    """Open the list of answers."""
    await person.presses("a")
    await person.until(lambda: screen._answers.list.option_count)


async def whole(person: Any, screen: CacheScreen) -> None:
    """Open the first answer in full."""
    await answers(person, screen)
    await person.presses("enter")
    await person.until(lambda: "be used" in str(person.app.screen.query_one("#part-1", Static).content))


@PHONE
def test_an_empty_cache(looks: Callable[..., bool], device: Device, size: tuple[int, int]) -> None:
    assert looks(size)


@SIZES
def test_an_overview(looks: Callable[..., bool], life: Device, size: tuple[int, int]) -> None:
    assert looks(size)


@SIZES
def test_kept_answers(looks: Callable[..., bool], life: Device, size: tuple[int, int]) -> None:
    assert looks(size, answers)


@PHONE
def test_a_kept_answer(looks: Callable[..., bool], life: Device, size: tuple[int, int]) -> None:
    assert looks(size, whole)


@pytest.mark.parametrize("theme", ["light", "contrast"])
def test_an_overview_in_other_colours(looks: Callable[..., bool], life: Device, theme: str) -> None:
    assert looks((80, 24), theme=theme)


def test_kept_states(looks: Callable[..., bool], life: Device, notes: Path) -> None:
    async def states(person: Any, screen: CacheScreen) -> None:
        await person.presses("s")
        await person.until(lambda: screen._states.list.option_count)

    assert looks((80, 24), states)
