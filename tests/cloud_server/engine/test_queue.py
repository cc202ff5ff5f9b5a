"""The waiting devices share the engine by amount of work; a device that requests much delays only itself."""

from hypothesis import given
from hypothesis import strategies as st

from cloud_server.engine.fairness import QUANTUM
from cloud_server.engine.queue import FairQueue, work


def order(queue: FairQueue) -> list[int]:
    served = []
    while waiting := queue.pop():
        served.append(waiting.key)
    return served


def order_one(queue: FairQueue) -> int:
    waiting = queue.pop()
    assert waiting
    return waiting.key


def test_one_device_is_served_in_its_order() -> None:
    queue = FairQueue(10, 10)
    for key in (3, 1, 2):
        queue.push("a", key, 5)
    assert order(queue) == [3, 1, 2]
    assert queue.pop() is None


def test_one_that_asks_for_much_delays_itself_alone() -> None:
    queue = FairQueue(100, 100)
    for key in range(50):
        queue.push("many", key, 10)
    assert queue.push("one", 99, 10).position == 2  # a turn is of 16
    assert order(queue)[:3] == [0, 1, 99]


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
    assert order(queue)[:6] == [30, 31, 14, 32, 33, 15]  # turns of 16, with what is overdrawn


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
    assert queue.full("b")


def test_who_has_nothing_waiting_yet_is_taken_however_many_others_wait() -> None:
    queue = FairQueue(4, 4)
    for key in range(4):
        queue.push("many", key, 1)
    assert queue.full("many")
    assert not queue.full("one")
    queue.push("one", 9, 1)
    assert queue.full("many")


def test_who_cannot_be_served_now_delays_nobody() -> None:
    queue = FairQueue(10, 10)
    queue.push("large", 1, 1)
    queue.push("small", 2, 1)
    taken = queue.pop(lambda owner, key: (owner, key) != ("large", 1))
    assert taken
    assert taken.key == 2
    assert queue.pop(lambda *_: False) is None
    assert order(queue) == [1]


def test_what_gave_its_place_away_comes_before_its_owner_s_others() -> None:
    queue = FairQueue(10, 10)
    queue.push("a", 1, 1)
    queue.put_back("a", 2, 1)
    assert order(queue) == [2, 1]


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
    assert sum(pushes[name][1] for name in before) <= place.ahead


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 20)), min_size=4, max_size=60))
def test_while_two_wait_neither_is_ahead_by_more_than_a_quantum_and_a_request(
    pushes: list[tuple[str, int]],
) -> None:
    queue = FairQueue(100, 100)
    for key, (owner, weight) in enumerate(pushes):
        queue.push(owner, key, weight)
    left = {owner: sum(weight for name, weight in pushes if name == owner) for owner, _ in pushes}
    served = dict.fromkeys(left, 0)
    longest = max(weight for _, weight in pushes)
    while len(queue):
        owner, weight = pushes[order_one(queue)]
        served[owner] += weight
        left[owner] -= weight
        waiting = [served[name] for name in left if left[name]]
        if len(waiting) > 1:
            assert max(waiting) - min(waiting) <= longest + QUANTUM
