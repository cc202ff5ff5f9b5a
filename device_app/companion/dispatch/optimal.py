"""The default policy for starting the two sides of an answer: the least expected time to the first token, with extra
weight on late ones, within a budget. Replaces the two policies of DiSCo (Device-Server Collaborative text streaming).

Symbols: l is a prompt's length in tokens; b the budget, the share of all prompt tokens that the constrained side may
prefill; T_s and T_d(l) the seconds until server and device have the first token; F(t) = P(T_s < t) and S = 1 - F; φ(t)
the cost that a reader feels after waiting t seconds, and φ' its slope. The constrained side is the one whose tokens are
to be saved.

Let X be the first-token time of the free side, asked at once, and Y that of the constrained side from its start on. If
the constrained side is started at w unless X came before, the answer begins at min(X, w + Y). The gain over X is

    g(w) = E[φ(X) - φ(min(X, w + Y))] = ∫ φ'(t)·P(X > t)·P(w + Y < t) dt,   for P(X > w)·l tokens of the budget.

Maximising the mean gain over prompts while E[l·P(X > w)] ≤ b·E[l] is a concave problem if waits may be random: by
Lagrange there is one price μ per token, and each prompt of length l takes the w that maximises g(w) - μ·l·P(X > w);
`never`, which gains and costs 0, is among the choices. Both of the paper's policies and all mixtures of them are
feasible here, so none is better if the forecasts are right.

* device-constrained: X = T_s, independent of the length, and Y = T_d(l), so that g(w) = ∫ φ'·S from w + T_d(l) on.
* server-constrained: X = r·T_d(l), and Y = T_s. T_d(l) = slope·l + start is a line fitted to the device's measured
  times, and the ratio r is a measured time divided by the line's. If r is always 1, waiting gains nothing: the server
  starts at once or never, depending on whether ∫ F up to T_d(l), per token, is worth the price. If the device
  sometimes stalls (r > 1), asking a server late may pay.
"""

import math
from dataclasses import dataclass

import numpy as np

from device_app.companion.dispatch.distribution import Array, Distribution, tail_integral, token_shares
from device_app.companion.dispatch.first_token import DeviceFirstToken
from device_app.companion.dispatch.policy import Decision, Thresholds, at_an_end
from shared.side import Side

TAIL_WEIGHT = 4.0
"""The extra weight of late seconds.

The slope φ' of the reader's cost is 1, and 1 + TAIL_WEIGHT beyond the 90th percentile of the server's first-token
times, so that a late second counts as five.
"""

_LATE, _RARE = 0.9, 0.0005

_EXCEEDED = np.concatenate([[1.0], np.linspace(0.98, 0.1, 31), np.geomspace(0.09, 0.001, 16)])
"""The probabilities P(T_s > w) of the device's considered waits w; T_s is the server's time to the first token."""

_SCENARIOS, _LENGTHS = 8, 48


@dataclass(frozen=True, eq=False, slots=True)
class Optimal:
    """The best start of the constrained side (the one to save), for any prompt length l in tokens and any budget b.

    A choice is a wait w of the constrained side; the last choice is to never start it. `waits`, shape (choices,), are
    seconds if the device is constrained; if the server is, ratios to T_d(l), the device's usual seconds to the first
    token (a straight line in l: `device`). `costs`, shape (choices,), fall: the probability P(X > w) that the other
    side has no first token by w. `gains`, shape (lengths, choices), are the expected gains g(w) in felt seconds, by
    length, from length bin `shortest` of `prompts` on; lengths outside use the nearest bin. `prices`, falling, are felt
    seconds per token, and `shares`, rising from 0, the fractions of all prompt tokens that the constrained side
    prefills at each price; both have shape (n,).
    """

    constraint: Side
    prompts: Distribution
    device: DeviceFirstToken
    waits: Array
    costs: Array
    shortest: int
    gains: Array
    prices: Array
    shares: Array

    @classmethod
    def build(
        cls,
        constraint: Side,
        server: Distribution,
        device: DeviceFirstToken,
        prompts: Distribution,
        tail_weight: float = TAIL_WEIGHT,
    ) -> "Optimal":
        """Build the policy that spares a side, the `constraint`, from the times of both sides to their first token.

        `prompts` are the lengths of prompts. Seconds beyond the 90th percentile of the server's times count
        `1 + tail_weight` times.
        """
        held = token_shares(prompts)
        first, last = np.searchsorted(held, [_RARE, 1 - _RARE]) - 1
        lengths = prompts.typicals[first : last + 1]
        takes = device.slope * lengths + device.start
        if constraint == "device":
            waits, costs = np.append(server.quantiles(1 - _EXCEEDED), math.inf), np.append(_EXCEEDED, 0.0)
            waits[0] = 0.0
            gains = _by_device(server, waits, takes, tail_weight)
        else:
            waits = np.concatenate([[0.0], device.scenarios(_SCENARIOS)])
            costs = 1 - np.arange(_SCENARIOS + 1) / _SCENARIOS
            gains = _by_server(server, waits, takes, tail_weight)
        # Every length where choices are few; else lengths that stand for equal shares of all tokens.
        rows, weights = np.arange(len(lengths)), np.diff(held[first : last + 2])
        if constraint == "device":
            rows = np.searchsorted(held, (np.arange(_LENGTHS) + 0.5) / _LENGTHS) - 1 - first
            weights = np.ones(_LENGTHS)
        prices, shares = _priced(gains[rows] / lengths[rows, None], costs, weights / weights.sum())
        return cls(constraint, prompts, device, waits, costs, int(first), gains, prices, shares)

    def decide(self, length: float, budget: float, coin: float) -> Decision:
        """Return when each side starts, as `Policy.decide` does.

        Between two prices, `coin`, a random number, decides, so that the expected token share equals the budget.
        """
        if budget >= 1:
            return Decision(0.0, 0.0, "both sides at once: the budget spares neither side")
        if budget <= 0:
            return self._decision(length, len(self.costs) - 1)
        row = min(max(self.prompts.bin(length) - self.shortest, 0), len(self.gains) - 1)
        tokens = float(self.prompts.typicals[self.shortest + row])
        net = self.gains[row] - self._price(budget, coin) * tokens * self.costs
        at = int(net.argmax())
        return self._decision(length, at if net[at] > 0 else len(net) - 1)

    def thresholds(self, budget: float) -> Thresholds:
        """Return the rule at this budget: the least waiting that a thousand prompt tokens must save the reader.

        It is in seconds, of which late ones count more.
        """
        if end := at_an_end(self.constraint, budget):
            return end
        saved = 1000 * self._price(budget, 0.0)
        return Thresholds(
            f"the {self.constraint} starts when that saves the most waiting, at least {saved:.2g} s for 1,000 tokens",
            {"least_saved_s_per_1000_tokens": saved},
        )

    def _price(self, budget: float, coin: float) -> float:
        """Return the price of a prompt token at this budget: the waiting that prefilling it must save the reader.

        It is in seconds, of which late ones count more.
        """
        at = int(self.shares.searchsorted(budget, "right"))
        if at == len(self.shares):
            return float(self.prices[-1])
        low, high = float(self.shares[at - 1]), float(self.shares[at])
        return float(self.prices[at] if coin * (high - low) < budget - low else self.prices[at - 1])

    def _decision(self, length: float, at: int) -> Decision:
        takes = self.device(length)
        why = f"the device reads {length:.0f} tokens in {takes:.2f} s"
        if self.constraint == "device":
            wait = float(self.waits[at])
            if wait == math.inf:
                return Decision(None, 0.0, f"the server alone: {why}, too slow to be worth the battery")
            when = f"the server first, the device after {wait:.2f} s" if wait else "both sides at once"
            return Decision(wait, 0.0, f"{when}: {why}")
        if at == len(self.costs) - 1:
            return Decision(0.0, None, f"the device alone: {why}, and the server would gain too little for its price")
        wait = float(self.waits[at]) * takes
        when = f"the device first, the server after {wait:.2f} s" if wait else "both sides at once"
        return Decision(0.0, wait, f"{when}: {why}")


