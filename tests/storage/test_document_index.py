"""The facts about documents held in memory agree with the tables."""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shared.types import Block, Document, Passage, SearchFilters
from storage.database import Database
from storage.document_index import DocumentIndex
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument
from storage.search import DocumentFacts

RICK, ANNA = "Rick Moen <rick@moen.example>", 'Anna "Änne" Perk <anna@perk.example>'
DOCUMENTS = (
    ("mail", "Tiny DNS Swap", datetime(2026, 10, 12, 9), (RICK, ANNA)),
    ("mail", "Re: Tiny DNS Swap", datetime(2026, 10, 31, 23, 59), (ANNA, RICK)),
    ("mail", "", None, ()),
    ("note", "Straße", None, (RICK,)),
    ("note", "Boathouse", datetime(2026, 11, 1), ()),
    ("chat", "", datetime(2026, 10, 31), ("Rick", "Änne")),
    ("event", "Boathouse", datetime(2026, 11, 1), ()),
)


def put(store: KnowledgeStore, file: int, number: int, texts: tuple[str, ...]) -> None:
    kind, title, day, people = DOCUMENTS[number]
    document = Document(str(number), kind, title, tuple(map(Block, texts)), day, people)
    passages = [Passage(text, place) for place, text in enumerate(texts)]
    vectors = np.ones((len(passages), 1), np.float32)
    store.put(file, PreparedDocument(document, "", passages, vectors))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KnowledgeStore]:
    """A store with two files of documents; in one, a newer passage comes before an older one."""
    database = Database(tmp_path / "store.db")
    store = KnowledgeStore(database)
    with database.transaction():
        files = [store.open_file(FileState(path, 0, 0, "", "")) for path in (b"/a/Taxes", b"/b/\xff")]
        for number in range(len(DOCUMENTS)):
            put(store, files[number % 2], number, ("first", "second", "third")[: 1 + number % 3])
        put(store, files[1], 5, ("changed", "second", "third"))
        store.database.execute("DELETE FROM documents WHERE kind = 'event'")
    yield store
    database.close()


FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"kinds": ("mail",)},
    {"kinds": ("Mail", "chat")},
    {"kinds": ("memo",)},
    {"people": ("moen",)},
    {"people": ('"Rick"',)},
    {"people": ("ÄNNE", "nobody")},
    {"senders": ("rick",)},
    {"senders": ("anna", "rick"), "kinds": ("mail",)},
    {"recipients": ("rick@",)},
    {"senders": ("anna",), "recipients": ("rick",)},
    {"senders": ("[",)},
    {"places": ("taxes",)},
    {"places": ("/b", "none")},
    {"titles": ("STRASSE",)},
    {"titles": ("tiny", "boat")},
    {"after": date(2026, 10, 31)},
    {"before": date(2026, 10, 31)},
    {"after": date(2026, 10, 31), "before": date(2026, 10, 31)},
    {"after": date(2027, 1, 1)},
    {"before": date(2026, 10, 31), "people": ("rick",), "titles": ("re:",)},
)


@pytest.mark.parametrize("filters", [SearchFilters(**each) for each in FILTERS], ids=str)
def test_filters_pass_the_same_passages(store: KnowledgeStore, filters: SearchFilters) -> None:
    ids, same = DocumentIndex.read(store.database).matching(filters), store.matching(filters)
    assert (None if ids is None else ids.tolist()) == (None if same is None else same.tolist())
    facts = DocumentFacts(store.database)
    assert DocumentIndex.read(store.database).latest(4, ids) == facts.latest(4, ids)


def test_facts_are_the_same(store: KnowledgeStore) -> None:
    index, facts = DocumentIndex.read(store.database), DocumentFacts(store.database)
    asked = [*range(20, -1, -1), 10**9]
    assert sorted(index.facts(asked), key=str) == sorted(facts.facts(asked), key=str)
    assert index.latest(99) == facts.latest(99)
    assert index.kinds() == list(store.kinds()) == ["mail", "note", "chat"]
    assert index.people() == [RICK, ANNA, "Rick", "Änne"]


def test_a_store_without_documents(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.db")
    index = DocumentIndex.read(database)
    some = index.matching(SearchFilters(people=("rick",), places=("a",), titles=("b",), after=date(2026, 1, 1)))
    assert some is not None
    assert (some.tolist(), index.facts([1]), index.latest(3), index.kinds(), index.people()) == ([], [], [], [], [])
    database.close()


def test_the_state_changes_with_the_documents(store: KnowledgeStore) -> None:
    states = [store.state()]
    store.database.execute("INSERT INTO cache_counters VALUES ('other', 1)")
    assert store.state() == states[0]
    with store.database.transaction():
        put(store, 1, 0, ("first", "new"))
        states.append(store.state())
        store.remove_file(b"/b/\xff")
        states.append(store.state())
    assert len(set(states)) == len(states)
