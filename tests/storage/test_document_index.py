"""The facts about documents held in memory agree with the tables."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shared.types import Block, Document, Passage, SearchFilters
from storage.database import Database
from storage.document_index import DocumentIndex
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument

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
    if ids is not None:
        latest = store.passages_of_documents([each.id for each in store.latest(filters, 4)], 1)
        assert (
            store.latest_of(ids, 4)
            == DocumentIndex.read(store.database).latest_of(ids, 4)
            == [passage.id for passage in latest]
        )


def test_facts_are_the_same_in_the_same_order(store: KnowledgeStore) -> None:
    index = DocumentIndex.read(store.database)
    facts = index.facts([*range(20, -1, -1), 10**9])
    assert facts == store.facts([*range(21), 10**9])
    assert [*dict.fromkeys(each.document for each in facts)] == [each.id for each in store.latest(SearchFilters())]
    assert index.people() == [RICK, ANNA, "Rick", "Änne"]


def test_documents_without_a_date_come_last_the_one_read_last_first(store: KnowledgeStore) -> None:
    undated = [each.id for each in store.latest(SearchFilters(), 9) if not each.date]
    latest = [each.document for each in store.facts(range(20)) if not each.date]
    assert undated == sorted(undated, reverse=True) == [*dict.fromkeys(latest)]
    assert [each.id for each in store.latest(SearchFilters(), oldest=True)][-len(undated) :] == undated[::-1]


def test_another_process_may_forget_documents_meanwhile(
    store: KnowledgeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, execute = KnowledgeStore(Database(tmp_path / "store.db")), store.database.execute

    def executed(sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        rows = execute(sql, parameters)
        if "passages" in sql:
            other.remove_file(b"/a/Taxes")
        return rows

    with monkeypatch.context() as patched:
        patched.setattr(store.database, "execute", executed)
        index = DocumentIndex.read(store.database)
    assert {fact.path for fact in index.facts(range(20))} == {b"/a/Taxes", b"/b/\xff"}
    assert {fact.path for fact in store.facts(range(20))} == {b"/b/\xff"}
    other.database.close()


def test_a_store_without_documents(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.db")
    index = DocumentIndex.read(database)
    some = index.matching(SearchFilters(people=("rick",), places=("a",), titles=("b",), after=date(2026, 1, 1)))
    assert some is not None
    assert (some.tolist(), index.facts([1]), index.latest_of(some, 3), index.people()) == ([], [], [], [])
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
