"""Sampling is a pure function on logits: properties of the distribution, and of what is drawn from it."""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.sampling import SamplingSettings, distribution, likeliest, penalised, sample
from shared.errors import EngineError, UsageError

LOGITS = arrays(
    np.float32,
    st.integers(1, 60),
    elements=st.one_of(st.floats(-60, 60, width=32), st.just(float("-inf")), st.sampled_from([0.0, 1.0])),
).filter(lambda logits: bool(np.isfinite(logits).any()))
SETTINGS = st.builds(
    SamplingSettings,
    temperature=st.one_of(st.just(0.0), st.floats(1e-3, 5), st.just(1e-300)),
    top_k=st.integers(0, 70),
    top_p=st.floats(0, 1),
    min_p=st.floats(0, 1),
    repetition_penalty=st.floats(0.5, 2),
    seed=st.integers(0, 2**64 - 1),
)


@given(LOGITS, SETTINGS)
def test_probabilities_are_positive_sum_to_one_and_name_each_token_once(
    logits: Any, settings: SamplingSettings
) -> None:
    remaining = distribution(logits, settings)
    assert np.isclose(remaining.probabilities.sum(), 1, atol=1e-12)
    assert (remaining.probabilities > 0).all()
    assert (np.diff(remaining.tokens) > 0).all()
    assert remaining.tokens.shape == remaining.probabilities.shape


@given(LOGITS, SETTINGS)
def test_the_likeliest_token_is_never_cut(logits: Any, settings: SamplingSettings) -> None:
    remaining = distribution(logits, settings)
    likeliest = remaining.tokens[np.argmax(remaining.probabilities)]
    # Logits that differ by less give equal probabilities in single precision: of those the lowest ids stay.
    assert logits[likeliest] >= logits.max() - 1e-6 * max(1, settings.temperature)


@given(LOGITS, SETTINGS)
def test_no_token_that_is_left_is_less_likely_than_one_that_is_cut(logits: Any, settings: SamplingSettings) -> None:
    remaining = distribution(logits, settings)
    cut = np.setdiff1d(np.arange(len(logits)), remaining.tokens)
    assume(len(cut))
    assert logits[remaining.tokens].min() >= logits[cut].max() - 1e-6 * max(1, settings.temperature)


@given(LOGITS, SETTINGS)
def test_impossible_tokens_are_never_drawn(logits: Any, settings: SamplingSettings) -> None:
    assert np.isfinite(logits[sample(logits, settings)])


@given(LOGITS, st.integers(1, 70))
def test_top_k_leaves_at_most_k(logits: Any, count: int) -> None:
    assert len(distribution(logits, SamplingSettings(1.0, top_k=count)).tokens) <= count


@given(LOGITS, st.floats(0.01, 0.99))
def test_top_p_leaves_the_fewest_tokens_that_hold_the_share(logits: Any, share: float) -> None:
    everything = distribution(logits, SamplingSettings(1.0))
    kept = distribution(logits, SamplingSettings(1.0, top_p=share))
    held = everything.probabilities[np.isin(everything.tokens, kept.tokens)]
    assert held.sum() >= share - 1e-5
    assert held.sum() - held.min() < share + 1e-5


@given(LOGITS, st.floats(0.01, 1))
def test_min_p_cuts_tokens_under_its_share_of_the_likeliest(logits: Any, share: float) -> None:
    everything = distribution(logits, SamplingSettings(1.0))
    expected = everything.tokens[everything.probabilities >= share * everything.probabilities.max() * (1 - 1e-5)]
    assert set(distribution(logits, SamplingSettings(1.0, min_p=share)).tokens) <= set(expected)


@given(LOGITS, SETTINGS, st.lists(st.integers(0, 5), max_size=5))
def test_the_same_seed_at_the_same_place_draws_the_same_token(
    logits: Any, settings: SamplingSettings, drawn: list[int]
) -> None:
    drawn = [token % len(logits) for token in drawn]
    assert sample(logits, settings, drawn) == sample(logits.copy(), settings, tuple(drawn))


@given(LOGITS, st.randoms(use_true_random=False), st.floats(0.1, 3))
def test_renaming_the_tokens_renames_their_probabilities(logits: Any, random: Any, temperature: float) -> None:
    order = list(range(len(logits)))
    random.shuffle(order)
    settings = SamplingSettings(temperature)
    before, after = distribution(logits, settings), distribution(logits[order], settings)
    as_before = dict(zip(before.tokens.tolist(), before.probabilities, strict=True))
    for token, probability in zip(after.tokens.tolist(), after.probabilities, strict=True):
        assert np.isclose(as_before[order[token]], probability)


@given(LOGITS, st.integers(1, 70))
def test_no_token_is_likelier_than_one_that_comes_before_it(logits: Any, count: int) -> None:
    order = likeliest(logits, count)
    assert len(set(order)) == len(order) == min(count, len(logits))
    assert all((logits[settings], -settings) >= (logits[other], -other) for settings, other in pairwise(order))
    assert order[0] == sample(logits, SamplingSettings())


@given(LOGITS)
def test_temperature_0_takes_the_likeliest_whatever_the_seed(logits: Any) -> None:
    assert {sample(logits, SamplingSettings(seed=seed)) for seed in range(3)} == {int(np.argmax(logits))}


@given(st.integers(1, 60), st.integers(0, 60))
def test_equal_logits_are_all_as_likely_and_the_lowest_ids_win_a_border(size: int, top_k: int) -> None:
    remaining = distribution(np.zeros(size, np.float32), SamplingSettings(1.0, top_k=top_k))
    expected = min(top_k or size, size)
    assert remaining.tokens.tolist() == list(range(expected))
    assert np.allclose(remaining.probabilities, 1 / expected)


def test_many_seeds_draw_as_often_as_the_probabilities_say() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))
    drawn = Counter(sample(logits, SamplingSettings(1.0, seed=seed)) for seed in range(4000))
    assert np.allclose([drawn[token] / 4000 for token in range(4)], [0.5, 0.3, 0.15, 0.05], atol=0.03)


def test_each_place_in_a_text_has_its_own_chance() -> None:
    logits = np.zeros(1000, np.float32)
    settings = SamplingSettings(1.0, seed=7)
    assert len({sample(logits, settings, [0] * place) for place in range(50)}) > 40


def test_a_penalty_makes_used_tokens_less_likely_whatever_the_sign_of_their_logit() -> None:
    logits = np.array([2.0, -2.0, 1.0, float("-inf")], np.float32)
    changed = penalised(logits, SamplingSettings(repetition_penalty=2.0), [0, 1, 1, 3])
    assert changed.tolist() == [1.0, -4.0, 1.0, float("-inf")]
    assert logits.tolist() == [2.0, -2.0, 1.0, float("-inf")]


@pytest.mark.parametrize(
    "logits",
    [np.full(4, -np.inf), np.array([0.0, np.nan]), np.array([0.0, np.inf])],
    ids=["none possible", "not a number", "infinite"],
)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_unusable_logits_are_an_error(logits: Any, temperature: float) -> None:
    with pytest.raises(EngineError, match="doctor"):
        sample(logits.astype(np.float32), SamplingSettings(temperature))


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"top_k": -1},
        {"top_p": 1.1},
        {"min_p": -0.1},
        {"repetition_penalty": 0.0},
        {"seed": -1},
        {"seed": 2**64},
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        SamplingSettings(**wrong)
