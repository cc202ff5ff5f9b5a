"""If the machine is short of memory, a cache frees what it can, clusters that were read ahead first."""

from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import read_ahead
from storage.cluster_cache import ClusterCache
from storage.list_file import PAGE
from storage.pressure import RESERVE, limit
from tests.faults import until
from tests.storage.clusters import Lists, check_nothing_is_held

MB = 1_000_000


@pytest.mark.parametrize(
    ("allowed", "used", "free", "expected"),
    [
        (1000, 900, 2000, 1000),  # nobody is short
        (1000, 900, 200, 844),  # 56 are missing
        (1000, 300, 0, 44),
        (1000, 100, 0, 0),
        (800, 900, 300, 800),  # enough to stay, not to grow
        (800, 700, 600, 888),
        (800, 700, 4000, 1000),
    ],
)
def test_it_shrinks_by_what_is_missing_and_grows_when_there_is_plenty(
    allowed: int, used: int, free: int, expected: int
) -> None:
    assert limit(allowed * MB, used * MB, 1000 * MB, free * MB) == expected * MB


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 5000))
def test_it_never_grows_beyond_its_size_nor_below_nothing(allowed: int, used: int, free: int) -> None:
    assert 0 <= limit(allowed * MB, used * MB, 1000 * MB, free * MB) <= 1000 * MB


def short_of(bytes_: int, cache: ClusterCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the available memory be `bytes_` below the reserve from now on."""
    monkeypatch.setattr(read_ahead, "available", lambda: RESERVE - bytes_)
    cache.ahead._looked = float("-inf")


def test_what_was_read_ahead_goes_first_and_then_the_coldest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = Lists(tmp_path, [PAGE] * 10)
    cache = lists.cache(8 * PAGE)
    lists.check_any(cache, [0, 1, 2])
    lists.check_any(cache, [2])
    ahead = cache.read_ahead()
    ahead.fetch([3, 4])
    until(lambda: ahead.is_idle)
    short_of(2 * PAGE, cache, monkeypatch)
    lists.check_any(cache, [2])
    assert [cluster for cluster in range(10) if cache.is_ready(cluster)] == [0, 1, 2]
    short_of(2 * PAGE, cache, monkeypatch)
    lists.check_any(cache, [2])
    assert [cluster for cluster in range(10) if cache.is_ready(cluster)] == [2]
    short_of(10 * PAGE, cache, monkeypatch)
    lists.check_any(cache, range(10))  # without any memory, one after the other
    lists.check(cache, range(10))
    assert not list(cache._residents)
    short_of(-5 * RESERVE, cache, monkeypatch)
    lists.check_any(cache, range(8))
    assert len(list(cache._residents)) == 8
    ahead.close()
    check_nothing_is_held(cache)


def test_memory_that_was_given_back_is_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 4096 * PAGE
    lists = Lists(tmp_path, [size] * 4)
    cache = lists.cache(4 * size)
    lists.check_any(cache, range(4))
    process = psutil.Process()
    before = process.memory_info().rss
    short_of(4 * size, cache, monkeypatch)
    for _ in cache.read_any([]):
        pass
    assert process.memory_info().rss < before - 3 * size
    arena = cache._residents.arena
    assert set(arena.view(0, PAGE)) == {0}  # shared pages would have kept what was in them
    lists.check_any(cache, range(4))


def test_memory_is_given_back_without_a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = Lists(tmp_path, [PAGE] * 4)
    cache = lists.cache(4 * PAGE)
    lists.check(cache, range(4))
    cache.relieve()
    assert cache.used == 4 * PAGE
    short_of(3 * PAGE, cache, monkeypatch)
    cache.relieve()
    assert cache.used == PAGE
    check_nothing_is_held(cache)


def test_what_is_pinned_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = Lists(tmp_path, [PAGE] * 4)
    cache = lists.cache(4 * PAGE)
    under_way = cache.read([0, 1])
    cluster, data = next(under_way)
    short_of(4 * PAGE, cache, monkeypatch)
    lists.check_any(cache, [2, 3])
    assert (cluster, bytes(data)) == (0, lists.contents[0])
    assert [(number, bytes(own)) for number, own in under_way] == [(1, lists.contents[1])]
    check_nothing_is_held(cache)
