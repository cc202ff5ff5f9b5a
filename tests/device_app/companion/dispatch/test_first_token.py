"""The line fitted to the device's times to the first token: found in spite of noise and outliers, stored, never
negative.
"""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch.first_token import RECORDS, DeviceFirstToken


def test_before_the_first_measurement_it_is_the_priors_line() -> None:
    line = DeviceFirstToken.prior(rate=50, start=0.1)
    assert line(100) == pytest.approx(2.1)
    assert line.scenarios(4).tolist() == [1, 1, 1, 1]


def test_the_line_is_found_though_a_fifth_of_the_times_is_wild() -> None:
    chance = np.random.default_rng(0)
    line = DeviceFirstToken.prior(rate=1_000)
    for at in range(60):
        length = float(chance.integers(10, 400))
        line = line.observe(length, length / 40 + 0.2 + (5.0 if at % 5 == 0 else chance.normal(0, 0.01)))
    assert 1 / line.slope == pytest.approx(40, rel=0.03)
    assert line.start == pytest.approx(0.2, abs=0.1)
    assert line.scenarios(20)[-1] > 1.5


def test_a_device_that_became_slower_is_followed() -> None:
    line = DeviceFirstToken.prior(rate=100)
    for length in np.tile([20.0, 60.0, 140.0], RECORDS // 3):
        line = line.observe(length, length / 100)
    for length in np.tile([20.0, 60.0, 140.0], RECORDS // 3):
        line = line.observe(length, length / 25)
    assert 1 / line.slope == pytest.approx(25, rel=0.05)


def test_prompts_of_one_length_leave_the_slope_alone() -> None:
    line = DeviceFirstToken.prior(rate=100, start=0.0)
    for _ in range(10):
        line = line.observe(50, 0.9)
    assert line.slope == pytest.approx(0.01)
    assert line(50) == pytest.approx(0.9)


@given(st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e4)), max_size=20))
def test_no_measurements_make_it_negative_or_grow_without_end(seen: list[tuple[float, float]]) -> None:
    line = DeviceFirstToken.prior()
    for length, seconds in seen:
        line = line.observe(length, seconds)
    assert line(0) >= 0
    assert line(1_000) >= line(0)
    assert len(line.records) <= RECORDS
    assert DeviceFirstToken.prior().restored(json.loads(json.dumps(line.as_json()))) == line


@pytest.mark.parametrize(("length", "seconds"), [(-1, 1), (1, -1), (math.nan, 1), (1, math.inf)])
def test_what_is_no_measurement_is_refused(length: float, seconds: float) -> None:
    with pytest.raises(ValueError, match="first token"):
        DeviceFirstToken.prior().observe(length, seconds)


@pytest.mark.parametrize(
    "kept",
    [
        {},
        {"slope": 1, "start": "x", "records": []},
        {"slope": -1, "start": 0, "records": []},
        {"slope": 1, "start": 0, "records": [[1]]},
    ],
)
def test_what_was_kept_damaged_is_refused(kept: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="stored speed"):
        DeviceFirstToken.prior().restored(kept)
