"""The resources that a question takes: which answers load no model, which open no socket, and which processes run
meanwhile.
"""

import json
import socket
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from device_app.companion.link import credentials
from device_app.companion.link.credentials import Credentials
from models.fake import FakeEmbedder, FakeEngine
from storage.paths import Paths
from tests.devices import fake_device

OVERLAP_S = 30.0


@pytest.fixture
def loads(jackdaw: Any, notes: Path) -> list[FakeEngine]:
    """Every model that the command line has loaded since the notes were read."""
    engines: list[FakeEngine] = []

    def load() -> FakeEngine:
        engines.append(FakeEngine())
        return engines[-1]

    jackdaw.make = partial(fake_device, engine=load)
    return engines


@pytest.fixture
def listener(paths: Paths, notes: Path) -> Iterator[socket.socket]:
    """A socket in place of the companion server, which records connections of the device."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        credentials.save(paths.link, Credentials(f"ws://127.0.0.1:{port}/", "a-token", None))
        yield server


@pytest.mark.parametrize("question", ["What was said about the blue drill?", "Summarize the notes on the blue drill"])
def test_a_quoted_answer_loads_no_model(jackdaw: Any, loads: list[FakeEngine], question: str) -> None:
    assert json.loads(jackdaw("ask", "--json", question).out)["quoted"]
    assert loads == []


def test_a_kept_answer_loads_no_model(jackdaw: Any, loads: list[FakeEngine]) -> None:
    question = ("ask", "--json", "Who has the blue drill?")
    assert json.loads(jackdaw(*question).out)["origin"] == "device"
    assert json.loads(jackdaw(*question).out)["origin"] == "qa_bank"
    assert len(loads) == 1


@pytest.mark.parametrize("question", ["Who has the blue drill?", "What was said about the blue drill?"])
def test_what_the_files_answer_opens_no_socket(jackdaw: Any, listener: socket.socket, question: str) -> None:
    for _ in range(2):  # generated or quoted, and once more: kept
        answer = json.loads(jackdaw("ask", "--json", question).out)
        assert answer["origin"] in ("device", "qa_bank")
        assert answer["egress"]["bytes"] == 0
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_the_model_loads_while_passages_are_looked_up(jackdaw: Any, notes: Path) -> None:
    loading, searching = Event(), Event()
    seen: list[str] = []

    def load() -> FakeEngine:
        loading.set()
        if searching.wait(OVERLAP_S):
            seen.append("searched while the model loaded")
        return FakeEngine()

    class Embedder(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            if loading.wait(OVERLAP_S):
                seen.append("loading had begun before the search")
            searching.set()
            return super().embed(texts)

    jackdaw.make = partial(fake_device, engine=load, embedder=Embedder)
    assert jackdaw("ask", "Who has the blue drill?").code == 0
    assert {"searched while the model loaded", "loading had begun before the search"} <= set(seen)
