"""Policies for when each side starts an answer, for an early first token within a budget (DiSCo §4.2, appendix F).

The constrained side, whose tokens are to be saved, may prefill the share b of all prompt tokens: the budget. There are
three policies, each pure: `Optimal`, the default; `Waiting` and `Routing`, DiSCo's two, with corrections. The budget is
an argument of each decision, so that a policy need not be rebuilt when the ledger corrects the budget. `coin` is a
random number, uniform over [0, 1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from device_app.companion.dispatch.distribution import Array, Distribution, token_shares
from shared.side import Side

TAIL_SHARE = 0.05
"""DiSCo's α: the part of the budget reserved for the slowest answers; the paper does not give its value."""

HORIZON = 48
"""The number of prompts over which use beyond the budget is paid back."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The seconds after which each side starts unless a first token has come by then; None means never."""

    device_after_s: float | None
    server_after_s: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Thresholds:
    """A policy's rule at one budget, as a phrase, and the numbers in the rule by name."""

    rule: str
    figures: Mapping[str, float] = field(default_factory=dict)


def at_an_end(constraint: Side, budget: float) -> Thresholds | None:
    """Return the rule that every policy for `constraint` has if the budget is 0 or 1; None for one in between."""
    if budget >= 1:
        return Thresholds("both sides start at once, whatever the prompt")
    return Thresholds(f"the {constraint} never starts while the other side answers") if budget <= 0 else None


class Policy(Protocol):
    """A policy, which decides for each question when each side starts."""

    @property
    def constraint(self) -> Side:
        """The constrained side, whose tokens are to be saved."""

    def decide(self, length: float, budget: float, coin: float) -> Decision:
        """Return when each side starts for a prompt of `length` tokens.

        `budget` is the share of all prompt tokens that the constrained side may prefill; `coin` is random, uniform over
        [0, 1).
        """


@dataclass(frozen=True, slots=True)
class Ledger:
    """Keeps the constrained side's share of all prompt tokens at the budget b, even if the forecasts are wrong.

    `debt` is the use beyond the budget, in tokens, paid back over HORIZON prompts of the `usual` length. The debt is
    bounded in both directions, so that a long time without any use does not allow unlimited use later. `count` is the
    number of prompts so far.
    """

    debt: float = 0.0
    usual: float = 0.0
    count: int = 0

    def allowed(self, share: float) -> float:
        """Return the budget for the next decision, 0..1, given `share`, the budget b set by the user."""
        if not self.usual:
            return share
        return min(max(share - self.debt / (HORIZON * self.usual), 0.0), 1.0)

    def charge(self, length: float, share: float, *, used: bool) -> "Ledger":
        """Return the ledger updated by an answer with a prompt of `length` tokens.

        `share` is the budget b; `used` says whether the constrained side was started.
        """
        usual = self.usual + (length - self.usual) * max(1 / (self.count + 1), 1 / HORIZON)
        most = HORIZON * usual
        debt = min(max(self.debt + length * ((1.0 if used else 0.0) - share), -most), most)
        return Ledger(debt, usual, self.count + 1)


