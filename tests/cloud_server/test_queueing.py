"""Devices that wait share the engine by work; one that asks for much delays itself alone."""

from hypothesis import given
from hypothesis import strategies as st

from cloud_server.queueing import FairQueue, work


def order(queue: FairQueue) -> list[int]:
    return [queue.pop().key for _ in range(len(queue))]


def test_one_device_is_served_in_its_order() -> None:
    queue = FairQueue(10, 10)
    for key in (3, 1, 2):
        queue.push("a", key, 5)
    assert order(queue) == [3, 1, 2]
    assert queue.first() is None


def test_one_that_asks_for_much_delays_itself_alone() -> None:
    queue = FairQueue(100, 100)
    for key in range(50):
        queue.push("many", key, 10)
    assert queue.push("one", 99, 10).position == 1
    assert order(queue)[:2] == [0, 99]


def test_devices_share_by_work_not_by_requests() -> None:
    queue = FairQueue(100, 100)
    for key in range(10):
        queue.push("short", key, 10)
    for key in range(100, 110):
        queue.push("long", key, 30)
    served = [key >= 100 for key in order(queue)[:12]]
    assert served.count(True) == 3


def test_who_was_idle_is_owed_nothing() -> None:
    queue = FairQueue(100, 100)
    queue.push("idle", 1, 1)
    queue.push("busy", 2, 1)
    for key in range(10, 20):
        queue.push("busy", key, 10)
    for _ in range(6):
        queue.pop()
    for key in range(30, 36):
        queue.push("idle", key, 10)
    assert [key >= 30 for key in order(queue)[:4]].count(True) == 2


def test_what_was_taken_back_costs_nothing() -> None:
    queue = FairQueue(100, 100)
    queue.push("a", 1, 1000)
    queue.push("a", 2, 10)
    queue.push("b", 3, 20)
    assert queue.remove(1)
    assert not queue.remove(1)
    assert order(queue) == [2, 3]


def test_it_is_bounded() -> None:
    queue = FairQueue(3, 2)
    queue.push("a", 1, 1)
    queue.push("a", 2, 1)
    assert queue.full("a")
    assert not queue.full("b")
    queue.push("b", 3, 1)
    assert queue.full("c")


def test_a_token_of_a_prompt_is_less_work_than_one_of_an_answer() -> None:
    assert work(400, 10) == 110


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 50)), min_size=1, max_size=30), st.integers(0, 29))
def test_nobody_waits_longer_than_where_it_stands(pushes: list[tuple[str, int]], chosen: int) -> None:
    queue = FairQueue(100, 100)
    for key, (owner, weight) in enumerate(pushes):
        queue.push(owner, key, weight)
    key = chosen % len(pushes)
    place = queue.place(pushes[key][0], key)
    served = order(queue)
    before = served[: served.index(key)]
    assert len(before) <= place.position  # among equals, either may be first
    assert sum(pushes[one][1] for one in before) <= place.ahead


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 20)), min_size=4, max_size=60))
def test_while_two_wait_neither_is_ahead_by_more_than_its_longest_request(pushes: list[tuple[str, int]]) -> None:
    queue = FairQueue(100, 100)
    for key, (owner, weight) in enumerate(pushes):
        queue.push(owner, key, weight)
    left = {owner: sum(weight for one, weight in pushes if one == owner) for owner, _ in pushes}
    served = dict.fromkeys(left, 0)
    longest = max(weight for _, weight in pushes)
    while len(queue):
        owner, weight = pushes[queue.pop().key]
        served[owner] += weight
        left[owner] -= weight
        waiting = [served[one] for one in left if left[one]]
        if len(waiting) > 1:
            assert max(waiting) - min(waiting) <= longest
