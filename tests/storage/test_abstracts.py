"""The stored abstract of the files: a sentence is deleted together with the first of its passages that is deleted."""

from pathlib import Path

import numpy as np
import pytest

from shared.types import Block, Document, Passage
from storage.abstracts import Abstracts
from storage.database import Database
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument


@pytest.fixture
def store(tmp_path: Path) -> KnowledgeStore:
    """A store with two files, each with two passages: ids 1 and 2, and 3 and 4."""
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    for name in (b"/one", b"/two"):
        state = FileState(name, 0, 0, "", "")
        file = store.open_file(state)
        texts = [Passage(f"{name.decode()} {number}", number) for number in range(2)]
        document = Document("", "note", "", (Block("text"),))
        store.put(file, PreparedDocument(document, "", texts, np.zeros((2, 4), np.float32)))
        store.close_file(file, state, {""})
    return store


def test_the_newest_sentences_come_last(store: KnowledgeStore) -> None:
    abstracts = Abstracts(store.database)
    assert abstracts.newest(2) == []
    for number, text in ((1, "a"), (2, "b"), (3, "c")):
        assert abstracts.add(text, [number])
    assert abstracts.newest(2) == ["b", "c"]
    assert abstracts.all() == ["a", "b", "c"]


def test_a_sentence_is_found_by_exactly_its_passages(store: KnowledgeStore) -> None:
    abstracts = Abstracts(store.database)
    abstracts.add("both", [1, 2])
    abstracts.add("alone", [3])
    assert [abstracts.about(ids) for ids in ([2, 1], [2], [3], [4])] == ["both", None, "alone", None]


def test_a_sentence_replaces_those_about_some_of_its_passages(store: KnowledgeStore) -> None:
    abstracts = Abstracts(store.database)
    for text, ids in (("first", [1]), ("second", [2, 3]), ("last", [4])):
        abstracts.add(text, ids)
    assert abstracts.add("merged", [1, 2])
    assert abstracts.all() == ["last", "merged"]


def test_nothing_is_left_when_all_is_cleared(store: KnowledgeStore) -> None:
    abstracts = Abstracts(store.database)
    abstracts.add("both", [1, 2])
    abstracts.clear()
    assert not abstracts.all()
    assert not store.database.execute("SELECT * FROM abstract_passages")


def test_a_sentence_goes_with_any_of_its_passages(store: KnowledgeStore) -> None:
    abstracts = Abstracts(store.database)
    abstracts.add("of both files", [2, 3])
    abstracts.add("of the second file", [4])
    store.remove_file(b"/one")
    assert abstracts.all() == ["of the second file"]
    assert store.database.execute("SELECT DISTINCT abstract_id FROM abstract_passages") == [(2,)]


def test_nothing_is_stored_about_a_passage_that_is_gone(store: KnowledgeStore) -> None:
    store.remove_file(b"/one")
    abstracts = Abstracts(store.database)
    assert not abstracts.add("late", [1, 3])
    assert abstracts.all() == []
