"""What is prefetched: never more than the budget, the nearest clusters first; and how generation times are learned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.retrieval.lookahead import GenerationTimes, budget, exponential_mean, within_budget


@pytest.mark.parametrize(
    ("question", "rate", "seconds", "memory", "expected"),
    [
        (100, 1000.0, None, 10_000, (200, 200)),  # nothing is known: the question ends it
        (100, 1000.0, 5.0, 10_000, (200, 200)),
        (100, 1000.0, 0.05, 10_000, (200, 50)),
        (100, 1000.0, 0.0, 10_000, (200, 0)),  # who asks at once has no use for it
        (100, 1000.0, 5.0, 120, (120, 120)),
    ],
)
def test_budgets(question: int, rate: float, seconds: float | None, memory: int, expected: tuple[int, int]) -> None:
    assert budget(question, rate, seconds, memory) == expected


@given(
    sizes=st.lists(st.integers(1, 50), max_size=20),
    ready=st.sets(st.integers(0, 19)),
    most=st.integers(0, 300),
    read=st.integers(0, 300),
)
def test_the_nearest_are_chosen_as_far_as_the_budget_goes(
    sizes: list[int], ready: set[int], most: int, read: int
) -> None:
    chosen = within_budget(range(len(sizes)), sizes.__getitem__, ready.__contains__, most, read)
    assert chosen == list(range(len(chosen)))
    for count in (len(chosen), len(chosen) + 1):
        is_within = (
            sum(sizes[:count]) <= most
            and sum(size for cluster, size in enumerate(sizes[:count]) if cluster not in ready) <= read
        )
        assert is_within == (count == len(chosen)) or count > len(sizes)


def test_generation_times_are_learned_by_pipeline_and_follow_changes() -> None:
    times = GenerationTimes()
    assert times.mean("hyde") is None
    times.learn("hyde", 2.0, is_refined=False)
    times.learn("flare", 0.5, is_refined=True)
    assert (times.mean("hyde"), times.mean("flare")) == (2.0, 0.5)
    assert not times.is_refined("hyde")
    assert times.is_refined("flare")
    for _ in range(30):
        times.learn("hyde", 1.0, is_refined=True)
    assert times.mean("hyde") == pytest.approx(1.0, abs=0.01)
    assert times.is_refined("hyde")


@given(st.floats(0, 100), st.lists(st.floats(0, 100), max_size=20))
def test_a_mean_stays_between_what_was_seen(first: float, values: list[float]) -> None:
    mean = first
    for value in values:
        mean = exponential_mean(mean, value)
    assert min([first, *values]) - 1e-9 <= mean <= max([first, *values]) + 1e-9
