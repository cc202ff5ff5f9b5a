"""Models in the app: the download size and memory are shown first; a download can be watched and stopped, and survives
leaving its screen.
"""

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from models.catalog import Entry, Weights
from shared.errors import PullFailed
from storage.paths import Paths


async def opened(person: Any, name: str = "") -> Any:
    """Open the models screen, wait until it lists the models, and return it."""
    await person.sends(f"/model {name}".strip())
    await person.until(lambda: person.app.screen.PLACE == "models" and person.app.screen._shelf)
    await person.pilot.pause()
    return person.app.screen


def used(paths: Paths) -> str:
    return paths.config_file.read_text() if paths.config_file.exists() else ""


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """A download that stops half way until the event is set."""
    done = Event()
    real = Weights.pull

    def pull(weights: Weights, entry: Entry, progress: Callable[[str, int, int], None]) -> bool:
        while not done.wait(0.01):
            progress("Fetching", entry.size // 2, entry.size)
        return real(weights, entry, progress)

    monkeypatch.setattr(Weights, "pull", pull)
    yield done
    done.set()


async def test_what_a_model_takes_is_told(person: Any) -> None:
    async with person.at():
        await opened(person)
        seen = person.sees()
        assert "about 239 MB; 4.0 GB free" in seen
        assert "145 MB of weights" in seen
        assert "94 MB for 4,096 tokens" in seen
        await person.presses("down", "down")
        assert "386 MB to download; 50.0 GB free" in person.sees()
        assert "Enter downloads 386 MB" in person.sees()


async def test_a_model_that_is_here_is_used_at_once(person: Any, paths: Paths) -> None:
    async with person.at():
        await opened(person)
        await person.presses("down", "enter")
        await person.until(lambda: 'name = "smollm2-135m-q4_1"' in used(paths))
        await person.until(lambda: person.chat.title_bar.model == "smollm2-135m-q4_1")
        assert "smollm2-135m-q4_1 is the model used from now on." in person.messages()


async def test_a_model_is_fetched_and_used_by_its_name(person: Any, paths: Paths) -> None:
    async with person.at():
        await opened(person, "smollm2-360m")
        await person.until(lambda: 'name = "smollm2-360m"' in used(paths))


async def test_an_unknown_name_is_told(person: Any) -> None:
    async with person.at():
        await opened(person, "gpt-9[bold]")
        await person.until(lambda: "There is no model named gpt-9[bold]." in person.messages())


async def test_what_does_not_fit_the_memory_is_said_first_and_done_when_asked_again(
    person: Any, device: Any, paths: Paths
) -> None:
    device(memory=1_200_000_000)
    async with person.at():
        await opened(person, "smollm2-1.7b")
        assert "memory is too small: the model needs 1.9 GB, 1.2 GB is free" in person.sees()
        assert "anyway" in person.sees()
        assert used(paths) == ""
        await person.presses("enter")
        await person.until(lambda: "smollm2-1.7b" in used(paths))


async def test_what_does_not_fit_the_disk_is_not_fetched(person: Any, device: Any, paths: Paths) -> None:
    device(disk=1_000_000_000)
    async with person.at():
        await opened(person, "smollm2-1.7b")
        await person.presses("enter", "enter")
        assert "The disk is too full: the download needs 1.1 GB, 1.0 GB is free." in person.messages()
        assert used(paths) == ""


async def test_a_fetch_is_shown_and_stopped(person: Any, paths: Paths, slow: Event) -> None:
    async with person.at():
        await opened(person, "smollm2-360m")
        await person.until(lambda: "50% · 193 MB of 386 MB" in person.sees() and "^x stop download" in person.sees())
        await person.presses("ctrl+x")
        await person.until(lambda: "The download of smollm2-360m was stopped." in person.messages())
        await person.until(lambda: "stop download" not in person.sees())
        assert used(paths) == ""


async def test_a_fetch_goes_on_when_its_screen_is_left(person: Any, paths: Paths, slow: Event) -> None:
    async with person.at():
        await opened(person, "smollm2-360m")
        await person.until(lambda: "50%" in person.sees())
        await person.presses("escape")
        slow.set()
        await person.until(lambda: "smollm2-360m is the model used from now on." in person.messages())
        assert "smollm2-360m" in used(paths)


async def test_one_fetch_at_a_time(person: Any, slow: Event) -> None:
    async with person.at():
        screen = await opened(person, "smollm2-360m")
        await person.until(lambda: "50%" in person.sees())
        await person.presses("down", "enter")
        assert screen.status.doing == "only one download at a time"


async def test_the_app_ends_in_the_middle_of_a_fetch(person: Any, slow: Event) -> None:
    async with person.at():
        await opened(person, "smollm2-360m")
        await person.until(lambda: "50%" in person.sees())
    assert not slow.is_set()


async def test_why_a_fetch_failed_is_told(person: Any, monkeypatch: pytest.MonkeyPatch, paths: Paths) -> None:
    def refused(*_: object) -> bool:
        raise PullFailed("The hub could not be reached. Try again later.")

    monkeypatch.setattr(Weights, "pull", refused)
    async with person.at():
        await opened(person, "smollm2-360m")
        await person.until(lambda: "The hub could not be reached. Try again later." in person.messages())
        assert used(paths) == ""
