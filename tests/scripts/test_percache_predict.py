"""The benchmark of predicted questions: how it evaluates the predictions for each simulated user."""

from itertools import combinations
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.benchmarks.percache_predict import Served, _figures

PERSONS = [
    {"prompt": Served([0, 1], 1, 4, 900), "questioner": Served([2, 1], 0, 2, 300)},
    {"prompt": Served([0, 0, 3], 0, 3, 100), "questioner": Served([1, 0, 0], 0, 6, 200)},
]


@given(st.integers(0, 7), st.data())
def test_kept_by_chance_as_many_are_served_as_are_on_average_of_all_ways_to_keep_so_many(
    questions: int, data: st.DataObject
) -> None:
    serving = data.draw(st.lists(st.integers(0, questions), max_size=3))
    kept = data.draw(st.integers(0, questions))
    ways = list(combinations(range(questions), kept))
    served = [sum(any(place < count for place in way) for count in serving) for way in ways]
    assert Served(serving, 0, questions, 0).of(kept) == pytest.approx(mean(served))


def test_figures_are_of_all_that_the_persons_asked() -> None:
    prompt = _figures(PERSONS)["prompt"]
    assert (prompt["qa_hit"], prompt["false_hit"], prompt["asked"]) == (0.4, 0.2, 5)
    assert (prompt["questions"], prompt["population_tokens"]) == (7, 1000)


def test_as_many_are_compared_as_the_predictor_kept_that_kept_the_fewest_of_each_person() -> None:
    figures_ = _figures(PERSONS)
    assert figures_["prompt"]["qa_hit_of_as_many"] == 0.3  # (1/2 + 1) of 5: two of the first person's four are kept
    assert figures_["questioner"]["qa_hit_of_as_many"] == 0.5  # (2 + 1/2) of 5: three of the second's six are kept
