"""The choice of the side (device or server) that starts an answer, and migration of answers: replays DiSCo's figures 6,
7 and 9 and tables 2 and 3.

A budget limits the share of prompt tokens on one side, the constrained one; the other side is free. Requests are
replayed in sequence; a policy knows only earlier ones: first-token times that it observed (of the loser of a race, only
that it was slower) and prompt lengths. The device's prefill rate is known from the start, as in the paper. `stoch-s`
and `stoch-d` choose a side by coin flip (§5.1); the stronger `stoch-s-both` and `stoch-d-both` choose by coin flip
whether the constrained side runs beside the free one. `ours-s` and `ours-d` are the default policy.

With --data, `handover` is the quality of answers that moved (`disco_quality`), and `live` and `live_server` compare
real races with the simulation (`disco_live`). --only runs some of the parts: simulation, handover, live, live_server.
"""

import multiprocessing
import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from device_app.companion.dispatch import first_token
from device_app.companion.dispatch.first_token import DeviceFirstToken
from device_app.companion.dispatch.optimal import Optimal
from device_app.companion.dispatch.policy import Policy, Routing, Waiting
from scripts.benchmarks import disco_live, disco_quality
from scripts.benchmarks.disco_data import DEVICES, Array, lengths, services
from scripts.benchmarks.disco_replay import BILLED, BUDGETS, REQUESTS, Case, Result, replayed
from scripts.places import chosen_parts, step

