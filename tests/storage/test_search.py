"""Search in a full-text table: limited time, restricted rows, marked matches."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shared.types import Block, Document, Passage
from storage import search
from storage.database import Database
from storage.keywords import quoted
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument
from storage.search import CLOSING, OPENING, FullText, all_of, any_of


@pytest.fixture
def table(tmp_path: Path) -> Iterator[FullText]:
    """Ten passages with "common", of which the third has "rare" too."""
    database = Database(tmp_path / "store.db")
    store = KnowledgeStore(database)
    with database.transaction():
        file = store.open_file(FileState(b"/a", 0, 0, "", ""))
        for number in range(1, 11):
            text = f"The common word {'rare ' * (number == 3)}{number}."
            document = Document(str(number), "note", f"Title {number}", (Block(text),))
            store.put(file, PreparedDocument(document, "", [Passage(text, 0)], np.ones((1, 1), np.float32)))
    yield FullText(database)
    database.close()


def test_the_best_come_first_and_all_that_is_required_matches(table: FullText) -> None:
    assert table.best([quoted("common"), quoted("rare")], (), 3).tolist()[0] == 3
    assert table.best([quoted("common")], [quoted("rare")], 5).tolist() == [3]
    assert table.best([], [quoted("common word rare")], 5).tolist() == [3]
    assert table.best([quoted("common")], (), 5, among=np.array([2, 4])).tolist() == [2, 4]


def test_only_so_many_are_ranked(table: FullText, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_RANKED", 4)
    assert sorted(table.best([quoted("common")], (), 9).tolist()) == [7, 8, 9, 10]
    assert table.best([quoted("common"), quoted("rare")], (), 9).tolist() == [3]
    assert table.best([quoted("common")], (), 9, among=np.array([2, 4])).tolist() == [4, 2]


def test_matches_are_marked(table: FullText) -> None:
    expression = all_of([any_of(["words", "none"]), quoted("title")])
    assert table.marked(expression, [3])[3].text == f"The common {OPENING}word{CLOSING} rare 3."
    assert table.with_prefix("rar") == ["rare"]


def test_the_matches_of_many_expressions_are_counted_at_once(table: FullText) -> None:
    expressions = [quoted("common"), quoted("rare"), quoted("common rare"), quoted("none"), quoted('"')]
    counts = table.held_each(expressions, 7)
    assert counts == {each: table.held(each, 7) for each in expressions}
    assert list(counts.values()) == [7, 1, 0, 0, 0]
