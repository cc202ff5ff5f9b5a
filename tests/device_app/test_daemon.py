"""Working ahead: when it begins, what ends it, what it reads; and as real processes, paused, killed and refused."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from device_app.activity import Activity
from device_app.build import Device
from device_app.daemon import RETRY_S, Daemon, read_status
from device_app.idle import Conditions, Sensors
from device_app.process import is_running
from device_app.settings import Daemon as Rules
from device_app.settings import Settings
from device_app.sources.local import LocalSource
from device_app.work import GiveWay, Step, Stop, run_once
from models.fake import FakeEmbedder, FakeEngine
from shared.errors import StoreFull
from shared.prompt import CHATML
from storage.paths import Paths, write_private

ROOT = Path(__file__).parent.parent.parent


def step(number: int, tokens: int = 0) -> Step:
    return Step("predict", f"question {number}", "nobody asked", tokens, 0, 1.0)


def never() -> bool:
    return False


# One run of work


def test_a_run_ends_when_the_work_has_come_to_its_end() -> None:
    told: list[Step] = []
    report = run_once(lambda _: iter([step(1, 3), step(2, 4)]), Stop(), told.append)
    assert list(report.steps) == told == [step(1, 3), step(2, 4)]
    assert (report.stopped, report.tokens) == (None, 7)
    assert report.as_json()["steps"][1]["subject"] == "question 2"


def test_no_item_is_begun_once_there_is_a_reason_to_stop_and_the_work_is_closed() -> None:
    closed = []

    def work(give_way: GiveWay) -> Iterator[Step]:
        try:
            for number in range(9):
                yield step(number)
        finally:
            closed.append(give_way())

    reasons = iter([None, None, "a question came", None])
    report = run_once(work, Stop(lambda: next(reasons)))
    assert ([one.subject for one in report.steps], report.stopped) == (["question 0", "question 1"], "a question came")
    assert closed == [True]


def test_no_work_is_begun_at_all_where_there_is_a_reason_before() -> None:
    assert run_once(lambda _: iter([step(1)]), Stop(lambda: "paused")).steps == ()


# The daemon in this process, on a clock that runs as fast as it sleeps


class Quiet(Sensors):
    """Sensors that show what the test says."""

    def __init__(self) -> None:
        self.now = Conditions()

    def read(self) -> Conditions:
        return self.now

    @contextmanager
    def watched(self) -> Iterator[Callable[[], Conditions]]:
        yield lambda: self.now


class FakeDevice(Device):
    """A device whose work is the test's."""

    embedder = FakeEmbedder()

    def begin_loading(self) -> Future[LocalSource]:
        loading: Future[LocalSource] = Future()
        loading.set_result(LocalSource(FakeEngine(), CHATML))
        return loading


@dataclass
class Scene:
    """A person's device. `work` is what there is to do; `at` says what happens at which time."""

    paths: Paths
    sensors: Quiet = field(default_factory=Quiet)
    rules: Rules = field(default_factory=Rules)
    work: Callable[[GiveWay], Iterator[Step]] = lambda _: iter(())
    at: dict[float, Callable[[], object]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    skipped: float = 0.0

    def daemon(self) -> Daemon:
        return Daemon(
            self.paths,
            self._open,
            sensors=self.sensors,
            on_step=self.steps.append,
            on_problem=self.problems.append,
            clock=lambda: time.monotonic() + self.skipped,
            sleep=self._sleep,
        )

    def run(self, seconds: float) -> None:
        """The resident process for so long."""
        self.at[self.skipped + seconds] = lambda: os.kill(os.getpid(), signal.SIGTERM)
        self.daemon().run()

    @property
    def state(self) -> tuple[str, str | None]:
        status = read_status(self.paths)
        assert status
        return status.state, status.why

    def _open(self) -> Device:
        device = FakeDevice(self.paths, replace(Settings(), daemon=self.rules))
        device.__dict__["idle_work"] = self.work
        return device

    def _sleep(self, seconds: float) -> None:
        self.skipped += seconds
        for time_ in sorted(self.at):
            if time_ <= self.skipped:
                self.at.pop(time_)()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(Paths.locate({"JACKDAW_HOME": str(tmp_path / "home")}))


def until_asked(do: Callable[[], object]) -> Callable[[GiveWay], Iterator[Step]]:
    """Work that never ends of itself; after its first item something happens."""

    def work(give_way: GiveWay) -> Iterator[Step]:
        yield step(1, 10)
        do()
        while not give_way():
            pass

    return work


def ask(paths: Paths) -> None:
    """A question in another process."""
    code = "import sys, pathlib, device_app.activity as a; a.Activity(pathlib.Path(sys.argv[1])).note()"
    subprocess.run([sys.executable, "-c", code, paths.activity], cwd=ROOT, check=True)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (lambda scene: ask(scene.paths), "a question came"),
        (lambda scene: write_private(scene.paths.daemon_paused, ""), "it is paused"),
        (lambda _: os.kill(os.getpid(), signal.SIGTERM), "it was told to end"),
        (lambda _: os.kill(os.getpid(), signal.SIGINT), "it was told to end"),
    ],
)
def test_it_gives_way_at_once(scene: Scene, happens: Callable[[Scene], object], why: str, force: bool) -> None:
    scene.work = until_asked(lambda: happens(scene))
    report = scene.daemon().once(force=force)
    assert (report.steps, report.stopped) == ((step(1, 10),), why)
    assert scene.state == ("stopped", None)


