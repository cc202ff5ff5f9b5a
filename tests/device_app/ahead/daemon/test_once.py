"""One run of background work: what it waits for, when it stops for the user, and how much it may spend."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from device_app.ahead.daemon import read_status
from device_app.ahead.work import GiveWay, Step
from device_app.system.activity import Activity
from device_app.system.conditions import Conditions
from storage.paths import Paths
from storage.private import write_private

if TYPE_CHECKING:
    from tests.device_app.ahead.daemon.conftest import Scene

ROOT = Path(__file__).parents[4]


def then(scene: "Scene", do: Callable[[], object]) -> None:
    """Let a run make one step, call `do`, and then go on until it is asked to stop."""
    steps = scene.does(10)

    def work(give_way: GiveWay) -> Iterator[Step]:
        yield from steps
        do()
        while not give_way():
            pass

    scene.work = work


def ask(paths: Paths) -> None:
    """Record in another process that a question was asked now."""
    code = "import sys, pathlib, device_app.system.activity as a; a.Activity(pathlib.Path(sys.argv[1])).note()"
    subprocess.run([sys.executable, "-c", code, paths.activity], cwd=ROOT, check=True)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (lambda scene: ask(scene.paths), "a question was asked"),
        (lambda scene: write_private(scene.paths.daemon_paused, ""), "background work is paused"),
        (lambda _: os.kill(os.getpid(), signal.SIGTERM), "the daemon was told to stop"),
        (lambda _: os.kill(os.getpid(), signal.SIGINT), "the daemon was told to stop"),
    ],
)
def test_it_gives_way_at_once(scene: "Scene", happens: Callable[["Scene"], object], why: str, force: bool) -> None:
    then(scene, lambda: happens(scene))
    report = scene.daemon().once(force=force)
    assert ([step.tokens for step in report.steps], report.stopped) == ([10], why)
    assert scene.state == ("stopped", None)


def test_it_gives_way_when_the_cable_is_pulled_unless_it_was_forced(scene: "Scene") -> None:
    def pull() -> None:
        scene.sensors.now = Conditions(on_mains=False)

    then(scene, pull)
    assert scene.daemon().once().stopped == "the device runs on battery power"
    assert scene.daemon().once() == replace(scene.daemon().once(), steps=(), stopped="the device runs on battery power")
    scene.does(0)
    assert scene.daemon().once(force=True).stopped is None


def test_a_run_ends_when_its_time_is_over(scene: "Scene") -> None:
    (step,) = scene.does(0)

    def endless(give_way: GiveWay) -> Iterator[Step]:
        while not give_way():
            scene.skipped += 20
            yield step

    scene.work = endless
    report = scene.daemon().once(force=True, seconds=60)
    assert (len(report.steps), report.stopped) == (3, "the time limit of 1 minutes was reached")


def test_a_device_in_use_is_left_alone_unless_it_is_forced(scene: "Scene") -> None:
    scene.does(0)
    Activity(scene.paths.activity).note()
    refused = scene.daemon().once()
    assert (refused.steps, refused.stopped) == ((), "a question was asked less than 5 minutes ago")
    assert len(scene.daemon().once(force=True).steps) == 1


def test_the_budget_holds_from_one_run_to_the_next(scene: "Scene") -> None:
    scene.rules = replace(scene.rules, tokens_per_hour=20)
    scene.does(*[15] * 9)
    assert [step.tokens for step in scene.daemon().once(force=True).steps] == [15, 15]
    assert scene.daemon().once(force=True).stopped == "the limit of 20 tokens per hour is used up"
    scene.skipped += 3601
    assert len(scene.daemon().once(force=True).steps) == 2


def test_a_status_file_that_is_damaged_or_cannot_be_written_stops_nothing(scene: "Scene") -> None:
    scene.paths.create()
    scene.paths.daemon_status.mkdir()
    scene.does(0)
    assert len(scene.daemon().once(force=True).steps) == 1
    scene.paths.daemon_status.rmdir()
    for damaged in (b'{"pid": "x"', b"\0\xff", b'{"pid": 1, "state": "\xff"}'):
        scene.paths.daemon_status.write_bytes(damaged)
        assert len(scene.daemon().once(force=True).steps) == 1
    assert read_status(scene.paths)
