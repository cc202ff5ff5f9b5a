"""The background process: what it reads and when, and which work it repeats."""

import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from device_app.ahead.daemon import RETRY_S, pause, read_status
from device_app.ahead.reading import alone
from device_app.ahead.work import GiveWay, Step
from device_app.commands import history, knowledge
from device_app.commands.caches import clear
from device_app.system.activity import Activity
from device_app.system.conditions import Conditions
from shared.errors import StoreFull

if TYPE_CHECKING:
    from device_app.device import Device
    from tests.device_app.ahead.daemon.conftest import Scene


def test_what_changes_is_read_and_then_worked_with(scene: "Scene") -> None:
    folder = scene.remember()
    (folder / "drill.md").write_text("Petra has borrowed the blue drill.")
    scene.at[100] = lambda: (folder / "saw.md").write_text("Anna has the old saw.")
    scene.at[200] = (folder / "drill.md").unlink
    scene.run(300)
    assert [(step.action, step.subject) for step in scene.steps] == [
        ("read", "1 document (1 passage)"),
        ("read", "1 document (1 passage)"),
        ("read", "1 files gone"),
    ]
    assert scene.state == ("stopped", None)


def test_files_are_read_on_battery_and_soon_after_a_question_but_nothing_else_is_done(scene: "Scene") -> None:
    folder = scene.remember()
    scene.sensors.now = Conditions(on_mains=False, battery_percent=90)
    Activity(scene.paths.activity).note()
    states: list[tuple[str, str | None]] = []
    scene.does(0)
    (folder / "drill.md").write_text("Petra has borrowed the blue drill.")
    scene.at[90] = lambda: states.append(scene.state)
    scene.run(100)
    assert [step.action for step in scene.steps] == ["read"]
    assert states == [("waiting", "a question was asked less than 5 minutes ago")]
    scene.sensors.now = Conditions(on_mains=False, battery_percent=20)
    (folder / "saw.md").write_text("Anna has the old saw.")
    scene.run(100)
    assert [step.action for step in scene.steps] == ["read"]


def test_reading_gives_way_and_goes_on_later(scene: "Scene") -> None:
    folder = scene.remember()
    for number in range(40):
        (folder / f"{number}.md").write_text(f"Box {number} is in the cellar.")
    with scene.device() as device:
        asked = iter([False] * 30)
        assert list(device.reading(lambda: next(asked, True))) == []
        while not (steps := list(device.reading(lambda: False))):
            pass
        assert device.knowledge.totals().documents == 40
        assert "documents" in steps[0].subject
        assert list(device.reading(lambda: False)) == []


def test_work_that_fails_is_told_and_tried_again(scene: "Scene") -> None:
    done = scene.does(0)

    def work(_: GiveWay) -> Iterator[Step]:
        if scene.skipped < RETRY_S * 1.5:
            raise StoreFull("The disk is full.")
        yield from done

    scene.work = work
    states: list[tuple[str, str | None]] = []
    scene.at[30] = lambda: states.append(scene.state)
    scene.run(RETRY_S * 3)
    assert scene.problems == ["The disk is full."]
    assert states == [("waiting", "The disk is full.")]
    assert scene.steps == done


@pytest.mark.parametrize("wall_clock", [None, itertools.cycle([0.0, 4e9, 1e9])])
def test_what_is_done_is_left_until_somebody_asks_whatever_the_wall_clock_says(
    scene: "Scene", wall_clock: Iterator[float] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wall_clock:
        monkeypatch.setattr(time, "time", lambda: next(wall_clock))
    done = scene.does(0)
    starts: list[float] = []

    def work(_: GiveWay) -> Iterator[Step]:
        starts.append(scene.skipped)
        yield from done

    scene.work = work
    scene.at[400] = Activity(scene.paths.activity).note
    scene.run(800)
    # The question was noted on the real clock, which stands still: nobody has asked for as long as was slept.
    assert len(starts) == 2
    assert starts[0] < 60
    assert 400 <= starts[1] < 430


def test_what_is_forgotten_is_struck_from_the_status_while_the_process_stays(scene: "Scene") -> None:
    folder = scene.remember()
    scene.does(10)
    lasts: list[Step | None] = []

    def last() -> None:
        status = read_status(scene.paths)
        assert status
        lasts.append(status.last)

    def remove() -> None:
        with scene.device() as device, alone(device.paths.add_lock):
            knowledge.remove(device, os.fsencode(folder))

    scene.at = {90: last, 100: remove, 110: lambda: pause(scene.paths, paused=True), 120: last}
    scene.run(130)
    last()
    assert [last and last.subject for last in lasts] == ["a question", None, None]


@pytest.mark.parametrize(
    "happens",
    [
        lambda device: knowledge.remove(device, b"/nowhere"),
        lambda device: history.forget(device, device.conversations.begin("Who?").conversation_id),
        lambda device: clear(device, answers=True, states=False),
        lambda device: clear(device, answers=False, states=True),
    ],
)
def test_whatever_is_forgotten_the_status_no_longer_says_what_was_done_last(
    scene: "Scene", happens: Callable[["Device"], object]
) -> None:
    scene.does(10)
    scene.daemon().once(force=True)
    with scene.device() as device:
        happens(device)
    status = read_status(scene.paths)
    assert status
    assert (status.last, len(status.spent)) == (None, 1)


def test_a_new_store_knows_nothing_of_what_was_done_in_another(scene: "Scene") -> None:
    scene.does(10)
    scene.daemon().once(force=True)
    shutil.rmtree(scene.paths.data)
    with scene.device() as device:
        assert device.database
    status = read_status(scene.paths)
    assert status
    assert status.last is None


def test_a_pause_is_told_and_ends(scene: "Scene") -> None:
    done = scene.does(0)
    scene.paths.create()
    scene.paths.daemon_paused.touch()
    states: list[tuple[str, str | None]] = []
    scene.at[30] = lambda: states.append(scene.state)
    scene.at[40] = scene.paths.daemon_paused.unlink
    scene.run(60)
    assert states == [("paused", None)]
    assert scene.steps == done
