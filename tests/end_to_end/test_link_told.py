"""What the user is told about the companion server.

Server and device run in processes of their own; the device's is the real program.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.companion_process import CompanionProcess

ROOT = Path(__file__).parent.parent.parent
DANUBE = "Which countries does the Danube flow through, and where?"
KENYA = "Which mountain of Africa is its second highest?"
pytestmark = pytest.mark.weights


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CompanionProcess]:
    folder = tmp_path / "server"
    folder.mkdir()
    running = CompanionProcess(folder)
    yield running
    running.kill()
    running.ended()


class Person:
    """A user with a data folder, who runs command lines."""

    def __init__(self, home: Path, weights: Path) -> None:
        (home / "data").mkdir(parents=True)
        (home / "data" / "weights").symlink_to(weights)
        self.environment = {**os.environ, "JACKDAW_HOME": str(home), "JACKDAW_MODEL_THREADS": "1"}

    def says(self, *arguments: str, text: str = "") -> tuple[int, Any]:
        done = subprocess.run(
            [sys.executable, "-c", "from device_app.cli import main; main()", *arguments, "--json"],
            capture_output=True,
            text=True,
            input=text,
            env=self.environment,
            cwd=ROOT,
            timeout=240,
            check=False,
        )
        return done.returncode, json.loads(done.stdout)


@pytest.mark.long
def test_a_server_comes_answers_and_goes(tmp_path: Path, weights: Path, server: CompanionProcess) -> None:
    person = Person(tmp_path / "home", weights)
    assert person.says("why") == (3, {"question": None})
    assert person.says("connect", server.url, text=server.token())[0] == 0

    _, status = person.says("status")
    assert (status["server"]["connected"], status["server"]["same_vocabulary"]) == (True, False)
    log = server.log.read_text()
    code, outlook = person.says("why", DANUBE)
    assert (code, outlook["road"], outlook["public"]["learned_from"]) == (0, "server", 0)
    assert server.log.read_text() == log  # nobody has called

    _, answer = person.says("ask", DANUBE)
    _, last = person.says("why")
    assert (last["question"], last["origin"], last["egress"]) == (DANUBE, answer["origin"], answer["egress"])
    assert last["trace"]["decided"] == answer["trace"]["decided"] != []
    assert person.says("why", DANUBE)[1]["road"] == "kept"
    assert person.says("why", KENYA)[1]["public"]["learned_from"] == 1

    server.kill()
    server.ended()
    code, status = person.says("status")
    assert (code, status["server"]["connected"]) == (0, False)
    assert "cannot be reached" in status["server"]["why"]
    _, report = person.says("doctor")
    (entry,) = [finding for finding in report["findings"] if finding["check"] == "server"]
    assert (entry["level"], "Is the server running" in entry["mend"]) == ("warn", True)
