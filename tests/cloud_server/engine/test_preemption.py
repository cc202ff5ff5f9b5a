"""A waiting answer takes the place of a paused one, or else of the owner with most places; no place goes back and
forth.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.engine.preemption import Allocation, Capacity, displaced

WHOLE = Capacity(4, 1000)
FULL = Capacity(0, 0)


def held(key: int, owner: str, sequences: int = 1, cells: int = 100, *, paused: bool = False) -> Allocation:
    return Allocation(key, owner, Capacity(sequences, cells), paused)


@pytest.mark.parametrize(
    ("need", "free", "others", "displaced_keys"),
    [
        pytest.param(Capacity(1, 100), Capacity(1, 100), [], [], id="there is room"),
        pytest.param(
            Capacity(1, 100), FULL, [held(k, "many") for k in range(4)], [3], id="the youngest of who has most"
        ),
        pytest.param(Capacity(1, 100), FULL, [held(1, "a"), held(2, "b"), held(3, "b"), held(4, "c")], [3], id="of b"),
        pytest.param(Capacity(1, 100), FULL, [held(k, f"{k}") for k in range(4)], None, id="each has one"),
        pytest.param(Capacity(2, 100), FULL, [held(k, "many") for k in range(4)], [3, 2], id="two for two rows"),
        pytest.param(Capacity(3, 100), FULL, [held(k, "many") for k in range(4)], None, id="not more than is left"),
        pytest.param(
            Capacity(1, 100), FULL, [held(1, "a"), held(2, "b", paused=True), held(3, "c")], [2], id="who rests, first"
        ),
        pytest.param(Capacity(1, 100), FULL, [held(1, "me", paused=True)], [1], id="its own that rests, too"),
        pytest.param(Capacity(1, 100), FULL, [held(k, "me") for k in range(4)], None, id="its own moves"),
        pytest.param(
            Capacity(1, 100), Capacity(3, 50), [held(1, "large", cells=900)], [1], id="cells count as sequences do"
        ),
        pytest.param(Capacity(1, 950), Capacity(3, 50), [held(1, "small", cells=900)], None, id="a larger one waits"),
    ],
)
def test_who_gives_its_place(
    need: Capacity, free: Capacity, others: list[Allocation], displaced_keys: list[int] | None
) -> None:
    assert displaced(need, "me", free, WHOLE, others) == displaced_keys


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3), st.integers(1, 500)), min_size=1, max_size=25))
def test_places_do_not_go_to_and_fro(jobs: list[tuple[str, int, int]]) -> None:
    """All waiting answers take places again and again: this ends, and the answers that then hold places fit
    together.
    """
    waiting = [held(key, owner, sequences, cells) for key, (owner, sequences, cells) in enumerate(jobs)]
    holding: list[Allocation] = []
    for _ in range(len(jobs) ** 2 + 10):
        for claim in waiting:
            taken = [allocation.room for allocation in holding]
            free = Capacity(
                4 - sum(allocation.sequences for allocation in taken),
                1000 - sum(allocation.cells for allocation in taken),
            )
            displaced_keys = displaced(claim.room, claim.owner, free, WHOLE, holding)
            if displaced_keys is not None:
                gone = [allocation for allocation in holding if allocation.key in displaced_keys]
                holding = [allocation for allocation in holding if allocation not in gone] + [claim]
                waiting = [allocation for allocation in waiting if allocation is not claim] + gone
                break
        else:
            break
        assert sum(allocation.room.sequences for allocation in holding) <= 4
        assert sum(allocation.room.cells for allocation in holding) <= 1000
    else:
        raise AssertionError("places go to and fro")
