"""A few notes, a store that has read them, and an assistant over it, with a fake engine and embedder."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from device_app.answering.assistant import Assistant
from device_app.inference.local import LocalSource
from device_app.knowledge.ingest import Ingestion
from device_app.question.answer import Answer
from device_app.question.options import Options, Plan
from device_app.settings import Cache, Settings
from models.fake import FakeEmbedder
from models.sampling import SamplingSettings
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.devices import device_over

NOTES = {
    "dentist.md": "# Dentist\n\nThe dentist sees me on Tuesday at nine.\n",
    "drill.md": "# Things lent\n\nPetra has borrowed the blue drill.\n",
    "cat.md": "# The cat\n\nThe cat takes five milligrams of medicine.\n",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The folder of the notes."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def database(tmp_path: Path, notes: Path) -> Database:
    """A store that has read the notes."""
    database = Database(tmp_path / "jackdaw.db")
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([notes])
    return database


def options(
    passages: int = 1,
    arrangement: str = "prompt",
    max_tokens: int = 200,
    relevance: float = 0.3,
    fresh: bool = False,
    summaries: str = "written",
) -> Options:
    """The options for a question."""
    plan = Plan(passages, arrangement, summaries)  # type: ignore[arg-type]
    return Options(plan, SamplingSettings(), max_tokens, relevance, fresh=fresh)


def assistant(database: Database, source: Callable[[], LocalSource] | None = None) -> Assistant:
    """An assistant over a store."""
    room = device_over(database, Settings(cache=Cache(eviction="lfu"))).assistant
    return replace(room, source=source) if source else room


def answered(room: Assistant, question: str, chosen: Options, conversation: int | None = None) -> Answer:
    """Return the assistant's answer to a question."""
    *_, last = room.ask(question, chosen, conversation)
    assert isinstance(last, Answer)
    return last
