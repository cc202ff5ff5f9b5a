"""The threshold of the log odds above which the model abstains, which depends on how likely the passages are
relevant.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.abstention import AbstentionThreshold, log_odds

THRESHOLD = AbstentionThreshold(intercept=-3.0, slope=0.5)


@pytest.mark.parametrize(
    ("relevance", "expected"),
    [(0.5, -3.0), (0.9, -3 + 0.5 * math.log(9)), (0.1, -3 - 0.5 * math.log(9)), (1.0, -0.5), (0.0, -5.5)],
)
def test_the_threshold_is_a_line_over_the_log_odds_of_relevance_with_two_ends(
    relevance: float, expected: float
) -> None:
    assert THRESHOLD.at(relevance) == pytest.approx(expected)


@given(st.floats(0, 1), st.floats(0, 1))
def test_where_more_was_found_the_model_has_to_be_surer(relevance: float, other: float) -> None:
    lower, higher = sorted((relevance, other))
    assert THRESHOLD.at(lower) <= THRESHOLD.at(higher)


@given(st.floats(-13, 13))
def test_log_odds_are_those_of_the_probability(odds: float) -> None:
    assert log_odds(-math.log1p(math.exp(-odds))) == pytest.approx(odds, abs=1e-6)


@pytest.mark.parametrize(("log_probability", "expected"), [(0.0, 14.0), (1e-9, 14.0), (-1e-30, 14.0), (-99.0, -14.0)])
def test_log_odds_have_an_end(log_probability: float, expected: float) -> None:
    assert log_odds(log_probability) == expected
