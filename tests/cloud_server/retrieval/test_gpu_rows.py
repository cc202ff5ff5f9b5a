"""Which clusters are copied to a GPU, which are evicted, and how its rows are scanned: the decisions only, without a
GPU.
"""

import gc
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cloud_server.retrieval.gpu_rows import GAP, NOBODY, GpuRows, Segment, blocks, margin, segments

FLOATS = st.floats(-1, 1, width=32)


class Question:
    """Stands for a question, for which clusters are kept on the GPU."""


def rows(size: int, clusters: int = 8, each: int = 10) -> GpuRows:
    return GpuRows(size, np.full(clusters, each))


def taken(held: GpuRows) -> list[int]:
    """Carry out all queued copies, and return the copied clusters in order."""
    copied = []
    while segment := held.next():
        held.settle(segment.cluster, has_come=True)
        copied.append(segment.cluster)
    return copied


def test_the_nearest_come_first_and_as_many_as_there_is_room_for() -> None:
    held, question = rows(30), Question()
    held.hold(question, [5, 2, 7, 1])
    assert taken(held) == [5, 2, 7]
    held.let_go(question)
    held.offer([5])
    assert taken(held) == []


def test_what_is_held_for_a_question_stays_until_it_is_over_or_forgotten() -> None:
    held, first, second = rows(20), Question(), Question()
    held.hold(first, [1])
    held.hold(first, [2])
    assert taken(held) == [2, 1]
    held.hold(second, [3])
    assert taken(held) == []
    del first
    gc.collect()
    held.has_arrived(3)
    assert taken(held) == [3]


def test_what_was_missing_comes_only_where_it_is_hotter_and_never_over_what_is_scanned() -> None:
    held = rows(20)
    held.pin([0, 1])
    held.offer([0, 1])
    assert set(taken(held)) == {0, 1}
    for _ in range(3):
        held.unpin([segment.cluster for segment in held.pin([1])])
    held.offer([2])  # never asked for
    assert taken(held) == []
    assert [segment.cluster for segment in held.pin([0, 3])] == [0]
    held.pin([3])
    held.offer([3])
    assert taken(held) == []  # 0 is pinned, 1 is hotter
    held.unpin([0])
    held.offer([3])
    assert taken(held) == [3]
    assert [held.is_here(cluster) for cluster in (0, 1, 3)] == [False, True, True]


def test_what_is_on_its_way_is_not_scanned_and_what_did_not_come_leaves_its_room() -> None:
    held, question = rows(10), Question()
    held.hold(question, [4, 5])
    segment = held.next()
    assert segment == Segment(0, 10, 4)
    assert not held.is_here(4)
    assert held.pin([4]) == []
    held.settle(4, has_come=False)
    assert taken(held) == [5]


def test_a_cluster_larger_than_all_there_is_evicts_nothing() -> None:
    held, question = GpuRows(20, np.array([10, 21])), Question()
    held.hold(question, [1, 0])
    assert taken(held) == [0]


def test_a_cluster_that_nobody_waits_for_any_more_is_not_copied() -> None:
    held, question = rows(20), Question()
    held.hold(question, [4, 5])
    held.let_go(question)
    held.has_arrived(4)
    assert taken(held) == []


def test_short_gaps_are_scanned_with_their_neighbours_and_long_blocks_are_cut() -> None:
    far = 30 + GAP
    ordered = segments([Segment(far + 1, 9, 3), Segment(20, 10, 2), Segment(0, 10, 1)])
    assert ordered == [Segment(0, 10, 1), Segment(10, 10, NOBODY), Segment(20, 10, 2), Segment(far + 1, 9, 3)]
    assert blocks(ordered, 16) == [(0, 16), (16, 30), (far + 1, far + 10)]


@pytest.mark.parametrize(("precision", "least"), [("highest", 0.0), ("high", 2.0**-10), ("medium", 2.0**-7)])
def test_inputs_that_are_rounded_widen_the_margin(precision: str, least: float) -> None:
    assert least < margin(384, 1.0, precision) < least * 1.1 + 1e-4


@given(values=st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=64), order=st.randoms())
@example(values=[(0.1875, 3.0850245346950545e-26)], order=Random(0))
def test_no_order_of_summation_leaves_the_margin(values: list[tuple[float, float]], order: Random) -> None:
    stored, asked = (np.array(column, np.float32) for column in zip(*values, strict=True))
    if (length := float(np.linalg.norm(stored))) > 1:
        stored = (stored / np.float32(length)).astype(np.float32)
    exact = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(stored, asked, strict=True))
    total = np.float32(0)
    places = list(range(len(values)))
    order.shuffle(places)
    for place in places:
        total += stored[place] * asked[place]
    norm = float(np.linalg.norm(asked.astype(np.float64)))  # in float32, squares of tiny numbers would be 0
    assert abs(Fraction(float(total)) - exact) <= margin(len(values), norm, "highest")
