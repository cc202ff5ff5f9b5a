"""Learning the latencies and acceptance rates of joint answers."""

import math

import numpy as np
import pytest

from shared.aggregation.profiler import Acceptance, Latency, Transmission


def test_a_line_is_found_through_noise_and_outliers() -> None:
    draw = np.random.Generator(np.random.Philox(1))
    line = Latency()
    for position in range(100, 400):
        seconds = 0.02 + 1e-4 * position + draw.normal() * 0.002
        line = line.observe(position, max(seconds, 0.0) * (20 if position % 50 == 0 else 1))
    assert line(400) == pytest.approx(0.06, rel=0.15)
    assert line.k > 0


def test_one_step_is_believed_at_once_and_one_position_tells_no_slope() -> None:
    line = Latency(b=0.5).observe(10, 0.04)
    assert line(11) == pytest.approx(0.04)
    for _ in range(10):
        line = line.observe(10, 0.04)
    assert line(5000) == pytest.approx(0.04)


def test_steps_that_get_cheaper_are_no_law() -> None:
    line = Latency()
    for position in range(20):
        line = line.observe(position, 0.1 - 0.004 * position)
    assert line.k == 0
    assert line(10_000) > 0


def test_a_machine_that_got_slower_is_noticed_within_some_tokens() -> None:
    line = Latency()
    for position in range(200):
        line = line.observe(position, 0.01 if position < 100 else 0.03)
    assert line(200) > 0.02


def test_round_trips_are_smoothed() -> None:
    way = Transmission().observe(0.3)
    assert way.rtt == 0.3
    assert way.observe(9.0).rtt < 0.5
    for _ in range(60):
        way = way.observe(0.05)
    assert way.rtt == pytest.approx(0.05, rel=0.01)


def test_acceptance_begins_with_a_prior_and_forgets_slowly() -> None:
    known = Acceptance()
    assert known.rate == pytest.approx(0.8)
    assert known.observe(0, 0) == known
    low = known
    for _ in range(400):
        low = low.observe(0, 1)
    assert low.rate < 0.05
    for _ in range(256):
        low = low.observe(1, 1)
    assert low.rate > 0.4


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_what_is_no_measurement_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="step cannot take"):
        Latency().observe(1, wrong)
    with pytest.raises(ValueError, match="step cannot take"):
        Latency().observe(wrong, 1)
    with pytest.raises(ValueError, match="round trip cannot take"):
        Transmission().observe(wrong)
    with pytest.raises(ValueError, match="cannot have been accepted"):
        Acceptance().observe(2, 1)
