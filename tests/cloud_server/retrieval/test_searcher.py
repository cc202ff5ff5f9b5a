"""Waiting searches are run together, each with the same result as alone; an error affects only its own search."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cloud_server.retrieval.opened import OpenIndex
from cloud_server.retrieval.searcher import Hits, Searcher
from cloud_server.retrieval.versions import Versions
from shared.errors import StoreError
from storage.ivf import FastTier, Ivf
from storage.ivf_files import Numbers, Vectors
from tests.cloud_server.retrieval.conftest import Make, Write, numbered
from tests.cloud_server.retrieval.test_tickets import vector
from tests.faults import until

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss


class Watched(Ivf):
    """An index that records the sizes of the groups scanned together, can be made to wait, and fails for a chosen
    cluster.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.groups: list[int] = []
        self.fails: int | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def scan_many(
        self, probed: Sequence[Numbers], vectors: Vectors, k: int, fast: FastTier | None = None
    ) -> list[tuple[Numbers, Vectors]]:
        self.groups.append(len(probed))
        assert self.may_go_on.wait(30)
        if any(self.fails in clusters.tolist() for clusters in probed):
            raise StoreError("The disk failed.")
        return super().scan_many(probed, vectors, k, fast)


@pytest.fixture
def index(builder: Make, source: Write, tmp_path: Path) -> OpenIndex:
    builder(shard_passages=64).build([source(facts=numbered(60))])
    folder = Versions(tmp_path / "index").current()
    opened = OpenIndex.open(folder, 10**6, 6)
    return OpenIndex(opened.facts, Watched(folder), opened.passages, 6)


def watched(index: OpenIndex) -> Watched:
    assert isinstance(index.vectors, Watched)
    return index.vectors


def hits_of(searcher: Searcher, index: OpenIndex, vectors: Sequence[Vectors], most: int) -> list[Hits]:
    return searcher.search(index, vectors, most, [index.probe(near) for near in vectors])


def alone(index: OpenIndex, number: int) -> Hits:
    near = vector(f"subject{number}")
    return index.vectors.scan(index.probe(near), near, 5)


def check(index: OpenIndex, hits: Sequence[Hits], numbers: Sequence[int]) -> None:
    for ours, number in zip(hits, numbers, strict=True):
        expected = alone(index, number)
        assert ours[0].tolist() == expected[0].tolist()
        assert ours[1].tobytes() == expected[1].tobytes()


def test_those_that_wait_are_searched_together_and_get_their_own(index: OpenIndex) -> None:
    searcher, vectors = Searcher(lanes=1), watched(index)
    vectors.may_go_on.clear()
    with ThreadPoolExecutor(9) as threads:
        ask = [partial(hits_of, searcher, index, [vector(f"subject{number}")], 5) for number in range(9)]
        first = threads.submit(ask[0])
        until(lambda: vectors.groups == [1])
        others = [threads.submit(work) for work in ask[1:]]
        until(lambda: len(searcher._waiting) == 8)
        vectors.may_go_on.set()
        for number, search in enumerate([first, *others]):
            check(index, search.result(30), [number])
    assert vectors.groups == [1, 8]


def test_several_vectors_of_one_search_stay_together(index: OpenIndex) -> None:
    numbers = list(range(0, 60, 3))
    check(index, hits_of(Searcher(), index, [vector(f"subject{number}") for number in numbers], 5), numbers)
    assert watched(index).groups == [20]


def test_what_cannot_be_read_fails_those_alone_that_need_it(index: OpenIndex) -> None:
    searcher, vectors = Searcher(lanes=1), watched(index)
    probed = {number: set(index.probe(vector(f"subject{number}")).tolist()) for number in range(12)}
    vectors.fails = next(iter(probed[3]))
    vectors.may_go_on.clear()
    with ThreadPoolExecutor(12) as threads:
        searches = {
            number: threads.submit(hits_of, searcher, index, [vector(f"subject{number}")], 5) for number in probed
        }
        until(lambda: len(searcher._waiting) == 11)
        vectors.may_go_on.set()
        for number, search in searches.items():
            if vectors.fails in probed[number]:
                with pytest.raises(StoreError, match="The disk failed"):
                    search.result(30)
            else:
                check(index, search.result(30), [number])
    assert max(vectors.groups) > 1
    assert searcher._lanes == 1


def test_searches_of_two_versions_or_for_other_numbers_of_passages_are_not_mixed(index: OpenIndex) -> None:
    searcher, vectors = Searcher(lanes=1), watched(index)
    other = OpenIndex(index.facts, Watched(vectors.files.lists.parent), index.passages, 6)
    vectors.may_go_on.clear()
    near = vector("subject7")
    with ThreadPoolExecutor(8) as threads:
        searches = [
            threads.submit(hits_of, searcher, opened, [near], most) for opened in (index, other) for most in (1, 2, 5)
        ]
        until(lambda: len(searcher._waiting) == 5)
        vectors.may_go_on.set()
        assert [len(search.result(30)[0][0]) for search in searches] == [1, 2, 5] * 2
    assert sorted(vectors.groups + watched(other).groups) == [1] * 6


def test_many_threads_search_at_once(index: OpenIndex) -> None:
    searcher = Searcher()

    def ask(seed: int) -> None:
        chance = np.random.default_rng(seed)
        for _ in range(20):
            numbers = chance.integers(60, size=chance.integers(1, 4)).tolist()
            check(index, hits_of(searcher, index, [vector(f"subject{number}") for number in numbers], 5), numbers)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(8)))
    assert searcher._lanes == 2
    assert not searcher._waiting
