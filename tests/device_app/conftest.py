"""A few notes, a store that has read them, and the room over it, with a fake engine and embedder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from device_app.answer import Answer
from device_app.answering.assistant import Assistant
from device_app.cache.qa_bank import QABank
from device_app.cache.qkv_tree import QKVTree
from device_app.inference.local import LocalSource
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.retriever import Retriever
from device_app.options import Options, Plan
from models.fake import FakeEmbedder, FakeEngine
from models.sampling import SamplingSettings
from shared.prompt import CHATML
from storage.blobs import Blobs
from storage.conversations import ConversationStore
from storage.counters import Counters
from storage.database import Database
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore
from storage.kv_slices import KVSlices
from storage.qa_entries import QAEntries
from storage.vectors import QA_BANK, VectorIndex

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
    """How a question is answered."""
    plan = Plan(passages, arrangement, summaries)  # type: ignore[arg-type]
    return Options(plan, SamplingSettings(), max_tokens, relevance, fresh=fresh)


def assistant(database: Database, source: Callable[[], LocalSource] | None = None) -> Assistant:
    """The room over a store."""
    embedder, vectors, counters = FakeEmbedder(), VectorIndex(database), Counters(database)
    store, entries = KnowledgeStore(database), QAEntries(database)
    retriever = Retriever(store, KeywordIndex(database), vectors, embedder)
    loaded = source or (lambda: LocalSource(FakeEngine(), CHATML))
    asked = VectorIndex(database, QA_BANK)
    bank = QABank(entries, asked, retriever, counters, 0.85, limit=10**6, policy="lfu")
    slices = Blobs(database.path.with_name("kv"))
    tree = QKVTree(KVSlices(database), slices, counters, limit=10**6, policy="lfu")
    return Assistant(retriever, embedder, ConversationStore(database), loaded, bank, tree)


def answered(room: Assistant, question: str, chosen: Options, conversation: int | None = None) -> Answer:
    """What the room answers."""
    *_, last = room.ask(question, chosen, conversation)
    assert isinstance(last, Answer)
    return last
