"""The default policy against stochastic dispatch in live races, and in the simulation of the same requests.

Device and server are processes (`disco_setting`). Requests of `prompts` of at most `MOST_LENGTH` tokens are raced by
the product's dispatcher, without passages. The server's first token comes after a recorded time of `ttft`, drawn for
each request among those that are not below the server's own time, measured before; the device reads and writes at the
pace of a phone. For each request, all budgets and both policies take turns. The simulation (`disco_replay`) gets the
same requests, coins and delays, and the times that this run measured: of the device alone, by a line through its times,
and of the way to the server and back. Requests for which the server was slower than its delay all the same are left out
of all means.

`live.BUDGET` spares the device, `live_server.BUDGET`, a part of its own, the server. `reduction_…` is measured live,
`simulated_…` in the simulation, against stochastic dispatch; `difference` is that of the reductions of the mean, whose
required limit is `MOST_DIFFERENCE`. `share` is the spared side's share of all prompt tokens.
"""

import os
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from scripts.benchmarks.disco_data import Array, delays, texts
from scripts.benchmarks.disco_races import DEVICE, TOKENS, Asked, Dispatch, Raced
from scripts.benchmarks.disco_replay import Requests, play, tossed
from scripts.benchmarks.disco_setting import ready
from scripts.places import CannotRun, step, weights
from shared.prompt import turn
from shared.side import Side

BUDGETS: Final = (0.2, 0.5, 0.8)
REQUESTS, QUICK_REQUESTS = 100, 12
MOST_DIFFERENCE: Final = 0.08
MOST_LENGTH: Final = 150
"""The most tokens of a prompt: a phone takes about five seconds for it. Nine of ten requests are shorter."""

_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Times:
    """First-token times in s, and whether the side that the budget limits was started; both of shape (n,)."""

    first_s: Array
    used: _Bools


@dataclass(frozen=True, slots=True)
class Paces:
    """The measured paces: seconds per prompt token and at the start of the device alone, and the seconds by which a
    first token of the server alone comes later than its delay.
    """

    token_s: float
    start_s: float
    way_s: float


def run(arguments: Namespace, part: str) -> dict[str, Any]:
    """Return the figures of the part `live` or `live_server`; the module's docstring explains them. `missed` names the
    budgets whose difference is above its limit.
    """
    side: Side = "device" if part == "live" else "server"
    if not arguments.data:
        raise CannotRun("the requests and times are read from `prompts` and `ttft` under --data DIR.")
    budgets, count = ((0.5,), QUICK_REQUESTS) if arguments.quick else (BUDGETS, REQUESTS)
    chance = np.random.default_rng(3)
    recorded = delays(arguments.data)
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as place, ready(weights("smollm2-135m"), Path(place), DEVICE) as setting:
        arms = [Dispatch(setting, side, budget, Path(place) / f"{budget}.json") for budget in budgets]
        step("the server's own times")
        source = setting.source
        lengths = {text: source.count(turn(text, source.template)) for text in texts(arguments.data)}
        short = [text for text, length in lengths.items() if length <= MOST_LENGTH]
        chosen = [short[at] for at in chance.permutation(len(short))[:count]]
        own = [arms[0].own_s(text) for text in (chosen[0], *chosen)][1:]  # the first warms up
        requests = [
            Asked(text, lengths[text], drawn_from(recorded, own_s, chance), chance.random())
            for text, own_s in zip(chosen, own, strict=True)
        ]
        for number, asked in enumerate(requests):
            step(f"request {number + 1} of {len(requests)}")
            for arm in arms:
                for race in (arm.race_ours, arm.race_stochastic)[:: 1 if number % 2 else -1]:
                    race(asked)
    load.append(os.getloadavg()[0])
    paces = measured(requests, arms)
    figures: dict[str, Any] = {str(arm.budget): compared(requests, arm, paces) for arm in arms}
    figures["requests"], figures["load"] = len(requests), load
    figures["ms"] = {
        "device_token": round(1_000 * paces.token_s, 2),
        "device_start": round(1_000 * paces.start_s, 1),
        "way_to_the_server": round(1_000 * paces.way_s, 1),
        "server_itself": round(1_000 * float(np.mean(own)), 1),
        "delay": round(1_000 * float(np.mean([asked.delay_s for asked in requests])), 1),
    }
    figures["delays_left_out"] = round(float(np.mean([np.mean(recorded < own_s) for own_s in own])), 4)
    missed = [
        f"{part}.{budget}" for budget in map(str, budgets) if abs(figures[budget]["difference"]) > MOST_DIFFERENCE
    ]
    return {part: figures, **({"missed": missed} if missed else {})}


