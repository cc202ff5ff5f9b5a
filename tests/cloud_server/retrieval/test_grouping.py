"""Which questions are searched together: those that need the same clusters, and none waits for more groups than its
place in the queue.
"""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from cloud_server.retrieval.grouping import CONSIDERED, TOGETHER, group

CLUSTERS = st.frozensets(st.integers(0, 12), max_size=8)


def test_those_that_ask_for_the_same_go_together() -> None:
    waiting = [frozenset(range(start, start + 10)) for start in (0, 100, 3, 101, 200, 1)]
    assert group(waiting, 3) == [0, 5, 2]
    assert group([], 3) == []
    assert group(waiting[:1]) == [0]


@given(st.lists(CLUSTERS, max_size=20), st.integers(1, 10))
def test_the_oldest_is_among_them_and_nobody_twice(waiting: Sequence[frozenset[int]], most: int) -> None:
    chosen = group(waiting, most)
    assert chosen[:1] == [0][: len(waiting)]
    assert len(set(chosen)) == len(chosen) == min(most, len(waiting))
    assert all(0 <= place < len(waiting) for place in chosen)


@given(st.lists(st.lists(CLUSTERS, max_size=6), min_size=1, max_size=12), st.integers(1, 4))
def test_none_waits_for_more_groups_than_there_were_questions_before_it(
    arrivals: Sequence[Sequence[frozenset[int]]], most: int
) -> None:
    """New questions with any clusters arrive between the groups."""
    waiting: list[tuple[frozenset[int], int]] = []  # clusters, and how many groups it may wait for still
    for coming in [*arrivals, *([[]] * sum(map(len, arrivals)))]:
        for clusters in coming:
            waiting.append((clusters, len(waiting)))
        chosen = set(group([clusters for clusters, _ in waiting], most))
        left = [search for place, search in enumerate(waiting) if place not in chosen]
        assert all(bound > 0 for _, bound in left)
        waiting = [(clusters, bound - 1) for clusters, bound in left]
    assert not waiting


def test_of_a_long_line_the_oldest_are_considered() -> None:
    waiting = [frozenset([place]) for place in range(CONSIDERED)] + [frozenset([0])] * TOGETHER
    assert max(group(waiting)) < CONSIDERED
