"""Dispatch policies: they keep the budget, follow the paper's rules, and are never better than the optimum."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch import first_token
from device_app.companion.dispatch.distribution import Distribution
from device_app.companion.dispatch.first_token import DeviceFirstToken
from device_app.companion.dispatch.optimal import Optimal
from device_app.companion.dispatch.policy import Ledger, Policy, Routing, Waiting
from shared.side import Side

Array = npt.NDArray[np.float64]
DEVICE = DeviceFirstToken.prior(rate=40, start=0.05)
COINS = (np.arange(12) + 0.5) / 12
BUDGETS = (0.0, 0.03, 0.1, 0.3, 0.5, 0.8, 1.0)


@dataclass(frozen=True, eq=False)
class World:
    """400 server times and prompt lengths, which are also what the policies have learned."""

    times: Array
    lengths: Array

    @property
    def server(self) -> Distribution:
        return first_token.server().observe_all(np.tile(self.times, 10))

    @property
    def prompts(self) -> Distribution:
        return first_token.lengths(60).observe_all(np.tile(self.lengths, 10))


def world(median: float = 0.5, spread: float = 0.8, prompt: float = 40, seed: int = 0) -> World:
    """Draw a world's times and lengths from log-normal distributions."""
    chance = np.random.default_rng(seed)
    return World(chance.lognormal(np.log(median), spread, 400), np.ceil(chance.lognormal(np.log(prompt), 0.8, 400)))


def outcome(policy: Policy, at: World, budget: float, device: DeviceFirstToken = DEVICE) -> tuple[float, float, float]:
    """Return the share of tokens on the constrained side, and the mean and 99th percentile of the time to the first
    token.

    All combinations of a time, a length and a coin are computed.
    """
    lengths, weights = np.unique(at.lengths, return_counts=True)
    times = at.times
    shares, means, late = [], [], []
    for length in lengths:
        for coin in COINS:
            decision = policy.decide(float(length), budget, float(coin))
            free, spared, after = times, device(length) + 0 * times, decision.device_after_s
            if policy.constraint == "server":
                free, spared, after = spared, times, decision.server_after_s
            wait = np.inf if after is None else after
            used = free > wait
            first = np.where(used, np.minimum(free, wait + spared), free)
            shares.append(used.mean())
            means.append(first.mean())
            late.append(first)
    heavy = np.repeat(weights, len(COINS))
    tokens = heavy * np.repeat(lengths, len(COINS))
    every, of = np.concatenate(late), np.repeat(heavy, len(times)).astype(float)
    order = np.argsort(every)
    p99 = every[order][np.searchsorted(np.cumsum(of[order]), 0.99 * of.sum())]
    return float(np.average(shares, weights=tokens)), float(np.average(means, weights=heavy)), float(p99)


BUILDS: dict[str, Callable[[Distribution, Distribution], Policy]] = {
    "waiting": Waiting.build,
    "routing": lambda server, prompts: Routing.build(prompts),
    "optimal, device": lambda server, prompts: Optimal.build("device", server, DEVICE, prompts),
    "optimal, server": lambda server, prompts: Optimal.build("server", server, DEVICE, prompts),
}
NAMES = tuple(BUILDS)


def made(name: str, at: World) -> Policy:
    """Return the policy with this name, made for the world's server times and prompts."""
    return BUILDS[name](at.server, at.prompts)


@pytest.mark.parametrize("name", NAMES)
def test_the_constrained_side_gets_its_share(name: str) -> None:
    at = world()
    policy = made(name, at)
    for budget in BUDGETS:
        assert outcome(policy, at, budget)[0] == pytest.approx(budget, abs=0.04)


@pytest.mark.parametrize("name", NAMES)
def test_prompts_that_are_all_alike_share_by_lot_or_by_waiting(name: str) -> None:
    at = World(world().times, np.full(400, 50.0))
    policy = made(name, at)
    for budget in BUDGETS:
        assert outcome(policy, at, budget)[0] == pytest.approx(budget, abs=0.06)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", [0.0, 1.0])
def test_either_end_of_the_budget_is_kept_to_the_letter(name: str, budget: float) -> None:
    policy = made(name, world())
    for length in (1, 3, 40, 500, 100_000):
        decision = policy.decide(length, budget, 0.0)
        spared = decision.device_after_s if policy.constraint == "device" else decision.server_after_s
        assert spared == (0.0 if budget else None)


def test_short_prompts_start_on_the_device_at_once_and_long_ones_wait_for_the_tail() -> None:
    at = world()
    policy = Waiting.build(at.server, at.prompts, tail=0.05)
    waits = [policy.decide(length, 0.3, 0.5).device_after_s for length in (5, 10, 200, 5_000)]
    assert waits[:2] == [0.0, 0.0]
    assert waits[2:] == pytest.approx([at.server.quantile(0.95)] * 2)


