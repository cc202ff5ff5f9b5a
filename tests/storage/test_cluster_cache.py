"""The cache of clusters: always the right bytes, never more memory, and no search waits for clusters that another has
pinned.
"""

import gc
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import StoreError
from storage.cluster_cache import AHEAD
from storage.list_file import PAGE, ListFile
from tests.faults import until
from tests.storage.clusters import Lists, check_nothing_is_held


@given(
    sizes=st.lists(st.integers(1, 3 * PAGE), min_size=1, max_size=12),
    pages=st.integers(0, 12),
    questions=st.lists(st.lists(st.integers(0, 11), max_size=8), max_size=6),
)
def test_every_question_gets_its_clusters_in_order_whatever_fits(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], pages: int, questions: list[list[int]]
) -> None:
    lists = Lists(tmp_path_factory.mktemp("lists"), sizes)
    cache = lists.cache(pages * PAGE)
    for question in questions:
        lists.check(cache, [cluster % len(sizes) for cluster in question])
    check_nothing_is_held(cache)


def test_what_is_in_memory_is_not_read_again_and_the_coldest_goes_first(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 4)
    cache = lists.cache(3 * PAGE)
    for question in ([0, 1, 2], [0, 1], [2], [2]):
        lists.check(cache, question)
    assert cache.bytes_read == 3 * PAGE
    lists.check(cache, [3])  # 0 and 1 are colder than 2
    before = cache.bytes_read
    lists.check(cache, [2, 3])
    assert cache.bytes_read == before


def test_a_question_larger_than_the_memory_is_answered_in_parts(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [5000] * 3 * AHEAD)
    lists.check(lists.cache(8 * PAGE), range(3 * AHEAD))


def test_a_question_that_is_dropped_pins_nothing_any_more(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 8)
    cache = lists.cache(2 * PAGE)
    for _ in range(5):
        for _cluster, _data in cache.read(range(8)):
            break
        check_nothing_is_held(cache)
        lists.check(cache, range(8))


def test_nobody_waits_for_what_another_question_has_pinned(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 8)
    cache = lists.cache(2 * PAGE)
    slow = cache.read([0, 1])
    assert next(slow)[0] == 0  # both places are pinned until it goes on
    lists.check(cache, [2, 3, 4, 1, 0])
    assert [(cluster, bytes(data)) for cluster, data in slow] == [(1, lists.contents[1])]


def test_many_questions_at_once_get_their_own(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [2000 + 300 * cluster for cluster in range(40)])
    cache = lists.cache(20 * PAGE)

    def ask(number: int) -> None:
        for question in range(20):
            lists.check(cache, [(number * 7 + question * 3 + step * 5) % 40 for step in range(12)])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(8)))


@given(
    sizes=st.lists(st.integers(1, 3 * PAGE), min_size=1, max_size=10),
    pages=st.integers(0, 12),
    questions=st.lists(
        st.tuples(st.booleans(), st.lists(st.integers(0, 9), min_size=1, max_size=8)), min_size=1, max_size=5
    ),
    order=st.lists(st.integers(0, 4), max_size=60),
)
def test_no_question_waits_for_what_others_have_pinned_however_they_take_turns(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    pages: int,
    questions: list[tuple[bool, list[int]]],
    order: list[int],
) -> None:
    """All searches run in one thread, where waiting for another would hang for ever. Some are dropped half way."""
    lists = Lists(tmp_path_factory.mktemp("lists"), sizes)
    cache = lists.cache(pages * PAGE)
    under_way = []
    for in_order, named in questions:
        clusters = [cluster % len(sizes) for cluster in named]
        expected = clusters if in_order else list(dict.fromkeys(clusters))
        under_way.append(((cache.read if in_order else cache.read_any)(clusters), expected))
    for which in order:
        question, expected = under_way[which % len(under_way)]
        step = next(question, None)
        if step is None:
            assert not expected
        else:
            cluster, data = step
            assert bytes(data) == lists.contents[cluster]
            expected.remove(cluster)
    for question, _ in under_way:
        question.close()  # type: ignore[attr-defined]  # it is a generator
    check_nothing_is_held(cache)


@pytest.mark.parametrize("pages", [0, 1, 8, 60])
def test_a_question_in_any_order_and_larger_than_the_memory_keeps_what_is_there_until_it_is_scanned(
    tmp_path: Path, pages: int
) -> None:
    lists = Lists(tmp_path, [PAGE] * 100)
    cache = lists.cache(pages * PAGE)
    warm = range(90, 90 + min(pages, 8))
    lists.check(cache, warm)
    before = cache.bytes_read
    lists.check_any(cache, range(100))
    assert cache.bytes_read - before == (100 - len(warm) if pages else 100) * PAGE
    check_nothing_is_held(cache)


