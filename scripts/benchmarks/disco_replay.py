"""Replays requests in sequence through a dispatch policy that knows only earlier requests."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from device_app.companion.dispatch.cost import MILLION, Costs
from device_app.companion.dispatch.dispatcher import Estimates
from device_app.companion.dispatch.distribution import token_shares
from device_app.companion.dispatch.first_token import DeviceFirstToken
from device_app.companion.dispatch.policy import Ledger, Policy, Routing, Waiting
from scripts.benchmarks.disco_answers import BOTH, Written, write
from scripts.benchmarks.disco_data import ANSWER_LIMIT, Array, Device, Lengths, Service
from scripts.benchmarks.disco_literal import LiteralRouting, LiteralWaiting
from shared.side import Side

BUDGETS = tuple(round(tenth / 10, 1) for tenth in range(11))
REQUESTS = 1_000
_BUILT = {0, 5, 10, 20, 50, *range(100, REQUESTS, 100)}
"""The numbers of the requests before which the policies are rebuilt from the requests so far."""

_ENERGY_PRICE: dict[Side, float] = {"server": 0.3, "device": 5.0}
"""The price of energy, in $ per million tokens for each 10^9 operations per token, by the side with a budget (appendix
E, as interpreted here).
"""

Make = Callable[[Estimates, float], Policy]
POLICIES: dict[str, tuple[Side, Make]] = {
    "disco-s": ("server", lambda known, _: Routing.build(known.prompts)),
    "disco-d": ("device", lambda known, _: Waiting.build(known.server, known.prompts)),
    "ours-s": ("server", lambda known, _: known.policy("server")),
    "ours-d": ("device", lambda known, _: known.policy("device")),
    "literal-s": ("server", lambda known, b: LiteralRouting(token_shares(known.prompts), known.prompts, b)),
    "literal-d": ("device", lambda known, b: LiteralWaiting(known.server, known.prompts, b)),
}
BILLED = ("disco-s", "disco-d", "ours-s", "ours-d")


@dataclass(frozen=True, slots=True)
class Case:
    """A service and a device. The last `answers` requests of each of the first three seeds are simulated and billed."""

    service: Service
    device: Device
    lengths: Lengths
    seeds: int
    answers: int
    drift: bool = False


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one seed, each array of shape (n,): tokens of prompts and answers, both sides' seconds, the
    server's tokens a second, coin flips.
    """

    prompts: Array
    answers: Array
    server_s: Array
    server_rate: Array
    device_s: Array
    coins: Array


@dataclass(frozen=True, slots=True)
class Played:
    """The results of replayed requests, each array of shape (n,): first-token times, whether the side with a budget
    ran, whether it won, and when the device started (inf: never).
    """

    ttft: Array
    used: npt.NDArray[np.bool_]
    won: npt.NDArray[np.bool_]
    device_at: Array
    knowledge: Estimates

    def measured(self, prompts: Array) -> tuple[float, float, float]:
        """Return the mean and p99 of the first-token times in s, and the share of prompt tokens on the side that has a
        budget.
        """
        return _measured(self.ttft, self.used, prompts)


@dataclass(frozen=True, slots=True)
class Billed:
    """The costs of replayed requests in $ per thousand questions, in all and on the side with a budget (`prompts`: its
    prefill); `_unmoved`: without migration; the tokens decoded on that side; the migrated answers' number and delays.
    """

    cost: float
    cost_unmoved: float
    constrained: float
    constrained_unmoved: float
    prompts: float
    decoded: int
    decoded_unmoved: int
    moved: int
    delayed: tuple[int, ...]
    gaps: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """The results of all replays. `times`: for each policy, shape (budgets, seeds, 3), as in `Played.measured`.
    `bills`: for each policy and budget.
    """

    times: dict[str, Array]
    bills: dict[str, dict[float, Billed]]


