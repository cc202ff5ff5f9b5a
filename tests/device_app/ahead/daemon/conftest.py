"""Runs the background process in the test's process: the test sets its work, and its clock advances when it sleeps."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from device_app.ahead.daemon import Daemon, read_status
from device_app.ahead.work import GiveWay, Step
from device_app.device import Device
from device_app.settings import Daemon as Rules
from device_app.settings import Settings
from device_app.system.conditions import Conditions, Sensors
from storage.paths import Paths
from tests.devices import fake_device


class Quiet(Sensors):
    """Fake sensors that report the conditions that a test sets in `now`."""

    def __init__(self) -> None:
        self.now = Conditions()

    def read(self) -> Conditions:
        return self.now

    @contextmanager
    def watched(self) -> Iterator[Callable[[], Conditions]]:
        yield lambda: self.now


@dataclass
class Scene:
    """A device on which the background process runs.

    `work` makes its steps; `at` maps times in seconds to functions that are called then.
    """

    paths: Paths
    folder: Path
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
            self.device,
            sensors=self.sensors,
            on_step=self.steps.append,
            on_problem=self.problems.append,
            clock=lambda: time.monotonic() + self.skipped,
            sleep=self._sleep,
        )

    def run(self, seconds: float) -> None:
        """Run the background process for `seconds` of its own clock."""
        self.at[self.skipped + seconds] = lambda: os.kill(os.getpid(), signal.SIGTERM)
        self.daemon().run()

    @property
    def state(self) -> tuple[str, str | None]:
        status = read_status(self.paths)
        assert status
        return status.state, status.why

    def device(self) -> Device:
        device = fake_device(self.paths, replace(Settings(), daemon=self.rules))
        device.__dict__["idle_work"] = self.work
        return device

    def remember(self) -> Path:
        """Add a folder, as a user does with `jackdaw add`."""
        self.folder.mkdir()
        with self.device() as device:
            device.knowledge.remember_folder(os.fsencode(self.folder))
        return self.folder

    def does(self, *tokens: int) -> list[Step]:
        """Let every run of work make one step for each of these numbers of tokens; return the steps."""
        facts = "predict", "a question", "nobody asked"
        steps = [Step(*facts, each, 0, 1.0) for each in tokens]
        self.work = lambda _: iter(steps)
        return steps

    def _sleep(self, seconds: float) -> None:
        self.skipped += seconds
        for time_ in sorted(self.at):
            if time_ <= self.skipped:
                self.at.pop(time_)()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(Paths.locate({"JACKDAW_HOME": str(tmp_path / "home")}), tmp_path / "notes")