class Failing(ListFile):
    """A file whose reads fail at chosen offsets, or wait until a test lets them go on."""

    def __init__(self, path: Path, size: int) -> None:
        super().__init__(path, size)
        self.fails: set[int] = set()
        self.began: list[int] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def read(self, parts: Sequence[memoryview], first: int, length: int) -> None:
        self.began.append(first)
        self.may_go_on.wait(30)
        if any(first <= place < first + length for place in self.fails):
            raise StoreError("The disk failed.")
        super().read(parts, first, length)


def test_a_read_that_fails_fails_its_questions_alone_and_is_tried_again(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 6)
    file = Failing(lists.path, 6 * PAGE)
    cache = lists.cache(6 * PAGE, file)
    file.fails = {3 * PAGE}
    for _ in range(20):  # nothing of the memory is lost
        for check in (lists.check, lists.check_any):
            with pytest.raises(StoreError, match="The disk failed"):
                check(cache, range(6))
        lists.check(cache, [0, 1, 2, 4, 5])
    check_nothing_is_held(cache)
    file.fails = set()
    lists.check(cache, range(6))


def test_neighbours_that_are_missing_are_read_at_once_where_any_order_will_do(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [1000, 5000, 3, PAGE, 100, 7000])
    for check, began in ((lists.check_any, [0, PAGE]), (lists.check, [0, 0, PAGE, PAGE * 2, PAGE * 2])):
        file = Failing(lists.path, sum(map(len, lists.contents)))
        cache = lists.cache(12 * PAGE, file)
        lists.check(cache, [2])
        file.began.clear()
        check(cache, [3, 1, 5, 0, 4])
        assert sorted(file.began) == began
        check_nothing_is_held(cache)


def test_a_fault_in_a_cluster_is_none_in_its_neighbours(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 4)
    file = Failing(lists.path, 4 * PAGE)
    cache = lists.cache(4 * PAGE, file)
    file.fails = {2 * PAGE}
    with pytest.raises(StoreError, match="The disk failed"):
        lists.check_any(cache, range(4))
    until(lambda: [cluster for cluster in range(4) if cache.is_ready(cluster)] == [0, 1, 3])
    check_nothing_is_held(cache)


def test_memory_that_is_still_read_into_is_given_to_nobody(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 6)
    file = Failing(lists.path, 6 * PAGE)
    cache = lists.cache(2 * PAGE, file)
    file.may_go_on.clear()
    with ThreadPoolExecutor(2) as threads:
        first = cache.read([0, 1])
        dropped = threads.submit(next, first)
        until(lambda: len(list(cache._residents)) == 2)
        other = threads.submit(lists.check, cache, [2, 3])
        file.may_go_on.set()
        assert dropped.result(30)[0] == 0
        other.result(30)
    first.close()  # type: ignore[attr-defined]  # it is a generator
    lists.check(cache, [4, 0, 5, 1])
    check_nothing_is_held(cache)


def test_a_list_larger_than_the_memory_leaves_the_others_there(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE, PAGE, 5 * PAGE])
    cache = lists.cache(3 * PAGE)
    lists.check(cache, [0, 1, 2])
    before = cache.bytes_read
    lists.check(cache, [0, 1])
    assert cache.bytes_read == before


def test_without_a_thread_to_read_the_question_fails_and_the_next_one_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = Lists(tmp_path, [PAGE] * 3)
    cache = lists.cache(3 * PAGE)

    def none(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(cache._demand._threads, "submit", none)
        with pytest.raises(StoreError, match="can't start new thread"):
            lists.check(cache, range(3))
    check_nothing_is_held(cache)
    lists.check(cache, range(3))


@pytest.mark.parametrize("in_order", [True, False])
def test_a_cache_whose_reads_have_failed_is_freed_at_once(tmp_path: Path, in_order: bool) -> None:
    lists = Lists(tmp_path, [PAGE] * 3)
    file = Failing(lists.path, 3 * PAGE)
    file.fails = {0}
    cache = lists.cache(3 * PAGE, file)
    gc.disable()
    try:
        with pytest.raises(StoreError):
            (lists.check if in_order else lists.check_any)(cache, range(3))
        freed = weakref.ref(cache)
        del cache
        until(lambda: freed() is None)
    finally:
        gc.enable()


def test_two_questions_share_a_read(tmp_path: Path) -> None:
    lists = Lists(tmp_path, [PAGE] * 6)
    file = Failing(lists.path, 6 * PAGE)
    cache = lists.cache(6 * PAGE, file)
    file.may_go_on.clear()
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(lists.check, cache, range(6)) for _ in range(4)]
        file.may_go_on.set()
        for question in asked:
            question.result(30)
    assert cache.bytes_read == 6 * PAGE