def replayed(case: Case) -> Result:
    """Replay all policies at all budgets."""
    seeds = [_requests(case, seed) for seed in range(case.seeds)]
    times = {
        name: np.array([[arm(seed, budget) for seed in seeds] for budget in BUDGETS]) for name, arm in _COINS.items()
    }
    bills: dict[str, dict[float, Billed]] = {}
    for name, (side, _) in POLICIES.items():
        costs = _costs(case, side)
        played = [[play(name, seed, case.device, budget) for seed in seeds] for budget in BUDGETS]
        times[name] = np.array(
            [[run.measured(seed.prompts) for run, seed in zip(runs, seeds, strict=True)] for runs in played]
        )
        if case.answers and name in BILLED and costs.constraint == side:
            bills[name] = {
                budget: _billed(name, case, costs, list(zip(seeds, runs, strict=True))[:3])
                for budget, runs in zip(BUDGETS, played, strict=True)
            }
    for name in BILLED:
        shares = times[f"literal-{name[-1]}"][:, :3, 2]
        times[f"{name}-at-literal"] = np.array(
            [
                [
                    play(name, seed, case.device, float(share)).measured(seed.prompts)
                    for seed, share in zip(seeds[:3], row)  # noqa: B905
                ]
                for row in shares
            ]
        )
    return Result(times, bills)