def test_it_gives_way_when_the_cable_is_pulled_unless_it_was_forced(scene: Scene) -> None:
    def pull() -> None:
        scene.sensors.now = Conditions(on_mains=False)

    scene.work = until_asked(pull)
    assert scene.daemon().once().stopped == "the device runs on battery"
    assert scene.daemon().once() == replace(scene.daemon().once(), steps=(), stopped="the device runs on battery")
    scene.work = lambda _: iter([step(1)])
    assert scene.daemon().once(force=True).stopped is None


def test_a_run_ends_when_its_time_is_over(scene: Scene) -> None:
    def endless(give_way: GiveWay) -> Iterator[Step]:
        while not give_way():
            scene.skipped += 20
            yield Step("predict", "a question", "nobody asked", 0, 0, 1.0)

    scene.work = endless
    report = scene.daemon().once(force=True, seconds=60)
    assert (len(report.steps), report.stopped) == (3, "1 minutes are over")


def test_a_device_in_use_is_left_alone_unless_it_is_forced(scene: Scene) -> None:
    scene.work = lambda _: iter([step(1)])
    Activity(scene.paths.activity).note()
    refused = scene.daemon().once()
    assert (refused.steps, refused.stopped) == ((), "a question came less than 5 minutes ago")
    assert len(scene.daemon().once(force=True).steps) == 1


def test_the_budget_holds_from_one_run_to_the_next(scene: Scene) -> None:
    scene.rules = replace(scene.rules, tokens_per_hour=20)
    scene.work = lambda _: iter([step(number, 15) for number in range(9)])
    assert [one.tokens for one in scene.daemon().once(force=True).steps] == [15, 15]
    assert scene.daemon().once(force=True).stopped == "20 tokens within an hour are spent"
    scene.skipped += 3601
    assert len(scene.daemon().once(force=True).steps) == 2


def test_a_status_file_that_is_damaged_or_cannot_be_written_stops_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.paths.create()
    scene.paths.daemon_status.mkdir()
    scene.work = lambda _: iter([step(1)])
    assert len(scene.daemon().once(force=True).steps) == 1
    scene.paths.daemon_status.rmdir()
    for damaged in (b'{"pid": "x"', b"\0\xff", b'{"pid": 1, "state": "\xff"}'):
        scene.paths.daemon_status.write_bytes(damaged)
        assert len(scene.daemon().once(force=True).steps) == 1
    assert read_status(scene.paths)


def remember(scene: Scene, tmp_path: Path) -> Path:
    """A folder that was added."""
    folder = tmp_path / "notes"
    folder.mkdir()
    with FakeDevice(scene.paths, Settings()) as device:
        device.knowledge.remember_folder(os.fsencode(folder))
    return folder


def test_what_changes_is_read_and_then_worked_with(scene: Scene, tmp_path: Path) -> None:
    folder = remember(scene, tmp_path)
    (folder / "drill.md").write_text("Petra has borrowed the blue drill.")
    scene.at[100] = lambda: (folder / "saw.md").write_text("Anna has the old saw.")
    scene.at[200] = (folder / "drill.md").unlink
    scene.run(300)
    assert [(one.action, one.subject) for one in scene.steps] == [
        ("read", "1 documents (1 passages)"),
        ("read", "1 documents (1 passages)"),
        ("read", "1 files gone"),
    ]
    assert scene.state == ("stopped", None)


def test_files_are_read_on_battery_and_soon_after_a_question_but_nothing_else_is_done(
    scene: Scene, tmp_path: Path
) -> None:
    folder = remember(scene, tmp_path)
    scene.sensors.now = Conditions(on_mains=False, battery_percent=90)
    Activity(scene.paths.activity).note()
    worked: list[str] = []

    def work(_: GiveWay) -> Iterator[Step]:
        worked.append("ahead")
        yield step(1)

    scene.work = work
    (folder / "drill.md").write_text("Petra has borrowed the blue drill.")
    scene.at[90] = lambda: worked.append(str(scene.state))
    scene.run(100)
    assert [one.action for one in scene.steps] == ["read"]
    assert worked == [str(("waiting", "a question came less than 5 minutes ago"))]
    scene.sensors.now = Conditions(on_mains=False, battery_percent=20)
    (folder / "saw.md").write_text("Anna has the old saw.")
    scene.run(100)
    assert [one.action for one in scene.steps] == ["read"]


def test_reading_gives_way_and_goes_on_later(scene: Scene, tmp_path: Path) -> None:
    folder = remember(scene, tmp_path)
    for number in range(40):
        (folder / f"{number}.md").write_text(f"Box {number} is in the cellar.")
    with FakeDevice(scene.paths, Settings()) as device:
        asked = iter([False] * 30)
        assert list(device.reading(lambda: next(asked, True))) == []
        while not (steps := list(device.reading(never))):
            pass
        assert device.knowledge.totals().documents == 40
        assert "documents" in steps[0].subject
        assert list(device.reading(never)) == []


