"""A fake device that has read the notes, its background work, and trees of cached KV states over its store."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from device_app.ahead.work import Step
from device_app.cache.states.tree import QKVTree
from device_app.device import Device
from device_app.english import questions
from device_app.question.answer import Answer
from device_app.settings import Settings
from models.fake import FakeEngine
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.kv_slices import KVSlices
from storage.paths import Paths
from storage.qa_entries import Entry
from tests.devices import fake_device

Another = Callable[..., Device]

QUESTION = "Who has borrowed the blue drill?"


def made(home: Path, settings: Settings | None = None, engine: FakeEngine | None = None) -> Device:
    """Return a fake device whose data is in the folder `home`."""
    paths = Paths.locate({"JACKDAW_HOME": str(home)})
    return fake_device(paths, settings or Settings(), lambda: engine or FakeEngine())


@pytest.fixture
def device(tmp_path: Path, notes: Path) -> Device:
    """A device that has read the notes."""
    device = made(tmp_path / "home")
    device.ingestion().run([notes])
    return device


@pytest.fixture
def another(tmp_path: Path) -> Another:
    """Makes devices with the same data and other settings."""
    return partial(made, tmp_path / "home")


@pytest.fixture
def one_question_a_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rules predict one question for each of two notes, and none for others."""
    asked = {"Dentist": "When does the dentist see me?", "Things lent": QUESTION}
    monkeypatch.setattr(
        questions, "from_passage", lambda passage, _=(): [asked[passage.title]] if passage.title in asked else []
    )


def everything(device: Device) -> list[Step]:
    """Return all steps of one run of background work."""
    return list(device.population(lambda: False).steps())


def work(device: Device) -> list[Step]:
    """Return those steps of one run of background work that prepare questions."""
    return [step for step in everything(device) if step.action not in ("predict", "read ahead")]


def ask(device: Device, question: str) -> Answer:
    """Return the answer to a question."""
    *_, last = device.assistant.ask(question, device.options())
    assert isinstance(last, Answer)
    return last


def entries(device: Device) -> dict[str, Entry]:
    """Return the entries of the answer cache, by question."""
    return {entry.question: entry for entry in device.qa_bank.entries.all()}


MakeTree = Callable[..., QKVTree]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "jackdaw.db")


@pytest.fixture
def make_tree(database: Database, tmp_path: Path) -> MakeTree:
    """Makes trees of cached KV states over one store, each with its own limit in bytes and eviction policy."""

    def make(limit: int = 10**9, policy: str = "lfu") -> QKVTree:
        return QKVTree(KVSlices(database), Blobs(tmp_path / "cache" / "kv"), Counters(database), limit, policy)  # type: ignore[arg-type]

    return make


@pytest.fixture
def tree(make_tree: MakeTree) -> QKVTree:
    return make_tree()
