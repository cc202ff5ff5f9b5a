"""The distribution of times with decay and censoring: it agrees with Kaplan-Meier, and is sensible without data."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch.distribution import BINS, Distribution, token_shares

TIMES = Distribution.prior(unit=0.001, median=0.6, spread=0.8, half_life=1e9)
"""A distribution with almost no decay, so that it can be compared with plain statistics."""

seconds = st.floats(0, 500)


def test_before_anything_was_seen_the_prior_speaks() -> None:
    assert TIMES.quantile(0.5) == pytest.approx(0.6, rel=0.05)
    assert TIMES.survival[0] == 1
    assert TIMES.weight == 0


def test_quantiles_are_those_of_what_was_seen() -> None:
    seen = np.random.default_rng(1).lognormal(-0.7, 0.6, 20_000)
    learned = TIMES.observe_all(seen)
    for share in (0.05, 0.5, 0.95, 0.99):
        assert learned.quantile(share) == pytest.approx(np.quantile(seen, share), rel=0.04)
    assert learned.mean() == pytest.approx(seen.mean(), rel=0.02)


def test_what_was_cut_off_counts_as_longer_not_as_an_answer() -> None:
    """If the limits of waiting are independent of the times, Kaplan and Meier's estimate recovers the times'
    distribution.
    """
    chance = np.random.default_rng(2)
    times, patience = chance.lognormal(-0.7, 0.6, 40_000), chance.uniform(0.1, 1.2, 40_000)
    learned = TIMES.observe_all(np.minimum(times, patience), times > patience)
    naive = np.minimum(times, patience)[times <= patience]
    assert learned.quantile(0.75) == pytest.approx(np.quantile(times, 0.75), rel=0.05)
    assert np.quantile(naive, 0.75) < 0.8 * np.quantile(times, 0.75)


def test_kaplan_and_meiers_own_table() -> None:
    """Six at risk, one event at 1; two cut off at 2; of three left, one event at 3: S = 5/6 · 2/3."""
    days = Distribution.prior(unit=1.0, median=3.0, spread=0.5, half_life=1e9)
    many = days.observe_all(np.repeat([1.0, 2.0, 2.0, 3.0, 5.0, 5.0], 5_000), np.repeat([0, 1, 1, 0, 0, 0], 5_000))
    assert float(np.interp(2, many.edges, many.survival)) == pytest.approx(5 / 6, abs=0.01)
    assert float(np.interp(4, many.edges, many.survival)) == pytest.approx(5 / 9, abs=0.01)


def test_nothing_but_cut_off_times_still_has_quantiles() -> None:
    learned = TIMES.observe_all(np.full(300, 2.0), np.ones(300))
    assert 2.0 <= learned.quantile(0.95) < math.inf
    assert float(np.interp(1.9, learned.edges, learned.survival)) > 0.98


def test_old_observations_fade() -> None:
    fading = Distribution.prior(unit=0.001, median=0.6, spread=0.8, half_life=50)
    learned = fading.observe_all(np.full(1_000, 0.2)).observe_all(np.full(200, 3.0))
    assert learned.quantile(0.5) == pytest.approx(3.0, rel=0.05)
    assert learned.weight == pytest.approx(1 / (1 - 0.5 ** (1 / 50)), rel=0.01)


@given(st.lists(st.tuples(seconds, st.booleans()), max_size=40))
def test_one_by_one_and_all_at_once_are_the_same(seen: list[tuple[float, bool]]) -> None:
    one_by_one = prior = Distribution.prior(unit=0.001, median=0.6, spread=0.8, half_life=10)
    for value, cut in seen:
        one_by_one = one_by_one.observe(value, censored=cut)
    at_once = prior.observe_all([value for value, _ in seen], [cut for _, cut in seen])
    # A value a hair's breadth from an edge may round to the bin beside it.
    assert np.cumsum(at_once.events + at_once.censored) == pytest.approx(
        np.cumsum(one_by_one.events + one_by_one.censored), abs=1 + 1e-9
    )
    assert at_once.weight == pytest.approx(one_by_one.weight)


@given(st.lists(st.tuples(seconds, st.booleans()), max_size=40))
def test_it_is_always_a_distribution(seen: list[tuple[float, bool]]) -> None:
    learned = TIMES.observe_all([value for value, _ in seen], [cut for _, cut in seen])
    assert learned.survival[0] == 1
    assert learned.survival[-1] == 0
    assert (np.diff(learned.survival) <= 1e-12).all()
    shares = np.linspace(0, 1, 21)
    assert (np.diff(learned.quantiles(shares)) >= 0).all()
    for share in (0.1, 0.5, 0.9):
        left = float(np.interp(learned.quantile(share), learned.edges, learned.survival))
        assert left == pytest.approx(1 - share, abs=1e-6)


@given(st.floats(0, 1e6))
def test_a_value_lies_in_its_bin(value: float) -> None:
    lengths = Distribution.prior(unit=1.0, median=100, spread=0.8, half_life=10)
    at = lengths.bin(value)
    assert lengths.edges[at] <= value < lengths.edges[at + 1]


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_what_is_no_time_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        TIMES.observe(value)
    with pytest.raises(ValueError, match="finite"):
        TIMES.observe_all([1.0, value])


def test_times_beyond_any_bin_are_kept_in_the_last() -> None:
    assert TIMES.observe(1e12).events[BINS - 1] == 1


def test_what_is_left_of_an_answer_depends_on_what_is_written() -> None:
    answers = Distribution.prior(unit=1.0, median=100, spread=0.8, half_life=1e9)
    learned = answers.observe_all(np.repeat([20.0, 200.0], 2_000))
    assert learned.remaining(0) == pytest.approx(110, rel=0.03)
    assert learned.remaining(30) == pytest.approx(170, rel=0.03)
    assert learned.remaining(30, most=128) == pytest.approx(98, rel=0.02)
    assert learned.remaining(128, most=128) == 0


def test_answers_cut_at_their_limit_count_as_longer() -> None:
    answers = Distribution.prior(unit=1.0, median=100, spread=0.8, half_life=1e9)
    learned = answers.observe_all(np.repeat([20.0, 128.0], 500), np.repeat([False, True], 500))
    assert learned.remaining(40, most=128) == pytest.approx(88, rel=0.03)


def test_it_survives_being_kept() -> None:
    learned = TIMES.observe_all([0.2, 0.4, 7.0], [False, True, False])
    back = TIMES.restored(json.loads(json.dumps(learned.as_json())))
    assert back.survival == pytest.approx(learned.survival)


@pytest.mark.parametrize(
    "kept",
    [
        {},
        {"unit": 1.0, "events": {}, "censored": {}},
        {"unit": 0.001, "events": {"3": -1}, "censored": {}},
        {"unit": 0.001, "events": {"3": math.nan}, "censored": {}},
        {"unit": 0.001, "events": {"99999": 1}, "censored": {}},
        {"unit": 0.001, "events": {"-1": 1}, "censored": {}},
        {"unit": 0.001, "events": {"x": 1}, "censored": {}},
        {"unit": 0.001, "events": [1, 2], "censored": {}},
        {"unit": 0.001, "events": {"1": "2"}, "censored": {}},
    ],
)
def test_what_was_kept_damaged_is_refused(kept: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        TIMES.restored(kept)


def test_token_shares_weigh_prompts_by_their_length() -> None:
    prompts = Distribution.prior(unit=1.0, median=100, spread=0.8, half_life=1e9).observe_all(
        np.repeat([10.0, 90.0], 50_000)
    )
    assert token_shares(prompts)[prompts.bin(50)] == pytest.approx(0.1, abs=0.01)
