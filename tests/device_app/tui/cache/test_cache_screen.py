"""The cache screen, used by a simulated user."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from device_app.ahead.work import Step
from device_app.device import Device
from device_app.system.process import alone
from device_app.tui.actions import parse
from device_app.tui.cache.screen import CacheScreen
from device_app.tui.cache.whole import WholeScreen
from device_app.tui.edge.caches import Caches
from shared.errors import StoreLocked
from storage.paths import Paths
from storage.qa_entries import QAEntries


async def opened(person: Any) -> CacheScreen:
    """Open the cache screen, wait until it has read the caches, and return it."""
    await person.presses("ctrl+l")
    await person.until(lambda: "Space" in person.sees() or person.app.size.width < 100)
    screen = person.app.screen
    assert isinstance(screen, CacheScreen)
    await person.until(lambda: screen._overview is not None)
    return screen


async def command(person: Any, text: str) -> None:
    """Run a typed command."""
    action, given = parse(text)
    await person.app.perform(action.id, given)
    await person.pilot.pause()


async def listed(person: Any, key: str) -> None:
    """Open one of the two lists by its key, and wait until it shows entries."""
    await person.presses(key)
    screen = person.app.screen
    await person.until(lambda: screen._kept(str(screen._switcher.current)).list.option_count)


async def test_it_shows_what_was_saved_what_is_ahead_and_the_space(person: Any, life: Device) -> None:
    async with person.at(120, 40):
        await opened(person)
        seen = person.sees()
        for expected in (
            "Answered before  35 of 74 (47%)",
            "Seconds saved  84 s",
            "2,340 not computed",
            "no daemon: ",
            "Last  answer, 40 min ago",
            "answer 2 waiting questions",
            "predict questions from 3 passages",
        ):
            assert expected in seen
        assert seen.count("of 100.0 MB") == 2  # answers, and states of so little text
        totals = life.qa_bank.entries.totals()
        assert f" Answers {totals.answered} " in seen
        assert f"{totals.answered} answers, {totals.waiting} waiting" in seen


async def test_a_suggested_question_is_asked_by_its_key_and_answered_before(person: Any, life: Device) -> None:
    async with person.at():
        await opened(person)
        await person.until(lambda: "1 Who has the old saw?" in person.sees())
        await person.presses("1")
        await person.until(lambda: person.app.screen is person.chat)
        await person.until(lambda: "answered before" in person.sees())
        assert "Anna has the old saw." in person.sees()


async def test_the_welcome_suggests_and_a_digit_asks(person: Any, life: Device) -> None:
    async with person.at():
        await person.until(lambda: "You may ask" in person.sees())
        await person.presses("2")
        await person.until(lambda: "answered before" in person.sees())
        assert "Ben." in person.sees()


async def test_a_digit_within_a_question_is_a_digit(person: Any, life: Device) -> None:
    async with person.at():
        await person.until(lambda: "You may ask" in person.sees())
        await person.presses("a", "1", "9")
        assert person.chat.composer.text == "a19"


async def test_a_digit_with_nothing_suggested_is_a_digit(person: Any, notes: Path) -> None:
    async with person.at():
        await person.presses("1")
        assert person.chat.composer.text == "1"


async def test_a_list_is_filtered_while_it_is_typed(person: Any, life: Device) -> None:
    async with person.at():
        await opened(person)
        await listed(person, "a")
        assert "asked · used 6 times" in person.sees()
        assert "out of date · asked" in person.sees()
        assert "waits · predicted" in person.sees()
        await person.presses(*"ladder ben")
        await person.until(lambda: "2 with “ladder ben”" in person.sees())
        await person.presses("escape")
        await person.until(lambda: "7 questions" in person.sees())
        await person.presses("escape")
        assert person.app.screen is person.chat


async def test_an_answer_is_shown_whole_with_whether_it_would_serve(person: Any, life: Device) -> None:
    async with person.at(100, 40):
        await opened(person)
        await listed(person, "a")
        await person.presses("enter")
        await person.until(lambda: "can be used: the same question" in person.sees())
        assert isinstance(person.app.screen, WholeScreen)
        assert "2.4 s to make" in person.sees()
        await person.presses("escape")
        assert isinstance(person.app.screen, CacheScreen)


async def test_states_are_listed_by_passage_and_shown_with_what_they_served(person: Any, life: Device) -> None:
    async with person.at(100, 40):
        await opened(person)
        await listed(person, "s")
        assert "The instructions in every prompt" in person.sees()
        await person.presses("down", "down", "enter")
        await person.until(lambda: "Answers from this passage" in person.sees())
        assert "at 1 place in prompts" in person.sees()


async def test_a_long_list_is_read_by_the_page(person: Any, life: Device, keep: Callable[..., int]) -> None:
    for number in range(70):
        keep(f"Where is box number {number} from the attic?", "In the cellar.")
    async with person.at():
        screen = await opened(person)
        await listed(person, "a")
        kept = screen._answers.list
        assert kept.option_count == 50
        await person.presses("down", "end")
        await person.until(lambda: kept.option_count == 77)


async def test_clearing_says_what_goes_and_waits_for_a_yes(person: Any, life: Device) -> None:
    async with person.at():
        await opened(person)
        await command(person, "/clear answers")
        await person.until(lambda: any("y to clear 7 saved questions" in message for message in person.messages()))
        assert life.qa_bank.entries.totals().entries == 7
        await person.presses("y")
        await person.until(lambda: any(message.startswith("Cache cleared.") for message in person.messages()))
        assert life.qa_bank.entries.totals().entries == 0
        assert life.qkv_tree.rows.all()


async def test_with_nothing_kept_there_is_nothing_to_clear(person: Any, notes: Path) -> None:
    async with person.at():
        await opened(person)
        await person.presses("c")
        await person.until(lambda: any("nothing to clear" in message for message in person.messages()))
        assert not person.app._asked


async def test_another_kind_of_clearing_is_asked_about_anew(person: Any, life: Device) -> None:
    async with person.at():
        await opened(person)
        await command(person, "/clear answers")
        await person.until(lambda: any("Press y" in message for message in person.messages()))
        await command(person, "/clear states")
        await person.until(lambda: any("4 attention states" in message for message in person.messages()))
        assert life.qa_bank.entries.totals().entries == 7
        assert life.qkv_tree.rows.all()


async def test_a_limit_counts_at_once_and_is_kept(person: Any, life: Device, paths: Paths) -> None:
    async with person.at():
        screen = await opened(person)
        await command(person, "/limit kv 5")
        await person.until(lambda: any(message.startswith("States may take 5 MB; ") for message in person.messages()))
        assert "kv_mb = 5" in paths.config_file.read_text()
        await person.until(lambda: screen._overview and screen._overview.kv_limit == 5_000_000)
        assert sum(row.bytes for row in life.qkv_tree.rows.all()) <= 5_000_000
        answers = await person.app.parts.answers.lend(lambda device: device.qkv_tree.limit)
        assert answers == 5_000_000


@pytest.mark.parametrize("given", ["kv", "kv lots", "gpu 5", "qa -3", "kv inf", "kv nan", "kv 1e300"])
async def test_what_is_no_limit_is_refused(person: Any, life: Device, paths: Paths, given: str) -> None:
    async with person.at():
        await opened(person)
        await command(person, f"/limit {given}")
        await person.until(person.messages)
        assert not paths.config_file.exists()


async def test_a_limit_can_be_typed_where_it_is_shown(person: Any, life: Device, paths: Paths) -> None:
    async with person.at():
        await opened(person)
        await person.presses("l", *"qa seven", "enter")
        await person.until(lambda: any("is not a limit" in message for message in person.messages()))
        await person.presses(*["backspace"] * 5, "7", "enter")
        await person.until(lambda: any(message.startswith("Answers may take 7 MB") for message in person.messages()))


async def test_pausing_is_seen_by_the_daemon(person: Any, life: Device, paths: Paths) -> None:
    async with person.at(120, 40):
        await opened(person)
        await person.presses("p")
        await person.until(lambda: "■ paused" in person.sees())
        assert paths.daemon_paused.exists()
        await person.presses("w")
        await person.until(lambda: any("Press p to resume." in message for message in person.messages()))
        await person.presses("p")
        await person.until(lambda: "no daemon: " in person.sees())
        assert not paths.daemon_paused.exists()


async def test_work_ahead_here_fills_the_cache(person: Any, notes: Path, device: Device) -> None:
    async with person.at(120, 40):
        await opened(person)
        await person.until(lambda: "No question is prepared yet. Press w" in person.sees())
        await person.presses("w")
        await person.until(lambda: any("All possible answers" in message for message in person.messages()))
        await person.until(lambda: "You may ask" in person.sees() and "Nothing yet" not in person.sees())
        assert device.qa_bank.entries.totals().predicted


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> tuple[Event, Event]:
    """Background work that goes on until it is asked to stop; records when it began and when it ended."""
    began, ended = Event(), Event()

    def work(give_way: Callable[[], bool]) -> Any:
        began.set()
        while not give_way():
            time.sleep(0.005)
        ended.set()
        yield Step.free("nothing", "", "")

    monkeypatch.setattr(Device, "idle_work", staticmethod(work))
    return began, ended


async def test_work_ahead_gives_way_to_a_question(person: Any, life: Device, endless: tuple[Event, Event]) -> None:
    began, ended = endless
    async with person.at(120, 40):
        screen = await opened(person)
        await person.presses("w")
        await person.until(began.is_set)
        screen._look()
        await person.until(lambda: "preparing answers" in person.sees())
        await person.presses("escape")
        await person.asks("Who has the blue drill?")
        assert ended.is_set()
        assert any("Preparing stopped: you asked something." in message for message in person.messages())


async def test_work_ahead_gives_way_to_what_may_become_a_question(
    person: Any, life: Device, endless: tuple[Event, Event]
) -> None:
    began, ended = endless
    async with person.at(120, 40):
        await opened(person)
        await person.presses("w")
        await person.until(began.is_set)
        await person.presses("down", "escape")
        assert not ended.is_set()
        await person.presses("w")
        await person.until(ended.is_set)
        await person.until(
            lambda: any("Preparing stopped: you are typing." in message for message in person.messages())
        )


async def test_work_ahead_of_another_process_is_left_alone(person: Any, life: Device, paths: Paths) -> None:
    with alone(paths.daemon_lock, None):
        async with person.at(120, 40):
            await opened(person)
            assert "process 4711" in person.sees()
            await person.presses("w")
            await person.until(lambda: any("is running already" in message for message in person.messages()))


async def test_tab_goes_through_the_views(person: Any, life: Device) -> None:
    async with person.at():
        screen = await opened(person)
        for view in ("answers", "states", "overview"):
            await person.presses("tab")
            assert screen._switcher.current == view


@pytest.mark.parametrize("size", [(40, 20), (20, 8), (200, 60)])
async def test_it_fits_any_size_and_follows_it(person: Any, life: Device, size: tuple[int, int]) -> None:
    async with person.at(80, 24):
        await opened(person)
        await person.pilot.resize_terminal(*size)
        for key in ("end", "a", "tab", "tab"):
            await person.presses(key)
        assert all(len(line) <= size[0] for line in person.sees().splitlines())


async def test_escapes_in_what_is_kept_are_shown_never_obeyed(
    person: Any, life: Device, keep: Callable[..., int]
) -> None:
    keep("Who\x1b]0;gone\x07 has [bold]it[/]?", "Petra\x1b[2J.", uses=9)
    async with person.at(100, 40):
        await opened(person)
        await listed(person, "a")
        assert "\x1b" not in person.sees()
        assert "[bold]it[/]" in person.sees()
        await person.presses("enter")
        await person.until(lambda: "9 times" in person.sees())
        assert "\x1b" not in person.sees()


async def test_what_cannot_be_read_on_is_said_in_the_list(
    person: Any, life: Device, keep: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(70):
        keep(f"Where is box number {number} from the attic?", "In the cellar.")
    async with person.at():
        await opened(person)
        await listed(person, "a")

        def refuse(*_: Any) -> None:
            raise StoreLocked("The store is in use. Try again.")

        monkeypatch.setattr(QAEntries, "get", refuse)
        await person.presses("down", "end")
        await person.until(lambda: "The store is in use." in person.sees())


async def test_keys_are_heeded_while_it_is_cleared(person: Any, life: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    go = Event()
    monkeypatch.setattr("device_app.commands.caches.clear", lambda *_, **__: (go.wait(60), (7, 4))[1])
    async with person.at():
        await opened(person)
        await person.presses("c")
        await person.until(lambda: any("Press y" in message for message in person.messages()))
        await person.presses("y", "escape")
        assert person.app.screen is person.chat
        go.set()
        await person.until(lambda: any(message.startswith("Cache cleared.") for message in person.messages()))


async def test_looks_do_not_take_each_others_place_and_tell_a_failure_once(
    person: Any, life: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    async def worker(_: Caches) -> None:
        looks.append(1)
        await asyncio.sleep(0.05)
        raise StoreLocked("The store is in use. Try again.")

    monkeypatch.setattr("device_app.tui.cache.screen.LOOK_S", 0.01)
    monkeypatch.setattr(Caches, "worker", worker)
    async with person.at():
        await opened(person)
        await person.until(lambda: len(looks) > 3)
        assert person.messages() == ["The store is in use. Try again."]


async def test_a_limit_that_the_environment_overrules_is_said_to_be(
    person: Any, life: Device, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_CACHE_KV_MB", "700")
    async with person.at():
        await opened(person)
        await command(person, "/limit kv 5")
        await person.until(lambda: any("JACKDAW_CACHE_KV_MB overrides this value" in t for t in person.messages()))
        assert "kv_mb = 5" in paths.config_file.read_text()


async def test_states_are_found_by_the_name_of_their_file(person: Any, life: Device) -> None:
    async with person.at():
        await opened(person)
        await listed(person, "s")
        await person.presses(*"drill.md")
        await person.until(lambda: "1 with “drill.md”" in person.sees())