def drawn_from(recorded: Array, own_s: float, chance: np.random.Generator) -> float:
    """Return one of the recorded times that are not below `own_s`. Raises CannotRun if all are."""
    above = recorded[recorded >= own_s]
    if not len(above):
        raise CannotRun(f"the server takes {own_s:.1f} s to its first token, longer than all recorded times.")
    return float(chance.choice(above))


def measured(requests: Sequence[Asked], arms: Sequence[Dispatch]) -> Paces:
    """Return the paces of the sides alone, from the races of stochastic dispatch."""
    alone: dict[Side, list[tuple[Asked, float]]] = {"device": [], "server": []}
    for arm in arms:
        for asked, raced in zip(requests, arm.stochastic, strict=True):
            if not raced.late:
                alone["device" if raced.started["device"] else "server"].append((asked, raced.first_s))
    if not all(alone.values()):
        raise CannotRun("too few requests: one of the sides never answered alone.")
    lengths, seconds = (np.array(column) for column in zip(*((a.length, s) for a, s in alone["device"]), strict=True))
    token_s, start_s = line(lengths, seconds)
    return Paces(token_s, start_s, float(np.mean([first_s - asked.delay_s for asked, first_s in alone["server"]])))


def line(lengths: Array, seconds: Array) -> tuple[float, float]:
    """Return slope and intercept of the line fitted by least squares; it keeps the mean."""
    if np.ptp(lengths) == 0:
        return float(seconds.mean() / lengths.mean()), 0.0
    slope, start = np.polyfit(lengths, seconds, 1)
    return float(slope), float(start)


def simulated(requests: Sequence[Asked], side: Side, budget: float, paces: Paces) -> dict[str, Times]:
    """Return the simulated times of our policy and of stochastic dispatch."""
    lengths = np.array([float(asked.length) for asked in requests])
    own_s = paces.token_s * lengths + paces.start_s
    replayed = Requests(
        prompts=lengths,
        answers=np.full(len(lengths), float(TOKENS)),
        server_s=np.array([asked.delay_s for asked in requests]) + paces.way_s,
        server_rate=np.ones(len(lengths)),
        device_s=own_s,
        coins=np.array([asked.coin for asked in requests]),
    )
    device = replace(DEVICE, prefill=float(lengths.mean() / own_s.mean()))
    played = play(f"ours-{side[0]}", replayed, device, budget, range(len(lengths)))  # the product learns each time
    return {
        "ours": Times(played.ttft, played.used),
        "stochastic": Times(*tossed(side, replayed, budget, both=False)),
    }


def compared(requests: Sequence[Asked], arm: Dispatch, paces: Paces) -> dict[str, Any]:
    """Return the figures of one budget."""
    live = {name: _times(races, arm.side) for name, races in (("ours", arm.ours), ("stochastic", arm.stochastic))}
    kept = np.array([not (own.late or other.late) for own, other in zip(arm.ours, arm.stochastic, strict=True)])
    return beside(live, simulated(requests, arm.side, arm.budget, paces), kept, [asked.length for asked in requests])


def _times(races: Sequence[Raced], side: Side) -> Times:
    return Times(np.array([raced.first_s for raced in races]), np.array([raced.started[side] for raced in races]))


def beside(
    live: Mapping[str, Times], simulated: Mapping[str, Times], kept: _Bools, lengths: Sequence[int]
) -> dict[str, Any]:
    """Return the figures of the live and the simulated times side by side. Times are of the requests that `kept` marks;
    shares are of all requests.
    """
    runs = {"live": live, "simulated": simulated}
    ms = {
        run: {
            name: {
                "mean": round(1_000 * float(times.first_s[kept].mean()), 1),
                "p99": round(1_000 * float(np.quantile(times.first_s[kept], 0.99)), 1),
            }
            for name, times in arms.items()
        }
        for run, arms in runs.items()
    }
    reduced = {
        run: {what: round(1 - ms[run]["ours"][what] / ms[run]["stochastic"][what], 4) for what in ("mean", "p99")}
        for run in runs
    }
    whole = np.array(lengths, float)
    return {
        "reduction_mean": reduced["live"]["mean"],
        "reduction_p99": reduced["live"]["p99"],
        "simulated_mean": reduced["simulated"]["mean"],
        "simulated_p99": reduced["simulated"]["p99"],
        "difference": round(reduced["live"]["mean"] - reduced["simulated"]["mean"], 4),
        "ttft_ms": ms,
        "share": {
            run: {name: round(float(whole[times.used].sum() / whole.sum()), 4) for name, times in arms.items()}
            for run, arms in runs.items()
        },
        "left_out": int((~kept).sum()),
    }
