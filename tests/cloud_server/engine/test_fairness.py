"""Round robin: between two turns of a waiting owner, each other owner gets at most a quantum plus one piece of work."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.engine.fairness import RoundRobin

pieces = st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0.5, 60)), min_size=1, max_size=80)


def served(turns: RoundRobin, waiting: dict[str, float], rounds: int) -> list[str]:
    owners = []
    for _ in range(rounds):
        owners.append(turns.next(waiting))
        turns.charge(owners[-1], waiting[owners[-1]])
    return owners


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ({"a": 10.0}, "aaaaaa"),
        ({"a": 10.0, "b": 10.0}, "ababab"),
        ({"a": 30.0, "b": 10.0}, "abbbab"),
        ({"a": 5.0, "b": 10.0}, "aabaab"),
        ({"a": 10.0, "b": 10.0, "c": 10.0}, "abcabc"),
    ],
)
def test_turns(pieces: dict[str, float], expected: str) -> None:
    assert "".join(served(RoundRobin(10.0), pieces, 6)) == expected


def test_what_was_done_out_of_turn_is_paid_by_turns() -> None:
    turns = RoundRobin(10.0)
    turns.charge("decodes", 30.0)
    assert served(turns, {"decodes": 10.0, "waits": 10.0}, 5) == ["waits"] * 4 + ["decodes"]


def test_who_was_idle_is_owed_nothing_and_stays_in_debt() -> None:
    turns = RoundRobin(10.0)
    served(turns, {"busy": 10.0}, 50)
    turns.charge("indebted", 100.0)
    assert served(turns, {"busy": 10.0}, 1) == ["busy"]
    owners = served(turns, {"busy": 10.0, "late": 10.0, "indebted": 10.0}, 4)
    assert owners == ["late", "busy", "late", "busy"]


@given(pieces)
def test_a_turn_is_always_somebody_s_that_waits(done: list[tuple[str, float]]) -> None:
    turns = RoundRobin(16.0)
    for owner, work in done:
        turns.charge(owner, work)
        assert turns.next("ab") in "ab"
        assert turns.next("ab") == turns.next("ab") == turns.copy().next("ab")


@given(pieces, st.integers(1, 200))
def test_between_two_turns_others_get_a_quantum_and_a_piece_each(left: list[tuple[str, float]], most: int) -> None:
    """An owner waits at most for the sum of the others' quanta and longest pieces of work, plus its own debt."""
    turns, queues = RoundRobin(16.0), dict[str, list[float]]()
    for owner, work in left:
        queues.setdefault(owner, []).append(work)
    longest = {owner: max(works) for owner, works in queues.items()}
    since = {owner: dict.fromkeys(queues, 0.0) for owner in queues}  # what each got while this one waited
    for _ in range(min(most, len(left))):
        owner = turns.next([name for name, works in queues.items() if works])
        work = queues[owner].pop(0)
        turns.charge(owner, work)
        since[owner] = dict.fromkeys(queues, 0.0)
        for waits, others in since.items():
            if waits != owner and queues[waits]:
                others[owner] += work
                rounds = 1 + longest[waits] // 16.0  # its own last piece may have overdrawn by so many quanta
                assert others[owner] <= (rounds + 1) * 16.0 + longest[owner]


def test_who_comes_new_is_next_and_who_comes_again_is_not_new() -> None:
    turns = RoundRobin(10.0)
    served(turns, {"a": 10.0, "b": 10.0}, 2)
    assert served(turns, {"a": 10.0, "b": 10.0, "new": 10.0}, 1) in (["new"], ["a"])
    turns = RoundRobin(10.0)
    order = []
    for round_ in range(12):  # three take turns in asking for one piece each; one waits all the time
        waiting = {"waits": 10.0, "xyz"[round_ % 3]: 10.0}
        order += served(turns, waiting, 1)
    assert order.count("waits") >= 3
