"""How many tokens are drafted, given the shares of drafts accepted so far and the times of forward passes."""

from collections.abc import Sequence
from itertools import accumulate, product
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.speculative.choice import Acceptance, shares
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
    assert shares([[chance] * drafted], [1], cost.ratio, 16) == [chosen]


def test_rows_make_drafts_dearer_and_the_likeliest_come_first() -> None:
    assert shares([[0.9, 0.9, 0.9]], [4], CHEAP.ratio, 16) == [3]
    assert shares([[0.9, 0.9, 0.9]], [4], CHEAP.ratio, 15) == [2]
    assert shares([[0.2, 0.2, 0.2], [0.95, 0.9, 0.9]], [1, 1], CHEAP.ratio, 16) == [0, 3]
    assert shares([[0.8], [0.8]], [4, 1], DEAR.ratio, 16) == [0, 1]


answers = st.lists(st.lists(st.floats(0, 1), max_size=4), min_size=1, max_size=3)


@given(answers, st.integers(1, 3), costs, st.integers(1, 16))
def test_no_other_shares_make_more_tokens_per_time(
    chances: list[list[float]], rows: int, ratios: list[float], most: int
) -> None:
    def cost(tokens: int) -> float:
        return ratios[min(tokens, len(ratios)) - 1]

    def gain(counts: Sequence[int]) -> float:
        expected = 0.0
        for own, count in zip(chances, counts, strict=True):
            expected += 1 + sum(accumulate(own[:count], mul))
        return expected / cost(rows * sum(1 + count for count in counts))

    chosen = shares(chances, [rows] * len(chances), cost, most)
    nothing = tuple(0 for _ in chances)
    possible = [
        counts
        for counts in product(*(range(len(own) + 1) for own in chances))
        if counts == nothing or rows * sum(1 + count for count in counts) <= most
    ]
    assert tuple(chosen) in possible
    assert gain(chosen) == pytest.approx(max(map(gain, possible)))


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
    while shares([[acceptance.chance(matched) for matched in (1, 2, 3)]], [1], CHEAP.ratio, 16) != [0] and passes < 100:
        acceptance.learn(1, is_accepted=False)
        passes += 1
    assert 0 < passes < 20
