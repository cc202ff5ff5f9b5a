"""The rules of joint answers: the final token follows the mixture of device's and server's distributions, whatever the
rule, truncation and weights.
"""

import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.aggregation import rules
from shared.aggregation.distribution import TOTAL, Quantised, Top, quantise, top
from shared.aggregation.messages import Draft
from shared.aggregation.noise import Stream, Uniforms, uniforms
from tests.shared.aggregation.goodness import excess, power

DRAWS = 500_000
TOKENS = 12

Counts = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]


def sides(seed: int, kept: tuple[int, int], distance: float = 1.0) -> tuple[Counts, Counts]:
    """Return two different distributions over the same tokens, each truncated to its likeliest tokens (`kept` gives
    both numbers) and quantised; shapes (TOKENS,).
    """
    draw = np.random.Generator(np.random.Philox(seed))
    base = draw.normal(size=TOKENS) * 1.5
    results = []
    for count in kept:
        whole = np.exp(base + draw.normal(size=TOKENS) * distance)
        ids = np.sort(np.argsort(-whole)[:count])
        held = quantise(ids, whole[ids])
        dense = np.zeros(TOKENS, np.int64)
        dense[held.ids] = held.counts
        results.append(dense)
    return results[0], results[1]


DISJOINT = (np.array([TOTAL - 9, 9] + [0] * 10), np.array([0] * 10 + [9, TOTAL - 9]))

CASES = [
    pytest.param(sides(1, (12, 12)), 0.5, id="untruncated"),
    pytest.param(sides(2, (5, 9)), 0.3, id="truncated differently"),
    pytest.param(sides(3, (3, 3), distance=2.0), 0.8, id="far apart"),
    pytest.param(sides(4, (12, 1)), 0.5, id="one side is certain"),
    pytest.param(DISJOINT, 0.5, id="nothing in common"),
    pytest.param(sides(5, (6, 6), distance=0.0), 0.5, id="the same on both sides"),
    pytest.param(sides(6, (6, 6)), 1.0, id="the device alone counts"),
    pytest.param(sides(6, (6, 6)), 0.0, id="the server alone counts"),
]


