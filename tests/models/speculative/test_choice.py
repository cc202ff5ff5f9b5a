"""How many tokens are drafted, by the shares accepted so far and the costs of passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.speculative.choice import Acceptance, length
from models.speculative.costs import PassCosts

CHEAP = PassCosts(((1, 1.0), (4, 1.3), (8, 2.2), (16, 3.5)), is_exact=True)
DEAR = PassCosts(((1, 1.0), (2, 1.9), (16, 16.0)), is_exact=True)
costs = st.lists(st.floats(0.5, 4), min_size=15, max_size=15).map(lambda ratios: [1.0, *ratios])


@pytest.mark.parametrize(
    ("drafted", "chance", "cost", "chosen"),
    [
        (0, 0.9, CHEAP, 0),
        (3, 0.9, CHEAP, 3),
        (15, 0.6, CHEAP, 3),
        (15, 0.97, CHEAP, 15),
        (3, 0.05, CHEAP, 0),
        (15, 0.8, DEAR, 0),
        (1, 0.95, DEAR, 1),
    ],
)
def test_as_many_are_drafted_as_pay(drafted: int, chance: float, cost: PassCosts, chosen: int) -> None:
    assert length(3, drafted, lambda _: chance, cost.ratio) == chosen


@given(st.integers(1, 8), st.integers(0, 15), st.lists(st.floats(0, 1), min_size=24, max_size=24), costs)
def test_no_other_length_makes_more_tokens_per_time(
    matched: int, drafted: int, chances: list[float], ratios: list[float]
) -> None:
    def gain(count: int) -> float:
        expected = reached = 1.0
        for place in range(count):
            reached *= chances[matched + place]
            expected += reached
        return expected / ratios[count]

    chosen = length(matched, drafted, chances.__getitem__, lambda tokens: ratios[tokens - 1])
    assert gain(chosen) == max(map(gain, range(drafted + 1)))


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=200))
def test_shares_stay_probabilities_and_follow_what_was_seen(seen: list[tuple[int, bool]]) -> None:
    acceptance = Acceptance()
    for matched, is_accepted in seen:
        before = acceptance.chance(matched)
        acceptance.learn(matched, is_accepted=is_accepted)
        assert (acceptance.chance(matched) >= before) is is_accepted
        assert 0 < acceptance.chance(matched) < 1


def test_what_is_never_accepted_is_soon_drafted_no_more() -> None:
    acceptance = Acceptance()
    passes = 0
    while length(1, 3, acceptance.chance, CHEAP.ratio) and passes < 100:
        acceptance.learn(1, is_accepted=False)
        passes += 1
    assert 0 < passes < 20
