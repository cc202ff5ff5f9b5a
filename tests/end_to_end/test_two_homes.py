"""A server and a device with separate data folders, in real processes: they are paired, one asks the other, and its
access is revoked.
"""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from device_app.companion.link.pairing import NotPaired, pair
from shared.pairing.code import read_link
from tests.jackdaw_process import ROOT, Home, home
from tests.network.line import Conditions
from tests.network.proxy import Proxy

pytestmark = [
    pytest.mark.weights,
    pytest.mark.skipif(sys.platform != "linux", reason="other addresses of the loopback network have to be made first"),
]

HOST = "127.0.0.2"
"""A loopback address that does not count as this machine, so that TLS is required."""

FACTS = (
    {"title": "Rivers", "text": "The Danube flows through ten countries and ends in the Black Sea."},
    {"title": "Mountains", "text": "Mount Kenya is the second highest mountain of Africa."},
)
DANUBE = "Which countries does the Danube flow through, and where does it end?"


class ServerHome(Home):
    """The home of a server's operator."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.environment["JACKDAW_SERVER_MODEL_THREADS"] = "1"
        self._started: list[subprocess.Popen[str]] = []

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-c", "from cloud_server.cli import main; main()", *arguments]

    def begin(self, *arguments: str) -> tuple[subprocess.Popen[str], Any]:
        """Start a command that prints one JSON object and keeps running; return the process and the object."""
        process = subprocess.Popen(
            self.command(*arguments, "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=ROOT,
        )
        self._started.append(process)
        assert process.stdout
        return process, json.loads(process.stdout.readline())

    def serve(self, port: int = 0) -> tuple[subprocess.Popen[str], int]:
        """A server that runs, and its port."""
        process, line = self.begin("serve", "--host", HOST, "--port", str(port), "--metrics-port", "0")
        assert line["url"] == f"wss://{HOST}:{line['port']}"
        return process, line["port"]

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()


@pytest.fixture
def server(tmp_path: Path, weights: Path) -> Iterator[ServerHome]:
    made = ServerHome(home(tmp_path / "server", weights).folder)
    yield made
    made.end()


@pytest.fixture
def device(tmp_path: Path, weights: Path) -> Callable[[str], Home]:
    return lambda name: home(tmp_path / name, weights)


@pytest.mark.long
def test_pair_connect_ask_and_revoke(server: ServerHome, device: Callable[[str], Home], tmp_path: Path) -> None:
    facts = tmp_path / "facts.jsonl"
    facts.write_text("\n".join(map(json.dumps, FACTS)))
    assert server.run("index", "build", str(facts)).returncode == 0
    _, port = server.serve()
    phone, laptop = device("phone"), device("laptop")

    pairing, shown = server.begin("pair", "--name", "annas-phone")
    assert phone.json("connect", shown["link"], "--yes")["url"] == f"wss://{HOST}:{port}/"
    assert pairing.wait(30) == 0
    pairing, shown = server.begin("pair", "--name", "annas-laptop")
    connected = laptop.json("connect", shown["code"].lower(), f"{HOST}:{port}", "--yes")
    assert pairing.wait(30) == 0
    assert [item["name"] for item in server.json("token", "list")["tokens"]] == ["annas-phone", "annas-laptop"]

    kept = phone.folder / "config" / "link.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text())["pin"] == connected["pin"] == read_link(shown["link"]).pin
    for own in (phone, laptop):
        answer = own.json("ask", DANUBE)
        assert answer["found"]
        assert [(source["side"], source["title"]) for source in answer["sources"]] == [("server", "Rivers")]
        assert answer["egress"]["items"][0] == "the question"

    server.json("token", "revoke", "annas-phone")
    refused = phone.run("ask", "Where is Mount Kenya?")
    assert refused.returncode == 3
    assert "does not know this token" in refused.stderr
    assert laptop.json("ask", "Where is Mount Kenya?")["found"]
    assert phone.json("disconnect")["url"] == f"wss://{HOST}:{port}/"
    assert not kept.exists()


@pytest.mark.long
def test_a_device_reads_its_own_passages_while_a_distant_server_searches(
    server: ServerHome, device: Callable[[str], Home], tmp_path: Path
) -> None:
    facts, notes = tmp_path / "facts.jsonl", tmp_path / "notes"
    facts.write_text("\n".join(map(json.dumps, FACTS)))
    notes.mkdir()
    (notes / "rowed.md").write_text("We rowed on the Danube through Vienna in May.")
    assert server.run("index", "build", str(facts)).returncode == 0
    token = server.json("token", "create", "phone")["token"]
    _, line = server.begin("serve", "--port", "0", "--metrics-port", "0")
    phone = device("phone")
    assert phone.json("add", str(notes))["documents"] == 1
    with Proxy(line["port"], Conditions(delay_s=0.2)) as proxy:
        phone.json("connect", f"ws://127.0.0.1:{proxy.port}/", "--yes", text=token)
        question = "Through which European countries does the Danube flow, where we rowed?"
        answer = phone.json("ask", question, code=None)
    assert [source["side"] for source in answer["sources"]] == ["device", "server"]
    assert answer["egress"]["items"] == ["the question"]
    names = [step["name"] for step in answer["trace"]["steps"]]
    searched = names.index("search")
    assert (names[searched - 1], names[searched + 1]) == ("prefill", "prefill")


def test_a_server_that_is_killed_counts_on_and_its_code_goes_on(
    server: ServerHome, device: Callable[[str], Home]
) -> None:
    process, port = server.serve()
    waiting, shown = server.begin("pair")
    invitation = read_link(shown["link"])
    wrong = type(invitation)(invitation.secret ^ 1, invitation.addresses, invitation.pin)
    for left in (4, 3):
        with pytest.raises(NotPaired, match=f"{left} tries"):
            pair(wrong, "stranger")
    process.kill()
    process.communicate()
    waiting.kill()  # the code stays valid for its ten minutes, though nobody shows it any more
    waiting.communicate()
    server.serve(port)
    with pytest.raises(NotPaired, match="2 tries"):
        pair(wrong, "stranger")
    phone = device("phone")
    assert phone.json("connect", shown["link"], "--yes")["pin"] == invitation.pin  # the key is made once
    assert len(server.json("token", "list")["tokens"]) == 1


def test_a_server_that_ended_is_said_not_to_run(server: ServerHome) -> None:
    process, _ = server.serve()
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(60) == 0
    done = server.run("pair")
    assert (done.returncode, "Start one first" in done.stderr) == (2, True)