@cache
def chances(seed: int, *shape: int) -> Uniforms:
    return (np.random.Philox(seed).random_raw(shape) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def drawn(counts: Counts, noise: Uniforms) -> Places:
    ids = np.flatnonzero(counts)
    return ids[rules.raced(counts[ids], noise[:, ids])]


def coupled(device: Counts, server: Counts, share: float, seed: int) -> tuple[Places, Places, Places]:
    """Return final tokens and both sides' drafts by the coupled rule: both sides draw their drafts with the same random
    numbers.
    """
    noise, coin = chances(seed, DRAWS, len(device)), chances(seed + 1, DRAWS)
    from_device, from_server = drawn(device, noise), drawn(server, noise)
    return np.where(coin < share, from_device, from_server), from_device, from_server


def independent(device: Counts, server: Counts, share: float, seed: int) -> tuple[Places, Places, Places]:
    """Return final tokens and both sides' drafts by DRAGON's Algorithm 1, in which both sides draw independently."""
    from_device, from_server = (
        drawn(device, chances(seed, DRAWS, len(device))),
        drawn(server, chances(seed + 1, DRAWS, len(device))),
    )
    verdicts = chances(seed + 2, DRAWS, rules.VERDICTS)
    return rules.verdict(from_device, from_server, device, server, share, verdicts), from_device, from_server


def lopsided(device: Counts, server: Counts, share: float, seed: int) -> tuple[Places, Places, Places]:
    """A wrong rule: the coin that chooses the side is one of the random numbers that the drafts were drawn with."""
    noise = chances(seed, DRAWS, len(device))
    from_device, from_server = drawn(device, noise), drawn(server, noise)
    return np.where(noise[:, 0] < share, from_device, from_server), from_device, from_server


def truncated_late(device: Counts, server: Counts, share: float, seed: int) -> tuple[Places, Places, Places]:
    """A wrong rule, the one published: the server's distribution is truncated only after its draft was drawn, the
    device's not at all.
    """
    from_device, from_server = (
        drawn(device, chances(seed, DRAWS, len(device))),
        drawn(server, chances(seed + 1, DRAWS, len(device))),
    )
    kept = np.sort(np.argsort(-server)[:4])
    sent = quantise(kept, server[kept])
    dense = np.zeros(TOKENS, np.int64)
    dense[sent.ids] = sent.counts
    verdicts = chances(seed + 2, DRAWS, rules.VERDICTS)
    return rules.verdict(from_device, from_server, device, dense, share, verdicts), from_device, from_server


Rule = Callable[[Counts, Counts, float, int], tuple[Places, Places, Places]]


@pytest.mark.parametrize("rule", [coupled, independent])
@pytest.mark.parametrize(("both", "share"), CASES)
def test_the_token_follows_the_mixture(rule: Rule, both: tuple[Counts, Counts], share: float) -> None:
    """A G-test at level 1e-5 on half a million draws per case: it detects a total variation of .0065 with probability
    98% (next test).
    """
    device, server = both
    emitted, from_device, from_server = rule(device, server, share, 11)
    assert excess(emitted, (share * device + (1 - share) * server) / TOTAL) < 1
    assert excess(from_device, device / TOTAL) < 1
    assert excess(from_server, server / TOTAL) < 1


def test_what_the_test_would_catch() -> None:
    """The power of the G-test above for the largest number of outcomes; with fewer outcomes, it is higher."""
    assert power(0.0065, DRAWS, TOKENS - 1) > 0.98
    assert power(0.0, DRAWS, TOKENS - 1) < 1e-4


@pytest.mark.parametrize("wrong", [lopsided, truncated_late])
def test_wrong_rules_are_caught(wrong: Rule) -> None:
    device, server = sides(1, (12, 12))
    emitted, _, _ = wrong(device, server, 0.5, 11)
    assert excess(emitted, (device + server) / (2 * TOTAL)) > 10


def test_an_exact_step_of_the_mixture_is_no_coincidence_of_streams() -> None:
    """The real random numbers, derived from seed and position: 10,000 positions through `draft` and `author`.

    A total variation of .047 would be detected with probability 98%.
    """
    device, server = sides(7, (6, 6))
    held = [
        Quantised(np.flatnonzero(distribution), distribution[distribution > 0]) for distribution in (device, server)
    ]
    emitted, expected = [], (0.4 * device + 0.6 * server) / TOTAL
    for seed in range(10):
        for position in range(1000):
            side = rules.author(seed, position, 0.4)
            own = held[0] if side == "device" else held[1]
            emitted.append(rules.draft("coupled", side, seed, position, own.ids, own.counts))
    assert excess(emitted, expected) < 1
    assert excess([a * TOKENS + b for a, b in pairwise(emitted)], np.outer(expected, expected).ravel()) < 1
    assert power(0.047, 10_000, TOKENS - 1) > 0.98


def test_the_scalar_of_algorithm_1_is_what_was_tested() -> None:
    device, server = sides(2, (5, 9))
    first, second = (
        Quantised(np.flatnonzero(distribution), distribution[distribution > 0]) for distribution in (device, server)
    )
    for position in range(2000):
        draft = rules.draft("algorithm1", "device", 3, position, first.ids, first.counts)
        two = rules.draft("algorithm1", "server", 3, position, second.ids, second.counts)
        token = rules.algorithm1(3, position, (draft, first), (two, second), 0.3)
        (expected,) = rules.verdict(
            np.array([draft]),
            np.array([two]),
            device,
            server,
            0.3,
            uniforms(3, position, Stream.VERDICT, 4)[np.newaxis],
        )
        assert token == expected


def test_the_drafts_of_algorithm_1_are_independent_and_coupled_ones_are_not() -> None:
    ids, counts = np.arange(4), np.full(4, 100)
    for rule, agreeing in (("algorithm1", 500), ("coupled", 2000)):
        drafts = [[rules.draft(rule, side, 1, at, ids, counts) for at in range(2000)] for side in ("device", "server")]  # type: ignore[arg-type]
        assert sum(draft == two for draft, two in zip(*drafts, strict=True)) == pytest.approx(agreeing, abs=100)


def so_far_apart(delta: float, sharp: float) -> tuple[Counts, Counts]:
    """Return two distributions over 40 tokens whose total variation δ = 1 - Σ min(p, q) is `delta`; `sharp` says how
    peaked they are.
    """
    draw = np.random.Generator(np.random.Philox(5))
    base, *moves = draw.normal(size=(3, 40)) * [[sharp], [1], [1]]
    sizes = np.linspace(0.1, 2.0, 400)
    exact_probabilities = [
        tuple(quantise(np.arange(40), np.exp(base + move * size)) for move in moves) for size in sizes
    ]
    dense = [
        tuple(np.array([draws.count(token) for token in range(40)]) for draws in pair) for pair in exact_probabilities
    ]
    device, server = min(dense, key=lambda pair: abs(1 - np.minimum(*pair).sum() / TOTAL - delta))
    return device, server


@pytest.mark.parametrize(("sharp", "gain"), [(0.3, 1.7), (1.0, 1.6), (2.0, 1.2)])
def test_coupled_drafts_are_accepted_far_more_often(sharp: float, gain: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a total variation δ = .24 and equal shares η = .5, either side's drafts are accepted with at least η + (1 -
    η)(1 - δ)/(1 + δ) = .806, whatever the distributions.

    Algorithm 1's acceptance depends on flatness: .46 on both sides for flat, .65 and .63 for peaked distributions; the
    coupled rule's is .85 on both sides, and .87 on both.
    """
    device, server = so_far_apart(0.24, sharp)
    delta = 1 - np.minimum(device, server).sum() / TOTAL
    assert delta == pytest.approx(0.24, abs=0.005)
    rates = {}
    monkeypatch.setattr(sys.modules[__name__], "DRAWS", 100_000)
    for rule in (coupled, independent):
        emitted, from_device, from_server = rule(device, server, 0.5, 11)
        rates[rule.__name__] = [float(np.mean(emitted == token)) for token in (from_device, from_server)]
    assert min(rates["coupled"]) > 0.5 + 0.5 * (1 - delta) / (1 + delta)
    assert min(rates["coupled"]) > gain * max(rates["independent"])


probabilities = st.lists(st.integers(0, 20), min_size=8, max_size=8).filter(any)


@given(probabilities, probabilities, st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0]), st.integers(1, 8), st.integers(1, 8))
def test_greedy_certifies_the_argmax_of_the_mixture_or_nothing(
    first_drafts: list[int], two: list[int], share: float, first: int, second: int
) -> None:
    device, server = ((np.array(some) / sum(some)).astype(np.float32) for some in (first_drafts, two))
    exact = int(np.argmax(rules.mixture(device.astype(float), server.astype(float), share)))
    decided = rules.greedy(top(device, first), top(server, second), share)
    assert decided in (exact, None)
    assert rules.greedy(top(device, 8), top(server, 8), share) == exact


@given(probabilities, probabilities, st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0]), st.integers(1, 8), st.booleans())
def test_greedy_decides_whatever_all_of_one_side_proves(
    first_drafts: list[int], two: list[int], share: float, count: int, swapped: bool
) -> None:
    whole, other = (
        top((np.array(some) / sum(some)).astype(np.float32), most) for some, most in ((first_drafts, 8), (two, count))
    )
    low, high = np.zeros(8), np.full(8, other.bound)
    low[other.ids] = high[other.ids] = other.probabilities
    known = whole.probabilities.astype(float)
    least, most = (
        rules.mixture(bound, known, share) if swapped else rules.mixture(known, bound, share) for bound in (low, high)
    )
    best = int(np.argmax(least))
    proven = all(
        most[rival] < least[best] or (most[rival] == least[rival] == least[best]) for rival in range(8) if rival != best
    )
    decided = rules.greedy(other, whole, share) if swapped else rules.greedy(whole, other, share)
    assert decided == (best if proven else None)


@given(probabilities, probabilities, st.sampled_from([0.0, 0.25, 0.5, 0.7, 0.9, 1.0]), st.integers(1, 8), st.booleans())
def test_greedily_one_side_decides_alone_only_what_the_other_cannot_change(
    first_drafts: list[int], two: list[int], share: float, count: int, swapped: bool
) -> None:
    known, unknown = ((np.array(some) / sum(some)).astype(np.float32) for some in (first_drafts, two))
    draft = Draft(0, int(np.argmax(known)), top(known, count))
    device, server = (unknown, known) if swapped else (known, unknown)
    drafts = (None, draft) if swapped else (draft, None)
    decided = rules.decide("greedy", 0, 0, share, *drafts)
    assert decided in (None, int(np.argmax(rules.mixture(device.astype(float), server.astype(float), share))))
    counts = 1 - share if swapped else share
    first, second = np.sort(known.astype(float))[::-1][:2]
    if count == 8 and counts * (first - second) > 1 - counts + 1e-6:
        assert decided == draft.token


def test_greedily_of_nothing_nothing_is_known() -> None:
    assert rules.decide("greedy", 0, 0, 0.5, None, None) is None


def test_greedy_needs_little_where_the_sides_agree() -> None:
    likely = np.full(1000, 0.4 / 999, np.float32)
    likely[17] = 0.6
    assert rules.greedy(top(likely, 4), top(likely, 4), 0.5) == 17
    assert rules.greedy(top(likely, 4), Top(np.array([3]), np.array([0.65], np.float32), whole=False), 0.5) is None


def test_greedy_does_not_guess_about_equals_that_were_left_out() -> None:
    top = Top(np.array([7]), np.array([0.5], np.float32), whole=False)
    assert rules.greedy(top, top, 0.5) is None  # token 3 may be as likely, and comes first


def test_a_rule_without_its_distributions_is_an_error() -> None:
    bare = Draft(0, 1, None)
    with pytest.raises(TypeError):
        rules.decide("algorithm1", 0, 0, 0.5, bare, bare)