@dataclass(frozen=True, eq=False, slots=True)
class Waiting:
    """DiSCo's Algorithm 2, for a constrained device: the server starts at once, the device after a wait w(l).

    l is a prompt's length in tokens, p(l) its probability, b the budget (the device's share of all prompt tokens), α
    the part of b kept for the slowest answers, F the distribution of the server's first-token times, and w_tail the
    wait with 1 - F(w_tail) = α. Corrected: the budget left after the tail is (b - α)·E[l]; a length that starts at once
    costs only what the tail's budget does not cover; at the boundary length 1 - F(w) = α + left/(p(l)·l), with w within
    [0, w_tail]. Unseen lengths wait 0 below the boundary, w_tail above it.
    """

    server: Distribution
    prompts: Distribution
    shares: Array
    tail: float = TAIL_SHARE
    constraint: Side = "device"

    @classmethod
    def build(cls, server: Distribution, prompts: Distribution, tail: float = TAIL_SHARE) -> "Waiting":
        """Build the policy from the server's times to the first token and the lengths of prompts.

        `tail` is the part of the budget that is kept for the slowest answers.
        """
        return cls(server, prompts, token_shares(prompts), tail)

    def decide(self, length: float, budget: float, coin: float) -> Decision:
        """Return when each side starts, as `Policy.decide` does.

        `coin` is not used: the wait at the boundary length is computed so that the budget is met without chance.
        """
        del coin
        if budget >= 1:
            return Decision(0.0, 0.0, "both sides at once: the budget spares neither side")
        tail = min(self.tail, budget)
        at = self.prompts.bin(length)
        shorter, own = float(self.shares[at]), float(self.shares[at + 1] - self.shares[at])
        left = budget - tail - shorter * (1 - tail)
        chance = tail + min(max(left / own if own > 0 else float(left > 0), 0.0), 1 - tail)
        if chance >= 1:
            return Decision(0.0, 0.0, f"both sides at once: the budget lets the device read {length:.0f} tokens")
        if chance <= 0:
            return Decision(None, 0.0, "the server alone: the budget leaves the device no tokens")
        wait = self.server.quantile(1 - chance)
        return Decision(
            wait,
            0.0,
            f"the server first, the device after {wait:.2f} s: {chance:.0%} of the server's answers start later",
        )

    def thresholds(self, budget: float) -> Thresholds:
        """Return the rule: below which prompt length the device starts at once, and the wait w_tail for longer ones."""
        if end := at_an_end(self.constraint, budget):
            return end
        tail = min(self.tail, budget)
        # Prompts shorter than an edge start at once if their share of all tokens, less what the tail pays, is paid for.
        at = int(self.shares.searchsorted((budget - tail) / (1 - tail), "right")) - 1
        longest, wait = float(self.prompts.edges[at]), self.server.quantile(1 - tail)
        return Thresholds(
            f"the device starts at once for prompts of fewer than {longest:.0f} tokens, and for longer ones after "
            f"{wait:.2f} s",
            {"at_once_below_tokens": longest, "tail_wait_s": wait},
        )


@dataclass(frozen=True, eq=False, slots=True)
class Routing:
    """DiSCo's Algorithm 3, for a constrained server: the device starts at once, the server only for long prompts.

    b is the budget, the server's share of all prompt tokens: prompts shorter than the threshold make up the share 1 -
    b. Corrected: at the threshold length, chance decides, so that the expected share is exactly b.
    """

    prompts: Distribution
    shares: Array
    constraint: Side = "server"

    @classmethod
    def build(cls, prompts: Distribution) -> "Routing":
        """Build the policy from the lengths of prompts."""
        return cls(prompts, token_shares(prompts))

    def decide(self, length: float, budget: float, coin: float) -> Decision:
        """Return when each side starts, as `Policy.decide` does."""
        at = self.prompts.bin(length)
        shorter, own = float(self.shares[at]), float(self.shares[at + 1] - self.shares[at])
        chance = (shorter + own - (1 - budget)) / own if own > 0 else float(shorter > 1 - budget)
        if coin < chance:
            return Decision(0.0, 0.0, f"both sides at once: the prompt of {length:.0f} tokens is among the longest")
        return Decision(
            0.0, None, f"the device alone: the prompt of {length:.0f} tokens is short, and the server is spared"
        )

    def thresholds(self, budget: float) -> Thresholds:
        """Return the rule: l_th, the length in tokens from which prompts are sent to the server."""
        if end := at_an_end(self.constraint, budget):
            return end
        at = int(self.shares.searchsorted(1 - budget, "right")) - 1
        shortest = float(self.prompts.edges[at])
        return Thresholds(
            f"the server is asked at once for prompts of {shortest:.0f} tokens or more, and not for shorter ones",
            {"server_from_tokens": shortest},
        )