def _requests(case: Case, seed: int) -> Requests:
    chance = np.random.default_rng(seed)
    called = case.service.samples[chance.integers(len(case.service.samples), size=REQUESTS)]
    lengths = case.lengths
    if lengths.recorded:
        at = (chance.integers(len(lengths.prompts)) + np.arange(REQUESTS)) % len(lengths.prompts)
        prompts, answers = lengths.prompts[at], lengths.answers[at]
    else:
        prompts = chance.choice(lengths.prompts, REQUESTS)
        answers = chance.choice(lengths.answers, REQUESTS)
    server_s = called[:, 0].copy()
    if case.drift:
        server_s[REQUESTS // 2 :] *= 2
        prompts = np.where(np.arange(REQUESTS) < REQUESTS // 3, prompts, 3 * prompts)
    answers = np.clip(answers, 1, ANSWER_LIMIT)
    return Requests(prompts, answers, server_s, called[:, 1], prompts / case.device.prefill, chance.random(REQUESTS))


def play(name: str, requests: Requests, device: Device, budget: float, rebuilt: Collection[int] = _BUILT) -> Played:
    """Replay the requests of one seed at one budget; `rebuilt` are those before which the policy is built again.

    The paper's policies ignore how much budget is spent.
    """
    side, make = POLICIES[name]
    known, count = Estimates(device=DeviceFirstToken.prior(device.prefill, 0.0)), len(requests.prompts)
    policy, ledger, start = make(known, budget), Ledger(), 0
    ttft, seen, device_at = np.empty(count), np.full(count, np.nan), np.full(count, np.inf)
    used, won, cut = (np.zeros(count, bool) for _ in range(3))
    for at in range(count):
        if at in rebuilt and at:
            known, start = _learned(known, requests, seen, cut, slice(start, at)), at
            policy = make(known, budget)
        length, server, own = float(requests.prompts[at]), float(requests.server_s[at]), float(requests.device_s[at])
        allowed = budget if name.startswith("literal") else ledger.allowed(budget)
        decision = policy.decide(length, allowed, float(requests.coins[at]))
        free, spared = (server, own) if side == "device" else (own, server)
        after = decision.device_after_s if side == "device" else decision.server_after_s
        used[at] = after is not None and free > after
        ttft[at] = first = min(free, after + spared) if after is not None and used[at] else free
        won[at] = first < free
        if side == "server" or used[at]:
            device_at[at] = decision.device_after_s
        # A won race censors the server's time: only a lower bound is known.
        asked_at = 0.0 if side == "device" else after
        if asked_at is not None and (side == "device" or used[at]):
            cut[at] = asked_at + server > first
            seen[at] = first - asked_at if cut[at] else server
        ledger = ledger.charge(length, budget, used=bool(used[at]))
    return Played(ttft, used, won, device_at, known)


def _learned(known: Estimates, requests: Requests, seen: Array, cut: npt.NDArray[np.bool_], which: slice) -> Estimates:
    asked = np.isfinite(seen[which])
    answers = requests.answers[which]
    return replace(
        known,
        server=known.server.observe_all(seen[which][asked], cut[which][asked]),
        prompts=known.prompts.observe_all(requests.prompts[which]),
        answers=known.answers.observe_all(answers, answers >= ANSWER_LIMIT),
    )


def _measured(ttft: Array, used: npt.NDArray[np.bool_], prompts: Array) -> tuple[float, float, float]:
    return float(ttft.mean()), float(np.quantile(ttft, 0.99)), float((prompts * used).sum() / prompts.sum())


def _one_side(side: Side) -> Callable[[Requests, float], tuple[float, float, float]]:
    def play(requests: Requests, budget: float) -> tuple[float, float, float]:
        del budget
        ttft = requests.device_s if side == "device" else requests.server_s
        return _measured(ttft, np.ones(len(ttft), bool), requests.prompts)

    return play


def tossed(side: Side, requests: Requests, budget: float, *, both: bool) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Decide by coin flip whether the side with a budget runs, instead of the other side or (`both`) beside it; return
    the first-token times and whether it ran. Tokens are charged to the budget (`Ledger`) as in our policy.
    """
    used, ledger = np.zeros(len(requests.prompts), bool), Ledger()
    for at, (length, coin) in enumerate(zip(requests.prompts, requests.coins, strict=True)):
        used[at] = coin < ledger.allowed(budget)
        ledger = ledger.charge(length, budget, used=bool(used[at]))
    spared, free = (requests.device_s, requests.server_s)[:: 1 if side == "device" else -1]
    return np.where(used, np.minimum(spared, free) if both else spared, free), used


def _coin(side: Side, *, both: bool) -> Callable[[Requests, float], tuple[float, float, float]]:
    return lambda requests, budget: _measured(*tossed(side, requests, budget, both=both), requests.prompts)


_COINS = {
    "server": _one_side("server"),
    "device": _one_side("device"),
    "stoch-s": _coin("server", both=False),
    "stoch-d": _coin("device", both=False),
    "stoch-s-both": _coin("server", both=True),
    "stoch-d-both": _coin("device", both=True),
}


def _costs(case: Case, side: Side) -> Costs:
    energy = _ENERGY_PRICE[side] / MILLION
    return Costs(
        case.device.prompt_gflop(float(case.lengths.prompts.mean())) * energy,
        case.device.decode_gflop * energy,
        case.service.price.prompt / MILLION,
        case.service.price.decode / MILLION,
    )


def _billed(name: str, case: Case, costs: Costs, runs: Sequence[tuple[Requests, Played]]) -> Billed:
    side, _ = POLICIES[name]
    free: Side = "server" if side == "device" else "device"
    bills: list[tuple[float, float, float, float, float]] = []
    decoded = decoded_unmoved = 0
    moved: list[Written] = []
    chance = np.random.default_rng(0)
    for requests, played in runs:
        for at in range(REQUESTS - case.answers, REQUESTS):
            prompt, answer = int(requests.prompts[at]), int(requests.answers[at])
            first, own = float(played.ttft[at]), float(requests.device_s[at])
            winner: Side = side if played.won[at] else free
            stayed = reply = Written(written={side: answer if side == winner else 0 for side in BOTH})
            # As published, the losing side stops.
            loser_s = own if winner == "server" else float(requests.server_s[at])
            if winner == side:
                reply = write(
                    played.knowledge,
                    costs,
                    case.device,
                    float(requests.server_rate[at]),
                    winner=winner,
                    prompt=prompt,
                    answer=answer,
                    server_s=float(chance.choice(case.service.samples[:, 0])),
                    left_s=loser_s - first if name.startswith("ours") else None,
                )
            # A server bills the whole prompt; a stopped device has used energy only for its part.
            start = played.device_at[at]
            done = prompt * min(max((first - start) / own, 0.0), 1.0) if np.isfinite(start) else 0.0
            asked = prompt if side == "device" or played.used[at] else 0
            decoded, decoded_unmoved = decoded + reply.written[side], decoded_unmoved + stayed.written[side]
            if reply.moved:
                moved.append(reply)
            now = reply.bill(costs, {"server": asked, "device": prompt if reply.kept else done})
            started: dict[Side, float] = {"server": asked, "device": done}
            before = stayed.bill(costs, started)
            prompts = costs.prompt(side) * started[side]
            bills.append((sum(now.values()), sum(before.values()), now[side], before[side], prompts))
    whole, whole_unmoved, own_side, own_unmoved, read = (float(value) for value in np.array(bills).mean(axis=0) * 1_000)
    gaps = np.concatenate([np.diff(reply.given) for reply in moved]) if moved else np.zeros(0)
    delayed = tuple(reply.delayed() for reply in moved)
    tokens = decoded, decoded_unmoved
    return Billed(whole, whole_unmoved, own_side, own_unmoved, read, *tokens, len(moved), delayed, tuple(gaps))
