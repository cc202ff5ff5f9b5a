"""Data sets as stores that Jackdaw searches: one with all documents, or one with those of the file that a question is
about.
"""

from contextlib import closing
from pathlib import Path

import pytest

from models.fake import FakeEmbedder
from scripts.datasets.folders import Asked
from scripts.datasets.stores import among, filled, retriever_over
from shared.types import Block, Document


def documents(of: str, count: int) -> list[Document]:
    return [
        Document(f"{of} {number}", "chat", of, (Block(f"The lantern of {of} hangs at door {number}."),))
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("file", "count", "expected"), [(None, 3, 3), ("harbour", 2, 2), ("harbour", 9, 4), ("no", 5, 0)]
)
def test_what_is_found_is_of_the_file_that_was_asked_and_no_more_than_wanted(
    tmp_path: Path, file: str | None, count: int, expected: int
) -> None:
    store = filled(
        tmp_path / "a.db", {"market": documents("market", 20), "harbour": documents("harbour", 4)}, FakeEmbedder()
    )
    asked = Asked("Where hangs the lantern of the harbour?", (), frozenset(), frozenset(), file)
    with closing(store.database):
        hits = among(retriever_over(store, FakeEmbedder()), asked, count)
    assert len(hits) == expected
    assert file is None or {hit.passage.title for hit in hits} <= {file}
