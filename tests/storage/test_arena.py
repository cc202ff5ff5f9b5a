"""A memory block of fixed size: allocated parts never overlap, and all memory can be freed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import StoreError
from storage.arena import Arena, Runs
from storage.list_file import PAGE

SIZE = 100


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 40), st.integers(0, 99))))
def test_runs_never_overlap_and_all_that_is_given_back_is_one_run_again(steps: list[tuple[bool, int, int]]) -> None:
    runs, taken = Runs(SIZE), list[tuple[int, int]]()
    for takes, length, which in steps:
        if takes:
            start = runs.take(length)
            if start is not None:
                assert start + length <= SIZE
                assert all(start + length <= other or other + size <= start for other, size in taken)
                taken.append((start, length))
        elif taken:
            runs.give_back(*taken.pop(which % len(taken)))
        assert runs.free == SIZE - sum(size for _, size in taken)
    for start, length in taken:
        runs.give_back(start, length)
    assert runs.take(SIZE) == 0


def test_an_arena_is_whole_pages_and_at_least_one() -> None:
    for size, whole in ((0, PAGE), (1, PAGE), (PAGE, PAGE), (3 * PAGE + 1, 3 * PAGE)):
        assert Arena(size).runs.free == whole


def test_memory_that_there_is_not_is_said_with_its_setting() -> None:
    with pytest.raises(StoreError, match=r"retrieval\.memory_mb"):
        Arena(1 << 60)
