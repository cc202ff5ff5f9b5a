"""What each side's passages weigh."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.aggregation.weights import MOST_LOG, checked, device_share, log_weight, row_similarities, row_weights
from shared.errors import ProtocolError

logs = st.one_of(st.just(-math.inf), st.floats(-MOST_LOG, MOST_LOG))


def test_log_h_is_the_log_of_the_sum() -> None:
    assert log_weight([0.5, 0.4, 0.1], 0.05) == pytest.approx(math.log(math.exp(10) + math.exp(8) + math.exp(2)))
    assert log_weight([0.9], 0.001) == pytest.approx(900)  # exp(900) is no float
    assert log_weight([], 0.05) == -math.inf


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=16), st.integers(1, 16))
def test_a_row_weighs_as_much_as_its_passages(similarities: list[float], rows: int) -> None:
    each = row_similarities(similarities, rows)
    assert log_weight(each) == pytest.approx(log_weight(similarities))
    assert sum(map(math.exp, row_weights(each))) == pytest.approx(1, rel=1e-5)
    assert row_similarities(similarities, len(similarities)) == pytest.approx(similarities)


def test_without_passages_there_is_one_row() -> None:
    assert row_weights(row_similarities([], 4)).tolist() == [0.0]


@pytest.mark.parametrize("scores", [[math.nan], [math.inf], [0.5, -math.inf]])
def test_scores_that_are_no_numbers_are_refused(scores: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        log_weight(scores, 0.05)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_a_temperature_that_means_nothing_is_refused(temperature: float) -> None:
    with pytest.raises(ValueError, match="temperature"):
        log_weight([0.5], temperature)


@pytest.mark.parametrize("log_h", [math.nan, math.inf, 1e9, -1e9])
def test_a_peers_weight_that_is_no_weight_is_refused(log_h: float) -> None:
    with pytest.raises(ProtocolError):
        checked(log_h)


@pytest.mark.parametrize(
    ("device", "server", "share"),
    [
        (0.0, 0.0, 0.5),
        (math.log(3), 0.0, 0.75),
        (0.0, -math.inf, 1.0),
        (-math.inf, 0.0, 0.0),
        (-math.inf, -math.inf, 1.0),
        (MOST_LOG, -MOST_LOG, 1.0),
        (-MOST_LOG, MOST_LOG, 0.0),
    ],
)
def test_shares(device: float, server: float, share: float) -> None:
    assert device_share(device, server) == pytest.approx(share)


@given(logs, logs)
def test_both_shares_are_probabilities_and_sum_to_one(device: float, server: float) -> None:
    share = device_share(device, server)
    assert 0 <= share <= 1
    if (device, server) != (-math.inf, -math.inf):
        assert share + device_share(server, device) == pytest.approx(1)