def test_work_that_fails_is_told_and_tried_again(scene: Scene) -> None:
    def work(_: GiveWay) -> Iterator[Step]:
        if scene.skipped < RETRY_S * 1.5:
            raise StoreFull("The disk is full.")
        yield step(1)

    scene.work = work
    states: list[tuple[str, str | None]] = []
    scene.at[30] = lambda: states.append(scene.state)
    scene.run(RETRY_S * 3)
    assert scene.problems == ["The disk is full."]
    assert states == [("waiting", "The disk is full.")]
    assert scene.steps == [step(1)]


@pytest.mark.parametrize("wall_clock", [None, itertools.cycle([0.0, 4e9, 1e9])])
def test_what_is_done_is_left_until_somebody_asks_whatever_the_wall_clock_says(
    scene: Scene, wall_clock: Iterator[float] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wall_clock:
        monkeypatch.setattr(time, "time", lambda: next(wall_clock))
    begun: list[float] = []

    def work(_: GiveWay) -> Iterator[Step]:
        begun.append(scene.skipped)
        yield step(len(begun))

    scene.work = work
    scene.at[400] = Activity(scene.paths.activity).note
    scene.run(800)
    # The question was noted on the real clock, which stands still: nobody has asked for as long as was slept.
    assert len(begun) == 2
    assert begun[0] < 60
    assert 400 <= begun[1] < 430


def test_a_pause_is_told_and_ends(scene: Scene) -> None:
    scene.work = lambda _: iter([step(1)])
    scene.paths.create()
    scene.paths.daemon_paused.touch()
    states: list[tuple[str, str | None]] = []
    scene.at[30] = lambda: states.append(scene.state)
    scene.at[40] = scene.paths.daemon_paused.unlink
    scene.run(60)
    assert states == [("paused", None)]
    assert scene.steps == [step(1)]


# Real processes


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Callable[[], "subprocess.Popen[str]"]]:
    """Starts `jackdaw daemon run` in a home of its own, and waits until it runs."""
    started: list[subprocess.Popen[str]] = []
    home = tmp_path / "home"
    paths = Paths.locate({"JACKDAW_HOME": str(home)})

    def start() -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", "from device_app.cli import main; main()", "daemon", "run", "--json"],
            env={**os.environ, "JACKDAW_HOME": str(home)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        wait(lambda: process.poll() is not None or pid(paths) == process.pid)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait(until: Callable[[], Any]) -> None:
    while not until():
        time.sleep(0.02)


def pid(paths: Paths) -> int | None:
    status = read_status(paths)
    return status.pid if status else None


def test_one_runs_another_is_refused_a_pause_is_seen_and_a_kill_leaves_nothing_to_mend(
    processes: Callable[[], "subprocess.Popen[str]"], scene: Scene
) -> None:
    first = processes()
    assert is_running(scene.paths.daemon_lock)
    second = processes()
    out, err = second.communicate()
    assert second.returncode == 2
    assert f"process {first.pid}" in err
    assert "works ahead already" in json.loads(out)["error"]["message"]

    write_private(scene.paths.daemon_paused, "")
    wait(lambda: scene.state[0] == "paused")
    scene.paths.daemon_paused.unlink()
    wait(lambda: scene.state[0] != "paused")

    first.kill()
    first.wait()
    assert not is_running(scene.paths.daemon_lock)
    third = processes()
    assert pid(scene.paths) == third.pid
    third.send_signal(signal.SIGTERM)
    out, err = third.communicate()
    assert (third.returncode, err) == (0, "")
    assert json.loads(out)["steps"] == 0
    assert scene.state == ("stopped", None)


SLOW = """
import sys, time
from device_app.build import Device
from device_app.cli import main
from models.fake import FakeEmbedder

class Slow(FakeEmbedder):
    def embed(self, texts):
        time.sleep(0.01 * len(texts))
        return super().embed(texts)

Device.embedder = Slow()
main()
"""


def test_a_kill_while_it_works_loses_nothing_that_was_done(scene: Scene, tmp_path: Path) -> None:
    folder = remember(scene, tmp_path)
    for number in range(200):
        (folder / f"{number}.md").write_text(f"Box {number} is in the cellar.")
    with FakeDevice(scene.paths, Settings()) as device:
        process = subprocess.Popen(
            [sys.executable, "-c", SLOW, "daemon", "run-once"],
            env={**os.environ, "JACKDAW_HOME": str(tmp_path / "home")},
            cwd=ROOT,
        )
        wait(lambda: device.knowledge.totals().documents or process.poll() is not None)
        process.kill()
        process.wait()
        before = device.knowledge.totals().documents
        assert 0 < before < 200
        (rest,) = scene.daemon().once(force=True).steps
        assert rest.subject.startswith(f"{200 - before} documents")
        assert device.database.problems() == []
