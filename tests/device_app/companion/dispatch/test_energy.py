"""Joules per GFLOP from a battery that counts in steps, beside a person whose screen and programs draw too."""

import json
import random
from dataclasses import replace
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch.energy import (
    LEAST_STEPS,
    MOST_S,
    MOVE,
    RANGE,
    Energy,
    Stretch,
    between,
)
from device_app.system.battery import Battery, Reading

PRIOR = 0.1
ANY = st.builds(Stretch, st.floats(60, MOST_S), st.floats(0, 1e6), st.floats(0, 1e5), st.floats(0, 1e4))


def day(truth: float, idle: float, step: float, answers: int, seed: int) -> Energy:
    """Return the estimate after a day of answers, 20 s to 4 min apart, by a model that takes 3 GFLOP per token."""
    chance = random.Random(seed)
    known, at, drawn, computed, now = Energy(), 0.0, 0.0, 0.0, idle
    looked: tuple[Reading, float] | None = None
    for _ in range(answers):
        seconds, gflops = chance.uniform(20, 240), 3 * chance.uniform(50, 1500)
        now = min(max(now + chance.gauss(0, 0.7), idle - 2), idle + 2)
        at, drawn, computed = at + seconds, drawn + now * seconds + truth * gflops, computed + gflops
        read = Reading(at, 0.0, (Battery("BAT0", (2e6 - drawn) // step * step, step),))
        if looked:
            stretch = between(looked[0], read, computed - looked[1])
            if stretch and not stretch.tells:
                continue
            known = known.after(stretch, PRIOR) if stretch else known
        looked = read, computed
    return known


@pytest.mark.parametrize("step", [0.001, 36.0])
@pytest.mark.parametrize("idle", [2.5, 6.0, 15.0])
@pytest.mark.parametrize("truth", [0.1, 0.3, 0.6])
def test_it_finds_what_the_device_takes(truth: float, idle: float, step: float) -> None:
    for seed in range(3):
        estimate = day(truth, idle, step, 400, seed).estimate(PRIOR)
        assert estimate.joules_per_gflop == pytest.approx(truth, rel=0.15)
        assert estimate.measured > 0.9


@pytest.mark.parametrize(("truth", "step"), [(0.05, 36.0), (0.05, 180.0), (0.1, 180.0)])
def test_what_drowns_in_the_rest_is_found_without_bias(truth: float, step: float) -> None:
    estimate = [day(truth, 6.0, step, 400, seed).estimate(PRIOR).joules_per_gflop for seed in range(12)]
    assert mean(estimate) == pytest.approx(truth, rel=0.15)
    assert all(truth / 2 < hit < truth * 2 for hit in estimate)


@given(st.lists(ANY, max_size=60), st.floats(0.001, 1000))
def test_whatever_is_read_it_stays_near_the_setting_and_moves_slowly(stretches: list[Stretch], prior: float) -> None:
    known = Energy()
    before = known.estimate(prior)
    assert (before.joules_per_gflop, before.measured) == (prior, 0)
    for stretch in stretches:
        known = known.after(stretch, prior)
        estimate = known.estimate(prior)
        assert prior / RANGE <= estimate.joules_per_gflop <= prior * RANGE
        assert 1 / MOVE / 1.0001 <= estimate.joules_per_gflop / before.joules_per_gflop <= MOVE * 1.0001
        assert 0 <= estimate.measured <= 1
        before = estimate
        assert Energy.restored(json.loads(json.dumps(known.as_json()))) == known


@given(st.lists(ANY, max_size=10), st.floats(0.001, 1000), st.floats(0.001, 1000))
def test_another_setting_takes_the_estimate_along(stretches: list[Stretch], prior: float, later: float) -> None:
    known = Energy()
    for stretch in stretches:
        known = known.after(stretch, prior)
    assert later / RANGE <= known.estimate(later).joules_per_gflop <= later * RANGE


@given(ANY, st.sampled_from([0.0, 1e-300]))
def test_energy_that_is_nothing_by_the_setting_stays_nothing(stretch: Stretch, prior: float) -> None:
    known = Energy().after(stretch, PRIOR)
    assert known.after(stretch, prior) == known
    assert known.estimate(prior).joules_per_gflop == prior


def test_a_day_without_answers_teaches_nothing_of_them() -> None:
    known = Energy()
    for _ in range(500):
        known = known.after(Stretch(300, 0, 3000, 36), PRIOR)
    assert known.estimate(PRIOR).joules_per_gflop == pytest.approx(PRIOR)
    assert known.estimate(PRIOR).measured < 0.01


READ = Reading(100.0, 50.0, (Battery("BAT0", 1e5, 36.0), Battery("BAT1", 1e4, 3.6, volts=12.0)))


def later(seconds: float, joules: float, asleep: float = 0.0) -> Reading:
    first, second = READ.batteries
    return Reading(100 + seconds, 50 + asleep, (replace(first, left=first.left - joules), second))


@pytest.mark.parametrize(
    ("after", "gflops"),
    [
        pytest.param(later(0, 100), 1, id="no time"),
        pytest.param(later(-5, 100), 1, id="the clock went back"),
        pytest.param(later(MOST_S + 1, 9000), 1, id="too long"),
        pytest.param(later(100, -100), 1, id="it was charged meanwhile"),
        pytest.param(later(100, 1000, asleep=2), 1, id="it was suspended meanwhile"),
        pytest.param(later(100, 50_000), 1, id="no device draws so much"),
        pytest.param(later(100, float("nan")), 1, id="no number"),
        pytest.param(later(100, 1000), -1, id="another engine counts"),
        pytest.param(replace(later(100, 1000), batteries=READ.batteries[:1]), 1, id="a battery went"),
        pytest.param(replace(later(100, 1000), batteries=READ.batteries[::-1]), 1, id="others"),
    ],
)
def test_nothing_follows_from(after: Reading, gflops: float) -> None:
    assert between(READ, after, gflops) is None


def test_batteries_are_added_up_at_the_volts_they_had() -> None:
    first, second = later(100, 1000).batteries
    after = Reading(200, 50, (first, replace(second, left=1e4 - 20, volts=11.0)))
    assert between(READ, after, 7) == Stretch(100, 7, 1000 + 20 * 11.5, 36 + 3.6 * 12)


def test_a_stretch_goes_on_until_rounding_is_small() -> None:
    stretches = [
        Stretch(seconds, 1, 36 * steps, 36).tells for seconds, steps in ((59, 50), (61, LEAST_STEPS - 1), (61, 5))
    ]
    assert stretches == [False, False, True]


@pytest.mark.parametrize(
    "damage",
    [
        *(
            {"sums": sums}
            for sums in ((1, 2), (-1, 0, 0, 0, 0), (1, 9, 1, 0, 0), (1, 0, float("nan"), 0, 0), 5, "12345x")
        ),
        *({"held": held} for held in (0.0, -1, float("inf"), None)),
        *({"count": count} for count in (-1, "x")),
    ],
)
def test_what_was_kept_damaged_is_refused(damage: dict[str, object]) -> None:
    kept = Energy().after(Stretch(100, 50, 1000, 36), PRIOR).as_json()
    with pytest.raises(ValueError, match="the stored energy estimate"):
        Energy.restored(kept | damage)
    with pytest.raises(ValueError, match="the stored energy estimate"):
        Energy.restored({name: entry for name, entry in kept.items() if name not in damage})
