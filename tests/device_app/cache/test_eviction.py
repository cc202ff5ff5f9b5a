"""Which cached states are evicted: in the order of each policy, children before their parents, and no more than
necessary.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.cache.eviction import Kept, Policy, victims

# Ten bytes each; name, uses, used at, cost.
FLAT = [
    Kept("often", 10, uses=9, used_at="1", cost=1),
    Kept("late", 10, uses=1, used_at="9", cost=1),
    Kept("dear", 10, uses=1, used_at="2", cost=50),
    Kept("never", 10, uses=0, used_at="3", cost=1),
]


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("lfu", ["never", "dear", "late", "often"]),
        ("lru", ["often", "dear", "never", "late"]),
        ("cost", ["never", "late", "often", "dear"]),
    ],
)
def test_each_policy_has_its_order(policy: Policy, order: list[str]) -> None:
    for count in range(5):
        assert victims(FLAT, 40 - 10 * count, policy) == order[:count]


@pytest.mark.parametrize(
    ("limit", "count"), [(100, 0), (40, 0), (39, 1), (30, 1), (29, 2), (10, 3), (9, 4), (0, 4), (-1, 4)]
)
def test_no_more_goes_than_the_limit_asks(limit: int, count: int) -> None:
    assert victims(FLAT, limit, "lfu") == ["never", "dear", "late", "often"][:count]


def test_by_cost_a_large_one_goes_before_a_small_one_of_the_same_cost() -> None:
    kept = [Kept("small", 1, 1, "1", 10), Kept("large", 100, 1, "2", 10), Kept("empty", 0, 1, "0", 10)]
    assert victims(kept, 1, "cost") == ["large"]


def test_a_parent_waits_for_its_children_however_little_it_is_worth() -> None:
    tree = [
        Kept("root", 10, 0, "0", 1),
        Kept("leaf", 10, 9, "9", 9, parent="root"),
        Kept("twig", 10, 5, "5", 5, parent="root"),
        Kept("other", 10, 7, "7", 7),
    ]
    assert victims(tree, 0, "lfu") == ["twig", "other", "leaf", "root"]


def test_one_whose_parent_is_gone_is_like_a_root() -> None:
    assert victims([Kept("orphan", 10, 0, "0", 1, parent="gone")], 0, "lfu") == ["orphan"]


@st.composite
def trees(draw: st.DrawFn) -> list[Kept]:
    count = draw(st.integers(0, 20))
    kept = []
    for number in range(count):
        parent = draw(st.none() | st.integers(0, number - 1)) if number else None
        kept.append(
            Kept(
                str(number),
                draw(st.integers(0, 50)),
                draw(st.integers(0, 5)),
                str(draw(st.integers(0, 5))),
                draw(st.floats(0, 100)),
                None if parent is None else str(parent),
            )
        )
    return draw(st.permutations(kept))


policies = st.sampled_from(["lfu", "lru", "cost"])


@given(trees(), st.integers(0, 300), policies)
def test_what_is_left_fits_and_no_victim_was_needless(kept: list[Kept], limit: int, policy: Policy) -> None:
    gone = victims(kept, limit, policy)
    assert len(set(gone)) == len(gone)
    sizes = {entry.name: entry.bytes for entry in kept}
    left = sum(sizes.values()) - sum(sizes[name] for name in gone)
    assert left <= limit or not set(sizes) - set(gone)
    assert not gone or left + sizes[gone[-1]] > limit


@given(trees(), st.integers(0, 300), policies)
def test_a_parent_outlives_its_children(kept: list[Kept], limit: int, policy: Policy) -> None:
    gone = victims(kept, limit, policy)
    for entry in kept:
        if entry.parent in gone:
            assert gone.index(entry.name) < gone.index(entry.parent)


@given(trees(), st.integers(0, 300), st.integers(0, 300), policies)
def test_a_lower_limit_evicts_the_same_ones_and_more(kept: list[Kept], lower: int, other: int, policy: Policy) -> None:
    fewer, more = victims(kept, max(lower, other), policy), victims(kept, min(lower, other), policy)
    assert more[: len(fewer)] == fewer


@given(trees(), st.integers(0, 300), policies)
def test_the_order_they_come_in_does_not_matter(kept: list[Kept], limit: int, policy: Policy) -> None:
    assert victims(kept, limit, policy) == victims(sorted(kept, key=lambda entry: entry.name), limit, policy)
