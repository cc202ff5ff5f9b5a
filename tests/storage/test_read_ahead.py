"""Reading ahead of questions: it lets needed reads go first, evicts no cluster that is in use, and leaves nothing
pinned.
"""

import gc
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import StoreError
from shared.processors import IdleProcessors
from storage import cluster_cache, read_ahead
from storage.cluster_cache import ClusterCache
from storage.list_file import PAGE, ListFile
from storage.read_ahead import NICE, PIECE, READERS, SHARE, ReadAhead
from tests.faults import until
from tests.storage.clusters import Lists, check_nothing_is_held

FAST = 1e12


class Gate(ListFile):
    """A file whose reads wait until a test lets them go on, singly or all; some fail.

    Records the order in which they began.
    """

    def __init__(self, lists: Lists) -> None:
        super().__init__(lists.path, sum(map(len, lists.contents)))
        self.began: list[int] = []
        self.fails: set[int] = set()
        self._may_go_on = threading.Semaphore(1 << 30)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Within the block, no read goes on."""
        self._may_go_on = gate = threading.Semaphore(0)
        try:
            yield
        finally:
            self._may_go_on = threading.Semaphore(1 << 30)
            gate.release(1 << 20)

    def read(self, parts: Sequence[memoryview], first: int, length: int) -> None:
        self.began.append(first)
        assert self._may_go_on.acquire(timeout=30)
        if any(first <= place < first + length for place in self.fails):
            raise StoreError("The disk failed.")
        super().read(parts, first, length)


def idle(cache: ClusterCache) -> bool:
    """Return whether no cluster is being read ahead or queued."""
    with cache.ahead.changed:
        return not cache.ahead._running


def fetched(cache: ClusterCache, clusters: Sequence[int]) -> ReadAhead:
    question = cache.read_ahead()
    question.fetch(clusters)
    until(lambda: idle(cache))
    return question


def check_quiet(cache: ClusterCache) -> None:
    until(lambda: idle(cache))
    check_nothing_is_held(cache)
    assert not cache.ahead.held()
    assert not cache.ahead.demand_reads


def test_what_was_read_ahead_is_not_read_again_and_counted(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 6)
    cache = lists.cache(6 * PAGE, rate=FAST)
    question = fetched(cache, [0, 1, 2, 3])
    assert cache.bytes_read == cache.ahead.bytes_read == 4 * PAGE
    coverage = question.settle([0, 1, 4])
    assert (coverage.clusters, coverage.ready) == (3, 2)
    assert (coverage.bytes, coverage.bytes_ready) == (3 * PAGE, 2 * PAGE)
    assert (coverage.bytes_ahead, coverage.bytes_wasted) == (4 * PAGE, 2 * PAGE)
    lists.check_any(cache, [0, 1, 4])
    assert cache.bytes_read == 5 * PAGE
    question.close()
    assert cache.ahead.bytes_wasted == 2 * PAGE
    check_quiet(cache)


@given(
    sizes=st.lists(st.integers(1, 3 * PAGE), min_size=1, max_size=12),
    memory=st.integers(1, 14),
    piece=st.integers(1, 8),
    steps=st.lists(
        st.tuples(
            st.sampled_from(["begin", "fetch", "settle", "ask", "close", "forget"]),
            st.integers(0, 3),
            st.lists(st.integers(0, 11), max_size=8),
        ),
        max_size=14,
    ),
)
def test_whatever_is_done_every_question_gets_its_bytes_and_nothing_is_left_behind(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    memory: int,
    piece: int,
    steps: list[tuple[str, int, list[int]]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (read_ahead, cluster_cache):
            patch.setattr(module, "PIECE", piece * PAGE)
        check_steps(Lists(tmp_path_factory.mktemp("lists"), sizes), memory, steps)


def check_steps(lists: Lists, memory: int, steps: list[tuple[str, int, list[int]]]) -> None:
    """Take the steps with a cache of so many pages, and check what questions get and what is left."""
    cache = lists.cache(memory * PAGE, rate=FAST)
    open_questions: dict[int, ReadAhead] = {}
    for what, which, named in steps:
        clusters = [cluster % len(lists.contents) for cluster in named]
        question = open_questions.get(which)
        if what == "begin":
            open_questions[which] = cache.read_ahead()
        elif what == "ask":
            lists.check_any(cache, clusters)
            lists.check(cache, clusters)
        elif question and what == "fetch":
            question.fetch(clusters)
        elif question and what == "settle":
            coverage = question.settle(clusters)
            assert 0 <= coverage.ready <= coverage.clusters
            assert 0 <= coverage.bytes_wasted <= coverage.bytes_ahead
        elif question and what == "close":
            question.close()
        elif what == "forget":
            open_questions.pop(which, None)
    question = None  # of those that were forgotten, nothing is closed
    for question in open_questions.values():
        question.close()
    check_quiet(cache)


def test_what_a_question_waits_for_is_read_first(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 46)
    file = Gate(lists)
    cache = lists.cache(46 * PAGE, file, rate=FAST)
    with file.closed(), ThreadPoolExecutor(1) as threads:
        question = cache.read_ahead()
        question.fetch(range(0, 30, 2))
        until(lambda: len(file.began) == READERS)
        asked = threads.submit(lists.check_any, cache, range(30, 46, 2))
        until(lambda: len(file.began) == READERS + 8)
        for _ in range(READERS + 8):
            file._may_go_on.release()
        asked.result(30)
    until(lambda: idle(cache))
    assert {first // PAGE for first in file.began[READERS : READERS + 8]} == set(range(30, 46, 2))
    question.close()
    check_quiet(cache)


def test_a_read_ahead_gives_way_between_its_pieces(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [8 * PIECE, PAGE])
    file = Gate(lists)
    cache = lists.cache(9 * PIECE, file, rate=FAST)
    with file.closed(), ThreadPoolExecutor(1) as threads:
        question = cache.read_ahead()
        question.fetch([0])
        until(lambda: len(file.began) == 1)
        asked = threads.submit(lists.check_any, cache, [1])
        until(lambda: len(file.began) == 2)
        file._may_go_on.release()  # either of them: the piece, or what is asked for
        file._may_go_on.release()
        asked.result(30)
        assert file.began[:2] == [0, 8 * PIECE]
    until(lambda: idle(cache))
    assert file.began == [0, 8 * PIECE, *range(PIECE, 8 * PIECE, PIECE)]
    question.close()
    check_quiet(cache)


def test_a_question_does_not_wait_for_the_rate_of_what_is_on_its_way(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [40 * PIECE])
    cache = lists.cache(41 * PIECE, rate=PIECE)  # a piece a second
    question = cache.read_ahead()
    question.fetch([0])
    until(lambda: list(cache._residents))
    started = time.monotonic()
    lists.check_any(cache, [0])
    assert time.monotonic() - started < 20
    question.close()
    check_quiet(cache)


@pytest.mark.parametrize("how", ["settle", "close", "forget", "fetch"])
def test_what_waits_is_dropped_when_the_question_settles(tmp_path: Path, how: str) -> None:
    lists = Lists(tmp_path, [2 * PIECE] * 20)
    file = Gate(lists)
    cache = lists.cache(40 * PIECE, file, rate=FAST)
    with file.closed():
        question = cache.read_ahead()
        question.fetch(range(20))
        until(lambda: len(file.began) == READERS)
        if how == "forget":
            del question
            gc.collect()
        elif how == "settle":
            question.settle([])
        elif how == "fetch":
            question.fetch([])
        else:
            question.close()
    until(lambda: idle(cache))
    assert len(file.began) == (2 * READERS if how == "fetch" else READERS)
    if how == "fetch":
        question.close()
        assert cache.ahead.bytes_wasted == cache.ahead.bytes_read == 2 * READERS * PIECE
    elif how != "forget":
        assert cache.ahead.bytes_wasted == cache.ahead.bytes_read == READERS * PIECE
    check_quiet(cache)


def test_it_evicts_nothing_that_is_pinned_or_was_brought_ahead(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 12)
    cache = lists.cache(4 * PAGE, rate=FAST)
    under_way = cache.read([0])
    next(under_way)
    first, second = fetched(cache, [1, 2]), fetched(cache, [3, 4, 5])
    assert [cluster for cluster in range(12) if cache.is_ready(cluster)] == [0, 1, 2, 3]
    first.close()
    third = fetched(cache, [6, 7, 8])
    assert [cluster for cluster in range(12) if cache.is_ready(cluster)] == [0, 3, 6, 7]
    under_way.close()  # type: ignore[attr-defined]  # it is a generator
    for question in (second, third):
        question.close()
    check_quiet(cache)


def test_what_is_there_already_is_held_before_anything_is_read(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 6)
    cache = lists.cache(3 * PAGE, rate=FAST)
    lists.check(cache, [2, 1, 0])
    question = fetched(cache, [3, 4, 0])
    assert cache.is_ready(0)
    assert [cache.is_ready(cluster) for cluster in (3, 4)] == [True, True]
    question.close()


def test_a_question_takes_what_was_brought_for_another_only_when_all_else_has_gone(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 8)
    cache = lists.cache(4 * PAGE, rate=FAST)
    for _ in range(3):
        lists.check(cache, [0, 1])  # hot
    question = fetched(cache, [2, 3])
    lists.check_any(cache, [4, 5])
    assert [cluster for cluster in range(8) if cache.is_ready(cluster)] == [2, 3, 4, 5]
    lists.check_any(cache, [0, 1, 6, 7])
    question.close()
    check_quiet(cache)


def test_look_ahead_makes_nothing_hot(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 6)
    cache = lists.cache(2 * PAGE, rate=FAST)
    lists.check(cache, [0])
    for _ in range(5):
        fetched(cache, [1]).close()
    lists.check(cache, [2])
    assert [cluster for cluster in range(6) if cache.is_ready(cluster)] == [0, 2]


def test_a_read_ahead_that_fails_fails_nobody_until_it_is_asked_for(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 4)
    file = Gate(lists)
    cache = lists.cache(4 * PAGE, file, rate=FAST)
    file.fails = {PAGE}
    question = fetched(cache, range(4))
    coverage = question.settle(range(4))
    assert (coverage.ready, coverage.clusters) == (3, 4)
    with pytest.raises(StoreError, match="The disk failed"):
        lists.check_any(cache, range(4))
    file.fails = set()
    lists.check_any(cache, range(4))
    question.close()
    check_quiet(cache)


def test_the_rate_is_kept(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [2 * PIECE] * 8)
    cache = lists.cache(20 * PIECE, rate=40 * PIECE)
    assert cache.ahead.rate == 40 * PIECE
    started = time.monotonic()
    fetched(cache, range(8)).close()
    assert time.monotonic() - started >= (16 - READERS) / 40


def test_while_no_processor_is_idle_reading_takes_its_share_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Busy(ListFile):
        def read(self, parts: Sequence[memoryview], first: int, length: int) -> None:
            until = time.thread_time() + 0.005
            while time.thread_time() < until:
                pass
            super().read(parts, first, length)

    lists = Lists(tmp_path, [PIECE] * 8)
    file = Busy(lists.path, sum(map(len, lists.contents)))
    cache = lists.cache(20 * PIECE, file, rate=FAST)
    monkeypatch.setattr(IdleProcessors, "count", lambda _: 0.0)
    started = time.monotonic()
    fetched(cache, range(8)).close()
    assert time.monotonic() - started >= (8 - READERS - 1) * 0.005 / SHARE
    assert cache.ahead.rate <= SHARE * PIECE / 0.005


def test_neighbours_in_the_file_are_read_at_once_as_far_as_a_piece_holds_them(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [1000, PAGE, 3, 5000, PIECE - PAGE, 2 * PIECE, 7])
    file = Gate(lists)
    cache = lists.cache(8 * PIECE, file, rate=FAST)
    with file.closed():
        question = cache.read_ahead()
        question.fetch([2, 3, 0, 1, 4, 6])
        until(lambda: len(file.began) == READERS)
    until(lambda: idle(cache))
    assert sorted(file.began) == [0, lists.starts[4] // PAGE * PAGE, lists.starts[6] // PAGE * PAGE]
    lists.check(cache, range(7))
    question.close()
    check_quiet(cache)


def test_the_page_in_which_the_first_neighbour_begins_counts_too(
    tmp_path: Path,
) -> None:
    middle = 10 * PAGE - 100
    lists = Lists(tmp_path, [100, middle, PIECE - middle])
    file = Gate(lists)
    cache = lists.cache(2 * PIECE, file, rate=FAST)
    question = fetched(cache, [2, 1])
    lists.check(cache, [1, 2])
    assert sorted(file.began) == [0, 10 * PAGE]
    question.close()
    check_quiet(cache)


def test_each_cluster_comes_by_itself_where_they_cannot_be_read_at_once(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 4)
    file = Gate(lists)
    cache = lists.cache(4 * PAGE, file, rate=FAST)
    file.fails = {2 * PAGE}
    question = fetched(cache, [0, 1, 2, 3])
    assert [cluster for cluster in range(4) if cache.is_ready(cluster)] == [0, 1, 3]
    assert file.began == [PAGE * place for place in (0, 0, 1, 2, 3)]
    question.close()
    check_quiet(cache)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no priority of their own")
def test_the_model_goes_before_reads_ahead_but_not_before_reads_of_questions(tmp_path: Path) -> None:
    lists, own = Lists(tmp_path, [PAGE] * 4), os.getpriority(os.PRIO_PROCESS, 0)
    nice: dict[int, int] = {}

    class Noting(ListFile):
        def read(self, parts: Sequence[memoryview], first: int, length: int) -> None:
            nice[first // PAGE] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
            super().read(parts, first, length)

    cache = lists.cache(4 * PAGE, Noting(lists.path, 4 * PAGE))
    fetched(cache, [0, 2])
    lists.check(cache, [1, 3])
    assert nice == {0: max(own, NICE), 2: max(own, NICE), 1: own, 3: own}


def test_what_fails_when_a_cluster_comes_ends_no_reader(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 6)
    cache = lists.cache(6 * PAGE, rate=FAST)

    def fail(cluster: int) -> None:
        raise RuntimeError("The GPU is gone.")

    question = cache.read_ahead(fail)
    question.fetch(range(6))
    until(lambda: idle(cache))
    assert all(map(cache.is_ready, range(6)))
    question.close()
    check_quiet(cache)


def test_many_questions_ahead_and_at_once_get_their_own(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [2000 + 300 * cluster for cluster in range(40)])
    cache = lists.cache(20 * PAGE, rate=FAST)

    def ask(number: int) -> None:
        for round_ in range(15):
            clusters = [(number * 7 + round_ * 3 + step * 5) % 40 for step in range(12)]
            question = cache.read_ahead()
            question.fetch(reversed(clusters))
            question.fetch(clusters)
            if round_ % 3:
                question.settle(clusters[::2])
            lists.check_any(cache, clusters)
            question.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(8)))
    check_quiet(cache)
