"""The weights of device's and server's passages in a joint answer."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.aggregation.weights import (
    MOST_LOG,
    basis,
    checked,
    device_share,
    log_weight,
    row_similarities,
    row_weights,
    similarities_to_text,
)
from shared.errors import ProtocolError

logs = st.one_of(st.just(-math.inf), st.floats(-MOST_LOG, MOST_LOG))


def test_log_h_is_the_log_of_the_sum() -> None:
    assert log_weight([0.5, 0.4, 0.1]) == pytest.approx(math.log(math.exp(10) + math.exp(8) + math.exp(2)))
    assert log_weight([45.0]) == pytest.approx(900)  # exp(900) is no float
    assert log_weight([]) == -math.inf


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
        log_weight(scores)


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


@pytest.mark.parametrize(
    ("every", "positions"),
    [
        (0, {0: 0, 7: 0, 10_000: 0}),
        (1, {0: 0, 1: 0, 2: 1, 3: 2, 9: 8}),
        (8, {0: 0, 15: 0, 16: 8, 23: 8, 24: 16, 31: 16}),
        (32, {63: 0, 64: 32, 95: 32, 96: 64}),
    ],
)
def test_weights_take_effect_one_distance_after_their_text(every: int, positions: dict[int, int]) -> None:
    assert {position: basis(position, every) for position in positions} == positions


@given(st.integers(0, 5000), st.integers(1, 600))
def test_there_is_always_a_whole_distance_to_compute_new_weights(position: int, every: int) -> None:
    count = basis(position, every)
    assert count % every == 0
    assert count <= max(position - every, 0)
    assert basis(position, every) <= basis(position + 1, every)


def unit(numbers: list[float]) -> np.ndarray:
    vector = np.array(numbers, np.float32)
    length = np.linalg.norm(vector)
    return vector / length if length > 1e-3 else np.array([1, 0, 0], np.float32)


directions = st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3).map(unit)


@given(directions, directions, st.lists(directions, min_size=1, max_size=5))
def test_passages_are_weighed_by_question_and_text_and_weights_sum_to_one(
    question: np.ndarray, text: np.ndarray, passages: list[np.ndarray]
) -> None:
    each = similarities_to_text(question, text, np.stack(passages))
    assert all(-1.001 <= similarity <= 1.001 for similarity in each)
    assert np.exp(row_weights(each)).sum() == pytest.approx(1, rel=1e-4)
    alone = (np.stack(passages) @ question).tolist()
    assert similarities_to_text(question, question, np.stack(passages)) == pytest.approx(alone, abs=1e-5)
    assert similarities_to_text(question, -question, np.stack(passages)) == pytest.approx(alone, abs=1e-5)
