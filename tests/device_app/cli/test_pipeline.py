"""`jackdaw ask --pipeline`, and what `ask --json` and `why` report about the server's rounds of retrieval."""

import json
from pathlib import Path
from typing import Any

import pytest

from device_app.companion.dispatch.weighed import Weighed
from device_app.companion.link import credentials
from device_app.companion.link.credentials import Credentials
from shared.errors import ExitCode
from storage.paths import Paths
from tests.companion import FACTS, Serve, Served, serve
from tests.devices import fake_device
from tests.racing import SERVER
from tests.rounds import looks_up

__all__ = ["serve"]

DANUBE = "Which countries does the Danube flow through, and where?"


@pytest.fixture
def notes(jackdaw: Any, tmp_path: Path) -> Path:
    """A folder of notes that a device without a companion server has read."""
    jackdaw.make = fake_device
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "drill.md").write_text("Petra has borrowed the blue drill.")
    assert jackdaw("add", str(folder)).code == 0
    return folder


@pytest.fixture
def connected(notes: Path, paths: Paths, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A device connected to a server that offers more than one pipeline."""
    looks_up(monkeypatch)
    monkeypatch.setattr(Weighed, "decide", lambda *_: SERVER)
    monkeypatch.setenv("JACKDAW_LINK_SPARE", "0")
    served = serve()
    credentials.save(paths.link, Credentials(served.url, served.token()))
    return served


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--local-only",), "--local-only asks no server"),
        (("--show-prompt",), "--show-prompt asks no server"),
        (("--together",), "with --together both sides write"),
        ((), "no companion server is connected, or link.allowed is off"),
    ],
)
def test_without_a_server_that_answers_no_pipeline_is_named(
    notes: Path, jackdaw: Any, words: tuple[str, ...], why: str
) -> None:
    outcome = jackdaw("ask", "--pipeline", "hyde", *words, DANUBE)
    assert (outcome.code, outcome.out) == (ExitCode.USAGE, "")
    assert why in outcome.err


@pytest.mark.parametrize("name", ["flare", "magic\x1b[2J\u202e", ""])
def test_a_pipeline_that_is_not_offered_is_said_with_those_that_are(connected: Served, jackdaw: Any, name: str) -> None:
    outcome = jackdaw("ask", "--pipeline", name, DANUBE)
    assert (outcome.code, outcome.out) == (ExitCode.USAGE, "")
    assert f"The server at 127.0.0.1:{connected.port} has no pipeline “" in outcome.err
    assert "It offers: plain, hyde." in outcome.err
    assert "\x1b" not in outcome.err
    assert connected.server.metrics.search._sum.get() == 0


def test_a_server_that_is_gone_is_asked_by_no_pipeline(connected: Served, jackdaw: Any) -> None:
    connected.end()
    outcome = jackdaw("ask", "--pipeline", "hyde", DANUBE)
    assert (outcome.code, outcome.out) == (1, "")
    assert "cannot be reached" in outcome.err


def test_the_pipeline_that_was_named_answers_and_its_rounds_are_told(connected: Served, jackdaw: Any) -> None:
    answer = json.loads(jackdaw("ask", "--json", "--pipeline", "hyde", DANUBE).out)
    assert (answer["answer"], answer["origin"]) == (FACTS[0][1], "cloud")
    assert answer["trace"]["decided"] == ["the server answers by hyde, as requested"]
    assert answer["trace"]["rounds"] == [
        {"pipeline": "hyde", "queries": ["The Danube[31m flows through ten countries."], "passages": [0, 1]},
        {"pipeline": "hyde", "queries": ["Who pairs for life?", "Where?"], "passages": [0, 2]},
    ]
    assert [source["title"] for source in answer["sources"]] == ["Rivers", "Birds"]
    assert json.loads(jackdaw("why", "--json").out)["trace"]["rounds"] == answer["trace"]["rounds"]
    shown = " ".join(jackdaw("why").out.split())
    assert "Looked up hyde: looked up “The Danube[31m flows through ten countries.” (2 passages)" in shown
    assert "hyde: looked up “Who pairs for life?”, “Where?” (2 passages)" in shown


def test_what_the_files_answer_is_sent_to_no_pipeline(connected: Served, jackdaw: Any) -> None:
    answer = json.loads(jackdaw("ask", "--json", "--pipeline", "hyde", "Who has the blue drill?").out)
    assert (answer["origin"], answer["egress"]["bytes"], answer["trace"]["rounds"]) == ("device", 0, [])


def test_what_is_kept_does_not_serve_where_a_pipeline_is_named(connected: Served, jackdaw: Any) -> None:
    assert json.loads(jackdaw("ask", "--json", DANUBE).out)["origin"] == "cloud"
    assert json.loads(jackdaw("ask", "--json", DANUBE).out)["origin"] == "qa_bank"
    assert json.loads(jackdaw("ask", "--json", "--pipeline", "plain", DANUBE).out)["origin"] == "cloud"


def test_rounds_of_passages_that_are_fetched_are_told(connected: Served, jackdaw: Any, notes: Path) -> None:
    (notes / "trip.md").write_text("We rowed on the Danube through Vienna in May.")
    assert jackdaw("add", str(notes)).code == 0
    question = "Through which European countries does the Danube flow, where we rowed?"
    answer = json.loads(jackdaw("ask", "--json", "--pipeline", "hyde", question).out)
    assert answer["egress"]["items"] == ["the question"]
    assert answer["trace"]["rounds"][0]["passages"] == [0, 1]