@pytest.mark.parametrize("budget", [0.1, 0.35, 0.6, 0.9])
def test_the_papers_thresholds_are_those_that_it_decides_by(budget: float) -> None:
    at = world()
    waiting, routing = Waiting.build(at.server, at.prompts), Routing.build(at.prompts)
    figures, lengths = waiting.thresholds(budget).figures, np.unique(at.lengths)
    below = lengths[lengths < figures["at_once_below_tokens"]]
    assert all(waiting.decide(length, budget, 0.5).device_after_s == 0 for length in below)
    assert waiting.decide(lengths[-1], budget, 0.5).device_after_s == pytest.approx(figures["tail_wait_s"])
    shortest = routing.thresholds(budget).figures["server_from_tokens"]
    for length in lengths:
        asked = routing.decide(length, budget, 0.999).server_after_s == 0
        if routing.prompts.bin(length) != routing.prompts.bin(shortest):  # where a coin decides
            assert asked == (length > shortest)


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_says_its_rule(name: str) -> None:
    policy = made(name, world())
    assert isinstance(policy, Optimal | Waiting | Routing)
    rules = [policy.thresholds(budget) for budget in BUDGETS]
    assert "never starts" in rules[0].rule
    assert "both sides start at once" in rules[-1].rule
    assert all(np.isfinite(list(between.figures.values())).all() and between.figures for between in rules[1:-1])


def test_a_larger_budget_eases_every_threshold() -> None:
    at = world()
    waiting, routing = Waiting.build(at.server, at.prompts), Routing.build(at.prompts)
    optimal = Optimal.build("device", at.server, DEVICE, at.prompts)
    small, large = 0.2, 0.7

    def figure(policy: Optimal | Waiting | Routing, name: str) -> tuple[float, float]:
        return policy.thresholds(small).figures[name], policy.thresholds(large).figures[name]

    fewer, more = figure(waiting, "at_once_below_tokens")
    assert fewer < more
    longer, shorter = figure(routing, "server_from_tokens")
    assert longer > shorter
    dearer, cheaper = figure(optimal, "least_saved_s_per_1000_tokens")
    assert dearer > cheaper


def test_a_budget_within_the_tails_share_is_all_the_tails() -> None:
    at = world()
    policy = Waiting.build(at.server, at.prompts, tail=0.05)
    assert policy.decide(5, 0.02, 0.5).device_after_s == pytest.approx(at.server.quantile(0.98))


def test_long_prompts_get_the_server_and_the_length_between_a_coin() -> None:
    at = World(world().times, np.tile([10.0, 50.0, 140.0], 140))
    policy = Routing.build(at.prompts)
    asked = {length: [policy.decide(length, 0.8, coin).server_after_s for coin in COINS] for length in (10, 50, 140)}
    assert set(asked[140]) == {0.0}
    assert set(asked[10]) == {None}
    assert asked[50].count(0.0) / len(COINS) == pytest.approx((0.25 - 0.05 - 0.0) / 0.25 - 0.2, abs=0.25)
    assert set(asked[50]) == {0.0, None}


@pytest.mark.long
@pytest.mark.parametrize(
    "budget", [0.05, 0.3, *(pytest.param(budget, marks=pytest.mark.long) for budget in (0.1, 0.7))]
)
@pytest.mark.parametrize(
    ("median", "spread", "prompt"), [(0.2, 0.4, 100), (0.5, 0.8, 40), (1.5, 0.3, 15), (1.5, 1.1, 90)]
)
def test_neither_the_papers_policies_nor_a_coin_beat_the_optimum(
    median: float, spread: float, prompt: float, budget: float
) -> None:
    at = world(median, spread, prompt, seed=3)
    for other in (made("waiting", at), made("routing", at)):
        best = Optimal.build(other.constraint, at.server, DEVICE, at.prompts, tail_weight=0.0)
        (share, mean, _), (their_share, theirs, _) = outcome(best, at, budget), outcome(other, at, budget)
        lone, both = outcome(best, at, 0.0)[1], outcome(best, at, 1.0)[1]
        # What little more of the budget they happened to use is worth at most twice its mean worth.
        assert mean <= theirs * 1.005 + 2 * max(their_share - share, 0) * (lone - both)
        assert mean <= ((1 - share) * lone + share * both) * 1.005