PARTS = ("simulation", "handover", "live", "live_server")
SEEDS, ANSWERS = 10, 20
SIZES = (1_000, 10_000, 100_000)
_KEPT = ("disco-s", "disco-d", "ours-s", "ours-d")


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures of all parts, or of some; without --data, of the simulation only unless others are named."""
    parts = chosen_parts(arguments.only, PARTS) if arguments.only or arguments.data else PARTS[:1]
    figures = _simulation(arguments) if "simulation" in parts else {}
    if "handover" in parts:
        figures |= disco_quality.run(arguments)
    missed: list[str] = []
    for part in ("live", "live_server"):
        if part in parts:
            figures |= disco_live.run(arguments, part)
            missed += figures.pop("missed", [])
    return figures | ({"missed": ", ".join(missed)} if missed else {})


def _simulation(arguments: Namespace) -> dict[str, Any]:
    """Return the figures of the simulation: times in ms (except `decide_us`, in µs), money in $ per thousand
    questions.
    """
    first, *others = lengths(arguments.data)
    known = services(arguments.data)
    seeds = 2 if arguments.quick else SEEDS
    cases = [Case(service, device, first, seeds, ANSWERS) for service, device in product(known, DEVICES)]
    cases = cases[:2] if arguments.quick else cases
    traces = [Case(known[0], DEVICES[-1], other, seeds, 0) for other in others]
    drift = Case(known[0], DEVICES[-1], first, seeds, 0, drift=True)
    step(f"{len(cases) + len(traces) + 1} replays of {REQUESTS} requests at {len(BUDGETS)} budgets")
    with multiprocessing.get_context("spawn").Pool(arguments.threads) as pool:
        results = pool.map(replayed, [*cases, *traces, drift], chunksize=1)
    named = {f"{case.service.name}.{case.device.name}": result for case, result in zip(cases, results, strict=False)}
    outcomes = list(named.values())
    step("decisions and rebuilding")
    return {
        "made": arguments.data is None,
        "services": {service.name: service.model for service in known},
        "ttft": {what: _table(outcomes, at) for at, what in enumerate(("mean", "p99"))},
        "reduction": _reductions(named),
        "below": _worst(outcomes),
        "corrected_over_literal": _literal(outcomes),
        **_bills(outcomes),
        "traces": {
            case.lengths.name: {
                "ttft": {"mean": _table([result], 0), "p99": _table([result], 1)},
                "below": _worst([result]),
            }
            for case, result in zip(traces, results[len(cases) :], strict=False)
        },
        "budget_error": _error(outcomes),
        "budget_error_drift": _error(results[-1:]),
        **({"budget_error_traces": _error(results[len(cases) : -1])} if traces else {}),
        "budget_error_literal": _error(outcomes, ("literal-s", "literal-d")),
        **_speed(),
    }


def _table(results: Sequence[Result], at: int) -> dict[str, dict[str, float]]:
    """Return the mean first-token times over seeds, services and devices, in ms."""
    return {
        name: {
            str(budget): round(1_000 * float(np.mean([result.times[name][row, :, at] for result in results])), 1)
            for row, budget in enumerate(BUDGETS)
        }
        for name in results[0].times
        if not name.endswith("-at-literal")
    }


def _gained(result: Result, name: str, baseline: str, at: int) -> Array:
    """Return by which share our policy (`name`) lowers a time compared with the `baseline`, 1 - ours/baseline, for each
    budget; both times are means over seeds.
    """
    seeds = min(result.times[arm].shape[1] for arm in (name, baseline))
    means = {arm: result.times[arm][:, :seeds, at].mean(axis=1) for arm in (name, baseline)}
    gained: Array = 1 - means[name] / means[baseline]
    return gained


def _reductions(named: dict[str, Result]) -> dict[str, Any]:
    """Return the reduction against stochastic dispatch, averaged over budgets (figure 6, table 2): of each case, and
    the least, mean and greatest reduction of all cases.
    """
    figures: dict[str, Any] = {}
    for name, baseline in product(_KEPT, ("stoch", "stoch-both")):
        side = name[-1]
        against = f"stoch-{side}" + baseline.removeprefix("stoch")
        for at, what in enumerate(("mean", "p99")):
            by_case = {case: float(_gained(result, name, against, at).mean()) for case, result in named.items()}
            held = list(by_case.values())
            summary = {"least": min(held), "mean": statistics.mean(held), "most": max(held)}
            own = figures.setdefault(f"{name}_over_{against}", {})
            own[what] = {key: round(value, 4) for key, value in (summary | by_case).items()}
    return figures


def _worst(results: Sequence[Result]) -> dict[str, float]:
    """Return the lowest gain over stochastic dispatch in any case; it is negative if our policy was slower."""
    return {
        f"{name}_over_{against}_{what}": round(
            min(float(_gained(result, name, against, at).min()) for result in results), 5
        )
        for name in ("ours-s", "ours-d", "disco-s", "disco-d")
        for against in (f"stoch-{name[-1]}", f"stoch-{name[-1]}-both")
        for at, what in enumerate(("mean", "p99"))
    }


def _literal(results: Sequence[Result]) -> dict[str, float]:
    """Return the gain of our policy over the paper's algorithms as printed. It is compared at the requested budget, and
    at the share of tokens that the printed algorithms actually used.
    """
    figures = {}
    for name, (at, what) in product(_KEPT, enumerate(("mean", "p99"))):
        literal = f"literal-{name[-1]}"
        figures[f"{name}_{what}"] = round(float(np.mean([_gained(result, name, literal, at) for result in results])), 4)
        same = [_gained(result, f"{name}-at-literal", literal, at) for result in results]  # of three seeds
        figures[f"{name}_{what}_at_its_share"] = round(float(np.mean(same)), 4)
    return figures


def _bills(results: Sequence[Result]) -> dict[str, Any]:
    """Return costs with and without migration (figure 7), and the delays that readers would see (table 3)."""
    cost: dict[str, dict[str, float]] = {}
    saved: dict[str, Any] = {}
    for name in BILLED:
        bills = [result.bills[name] for result in results if name in result.bills]
        if not bills:
            continue
        for key, attribute in ((name, "cost"), (f"{name}-nomigration", "cost_unmoved")):
            cost[key] = {
                str(budget): round(statistics.mean(getattr(bill[budget], attribute) for bill in bills), 5)
                for budget in BUDGETS
            }
        every = [bill[budget] for bill in bills for budget in BUDGETS if bill[budget].cost_unmoved]
        whole = [1 - bill.cost / bill.cost_unmoved for bill in every]
        spared = [1 - bill.constrained / bill.constrained_unmoved for bill in every if bill.constrained_unmoved]
        # The prompt is paid before an answer can migrate, so that savings are limited to the answer's cost.
        possible = [1 - bill.prompts / bill.constrained_unmoved for bill in every if bill.constrained_unmoved]
        fewer = [1 - bill.decoded / bill.decoded_unmoved for bill in every if bill.decoded_unmoved]
        saved[name] = {
            what: {"mean": round(statistics.mean(held), 4), "most": round(max(held), 4), "least": round(min(held), 4)}
            for what, held in (
                ("whole_bill", whole),
                ("constrained_side", spared),
                ("constrained_side_possible", possible),
                ("constrained_tokens", fewer),
            )
            if held
        } | {"cases": len(bills)}
    moved = [bill for result in results for by_budget in result.bills.values() for bill in by_budget.values()]
    delayed = [count for bill in moved for count in bill.delayed]
    gaps = [gap for bill in moved for gap in bill.gaps]
    if not gaps:
        return {"cost": cost, "cost_reduction": saved}
    return {
        "cost": cost,
        "cost_reduction": saved,
        "moved_answers": len(delayed),
        "delayed_tokens": {
            "mean": round(statistics.mean(delayed), 3),
            "p99": round(float(np.quantile(delayed, 0.99)), 2),
        },
        "tbt_p99_ms": round(1_000 * float(np.quantile(gaps, 0.99)), 1),
    }


def _error(results: Sequence[Result], names: Sequence[str] = _KEPT) -> dict[str, dict[str, float]]:
    """Return how far the share of prompt tokens on the side with a budget deviates from the budget, over all runs of
    1,000 requests.
    """
    figures = {}
    for name in names:
        off = np.concatenate([(result.times[name][:, :, 2] - np.array(BUDGETS)[:, None]).ravel() for result in results])
        figures[name] = {
            "mean": round(float(np.abs(off).mean()), 4),
            "most": round(float(np.abs(off).max()), 4),
            "most_over": round(float(off.max()), 4),
            "runs_within_2_points": round(float((np.abs(off) <= 0.02).mean()), 4),
        }
    return figures


def _speed() -> dict[str, Any]:
    """Return median times: of a decision in µs, and of building each policy from `SIZES` records of times and lengths
    in ms (figure 9).
    """
    decide: dict[str, float] = {}
    rebuild: dict[str, dict[str, float]] = {}
    coins = np.random.default_rng(4).random(20)
    for size in SIZES:
        for name, make in _makes(size).items():
            rebuild.setdefault(name, {})[str(size)] = round(statistics.median(_ms(make) for _ in range(51)), 3)
            policy = make()
            rounds = [_ms(partial(_decided, policy, coins)) for _ in range(101)]
            decide[name] = round(statistics.median(rounds) / len(coins) * 1_000, 2)
    return {
        "decide_us": max(decide["ours-s"], decide["ours-d"]),
        "rebuild_ms": {str(size): max(rebuild[name][str(size)] for name in ("ours-s", "ours-d")) for size in SIZES},
        "decide_us_by_policy": decide,
        "rebuild_ms_by_policy": rebuild,
    }


def _decided(policy: Policy, coins: Array) -> None:
    for coin in coins:
        policy.decide(9.0 + 90 * coin, 0.3, coin)


def _makes(size: int) -> dict[str, Callable[[], Policy]]:
    """Return functions that build each policy from `size` records; the device's times deviate from its linear model."""
    chance = np.random.default_rng(size)
    times, asked = chance.lognormal(-0.7, 0.6, size), np.ceil(chance.lognormal(3.3, 0.8, size))
    device = DeviceFirstToken.prior(DEVICES[0].prefill)
    for length in chance.integers(5, 200, 20):
        device = device.observe(float(length), float(length) / DEVICES[0].prefill * chance.lognormal(0, 0.2))
    server, prompts = first_token.server(), first_token.lengths(100.0)
    return {
        "disco-s": lambda: Routing.build(prompts.observe_all(asked)),
        "disco-d": lambda: Waiting.build(server.observe_all(times), prompts.observe_all(asked)),
        "ours-s": lambda: Optimal.build("server", server.observe_all(times), device, prompts.observe_all(asked)),
        "ours-d": lambda: Optimal.build("device", server.observe_all(times), device, prompts.observe_all(asked)),
    }


def _ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1_000
