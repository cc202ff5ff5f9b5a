"""Background work in real processes: one at a time, paused, killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from device_app.ahead.daemon import read_status
from device_app.system.process import is_running
from storage.paths import Paths
from storage.private import write_private

if TYPE_CHECKING:
    from tests.device_app.ahead.daemon.conftest import Scene

ROOT = Path(__file__).parents[4]


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
    processes: Callable[[], "subprocess.Popen[str]"], scene: "Scene"
) -> None:
    first = processes()
    assert is_running(scene.paths.daemon_lock)
    second = processes()
    out, err = second.communicate()
    assert second.returncode == 2
    assert f"process {first.pid}" in err
    assert "is running already" in json.loads(out)["error"]["message"]

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
from functools import partial
from device_app.cli import main
from models.fake import FakeEmbedder
from tests.devices import fake_device

class Slow(FakeEmbedder):
    def embed(self, texts):
        time.sleep(0.01 * len(texts))
        return super().embed(texts)

main(partial(fake_device, embedder=Slow))
"""


def test_a_kill_while_it_works_loses_nothing_that_was_done(scene: "Scene", tmp_path: Path) -> None:
    folder = scene.remember()
    for number in range(200):
        (folder / f"{number}.md").write_text(f"Box {number} is in the cellar.")
    with scene.device() as device:
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