@pytest.mark.parametrize("side", ["device", "server"])
def test_weight_on_late_first_tokens_helps_the_tail(side: Side) -> None:
    at = world(spread=1.2)
    plain = outcome(Optimal.build(side, at.server, DEVICE, at.prompts, tail_weight=0.0), at, 0.1)
    careful = outcome(Optimal.build(side, at.server, DEVICE, at.prompts, tail_weight=20.0), at, 0.1)
    assert careful[2] <= plain[2] * 1.001
    assert careful[1] <= plain[1] * 1.15


def test_a_device_that_stalls_is_backed_by_a_late_server() -> None:
    at = world(median=0.3, spread=0.3)
    stalling = DEVICE
    for count in range(40):
        stalling = stalling.observe(20 + count, DEVICE(20 + count) * (8 if count % 6 == 0 else 1))
    policy = Optimal.build("server", at.server, stalling, at.prompts)
    decisions = [policy.decide(30, budget, 0.5) for budget in (0.05, 0.1, 0.2)]
    late = [decision for decision in decisions if decision.server_after_s]
    assert late
    assert all("stalls" in decision.reason or "after" in decision.reason for decision in late)
    assert all((decision.server_after_s or 0) >= 0.9 * stalling(30) for decision in late)


@pytest.mark.parametrize("side", ["device", "server"])
def test_a_prompt_longer_than_any_is_decided_as_the_longest(side: Side) -> None:
    at = world()
    policy = Optimal.build(side, at.server, DEVICE, at.prompts)
    longest = policy.decide(at.lengths.max() * 3, 0.4, 0.5)
    longer = policy.decide(1e7, 0.4, 0.5)
    assert (longest.device_after_s is None, longest.server_after_s is None) == (
        longer.device_after_s is None,
        longer.server_after_s is None,
    )


def test_prompts_that_keep_the_device_busy_for_an_hour_are_still_told_apart() -> None:
    """The device's times exceed every bin of the server's times, so that the server would have answered long before."""
    lengths = np.tile([40_000.0, 120_000.0], 200)
    prompts = first_token.lengths(60).observe_all(np.tile(lengths, 5))
    policy = Optimal.build("server", world().server, DEVICE, prompts)
    asked = [policy.decide(length, 0.7, 0.5).server_after_s for length in (40_000, 120_000)]
    assert asked == [None, 0.0]


@pytest.mark.parametrize("side", ["device", "server"])
def test_it_decides_before_anything_is_known(side: Side) -> None:
    policy = Optimal.build(side, first_token.server(), DeviceFirstToken.prior(), first_token.lengths(100))
    for budget in BUDGETS:
        decision = policy.decide(80, budget, 0.5)
        assert decision.device_after_s == 0 or decision.server_after_s == 0
        assert decision.reason


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", [0.1, 0.35, 0.8])
def test_a_thousand_requests_keep_the_budget_though_both_sides_drift(name: str, budget: float) -> None:
    """The server becomes four times slower and prompts three times longer, which the policy learns only gradually."""
    at, chance, ledger = world(), np.random.default_rng(5), Ledger()
    server, prompts = at.server, at.prompts
    spent = seen = 0.0
    for count in range(1_000):
        if count % 25 == 0:
            policy = BUILDS[name](server, prompts)
        slower, longer = (4 if count > 400 else 1), (3 if count > 200 else 1)
        length, took = float(chance.choice(at.lengths)) * longer, float(chance.choice(at.times)) * slower
        server, prompts = server.observe(took), prompts.observe(length)
        decision = policy.decide(length, ledger.allowed(budget), chance.random())
        free, after = took, decision.device_after_s
        if policy.constraint == "server":
            free, after = DEVICE(length), decision.server_after_s
        used = after is not None and free > after
        ledger = ledger.charge(length, budget, used=used)
        spent, seen = spent + length * used, seen + length
    assert spent / seen == pytest.approx(budget, abs=0.02)


@given(st.lists(st.tuples(st.floats(1, 1e5), st.booleans()), max_size=200), st.floats(0, 1))
def test_the_ledger_stays_bounded(charged: list[tuple[float, bool]], share: float) -> None:
    ledger = Ledger()
    for length, used in charged:
        ledger = ledger.charge(length, share, used=used)
        assert 0 <= ledger.allowed(share) <= 1


def test_a_debt_lowers_what_is_allowed_and_credit_raises_it() -> None:
    in_debt, in_credit = Ledger(), Ledger()
    for _ in range(10):
        in_debt, in_credit = in_debt.charge(50, 0.5, used=True), in_credit.charge(50, 0.5, used=False)
    assert in_debt.allowed(0.5) < 0.5 < in_credit.allowed(0.5)
    assert in_debt.allowed(0.5) + in_credit.allowed(0.5) == pytest.approx(1)