def _by_device(server: Distribution, waits: Array, takes: Array, tail_weight: float) -> Array:
    """Return the expected gain g(w) of a device that starts after w and takes `takes` seconds to its first token.

    `server` are the server's times to the first token. Shape (takes, waits); 0 for the last wait, which means never.
    """
    late = server.edges >= server.quantile(_LATE)
    felt = tail_integral(server.edges, server.survival * (1 + tail_weight * late))
    gains: Array = np.interp(waits + takes[:, None], server.edges, felt)
    gains[:, -1] = 0.0
    return gains


def _by_server(server: Distribution, ratios: Array, takes: Array, tail_weight: float) -> Array:
    """Return the expected gain g(w) of a server asked at w, a ratio times the device's usual time `takes`.

    Shape (takes, ratios). In each scenario, a device time, the gain is ∫ φ'(t)·F(t - w) dt from w up to that time,
    where φ' is the slope of the reader's cost and F the distribution of the server's first-token times.
    """

    def answered(spans: Array) -> Array:  # ∫ F from 0 on; past the last edge F is 1
        felt: Array = spans - (server.beyond[0] - np.interp(spans, server.edges, server.beyond))
        return felt

    starts, ends = takes[:, None, None] * ratios[:, None], takes[:, None, None] * ratios[1:]
    spans = np.maximum(ends - starts, 0.0)
    soon = np.clip(server.quantile(_LATE) - starts, 0.0, spans)
    gains: Array = ((1 + tail_weight) * answered(spans) - tail_weight * answered(soon)).mean(axis=2)
    return gains


def _priced(gains: Array, costs: Array, weights: Array) -> tuple[Array, Array]:
    """Return prices of a prefilled token, falling, and for each price the share of all tokens prefilled at that price.

    A prompt's tokens are prefilled as long as their gain is at least the price; the shares rise from 0. Both results
    have shape (n,).

    `gains`, shape (lengths, choices), are per token; `costs`, shape (choices,), are the probabilities that a choice
    prefills, 0 for `never`; `weights`, shape (lengths,), are each length's share of all tokens. The function follows
    the upper convex hull of the points (cost, gain) of all lengths from the choice `never` on, steepest slope first.
    """
    rows = np.arange(len(gains))
    at = np.full(len(gains), len(costs) - 1)
    dearer = costs - costs[:, None]
    per_cost = np.divide(1.0, dearer, out=np.zeros_like(dearer), where=dearer > 0)
    slopes, steps = [], []
    while True:
        rises = (gains - gains[rows, at, None]) * per_cost[at]
        best = rises.argmax(axis=1)
        steepest = rises[rows, best]
        going = steepest > 0
        if not going.any():
            break
        slopes.append(steepest[going])
        steps.append((dearer[at, best] * weights)[going])
        at = np.where(going, best, at)
    slope, step = np.concatenate([*slopes, [0.0]]), np.concatenate([*steps, [0.0]])
    order = np.argsort(-slope, kind="stable")
    slope, bought = slope[order], np.cumsum(step[order])
    # Equal slopes are bought together; a price between two slopes buys all that are steeper.
    ends = np.flatnonzero(slope[1:] < slope[:-1] * (1 - 1e-9))
    prices = (slope[ends] + slope[ends + 1]) / 2
    return np.append(2 * slope[0] + 1e-12, prices), np.append(0.0, bought[ends])
