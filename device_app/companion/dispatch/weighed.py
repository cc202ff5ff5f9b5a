"""The estimates for one public question, the decision that follows from them, and their description for `jackdaw why`.

Pure; sends nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from device_app.companion.dispatch.cost import Budget, Costs
from device_app.companion.dispatch.day import within_limits
from device_app.companion.dispatch.dispatcher import Estimates, PolicyName
from device_app.companion.dispatch.energy import Estimate
from device_app.companion.dispatch.handover import Handover, Terms, plan_handover
from device_app.companion.dispatch.optimal import Optimal
from device_app.companion.dispatch.policy import Decision, Routing, Thresholds, Waiting
from device_app.companion.dispatch.situation import ExchangeRate
from shared.side import Side

FORCED: Final = "does not apply, as a used-up budget of the day or this device's model decides"
"""The text that is shown in place of a policy's rule if no policy decided which side starts."""

_COINS = (0.0, 0.5, 0.999)


@dataclass(frozen=True)
class Weighed:
    """The estimates for one question of about `prompt` tokens and an answer of at most `most` tokens.

    `knowledge` holds the learned estimates, `budget` the budget that the settings give. `rates`, each side's writing,
    and `reading_rate`, the person's reading, are tokens a second. The device's costs were computed from the estimate
    `energy` and the rate `exchange`. `used_up` are sides whose budget of the day is spent, each with the reason.
    `is_metered`: the server's costs include the network's. `policy` is the policy in force, unless the decision is
    `fixed`.
    """

    knowledge: Estimates
    costs: Costs
    budget: Budget
    prompt: float
    most: int
    rates: Mapping[Side, float]
    reading_rate: float
    energy: Estimate
    exchange: ExchangeRate
    used_up: Mapping[Side, str] = field(default_factory=dict)
    is_metered: bool = False
    policy: PolicyName = "ours"
    fixed: Decision | None = None

    @property
    def allowed(self) -> float:
        """The share of prompt tokens that the constrained side may read, adjusted for earlier use."""
        return self.knowledge.ledger.allowed(self.budget.share)

    @property
    def server_refused(self) -> str:
        """Why the budgets forbid asking the server, even if no other side can write; "" if they allow it."""
        spared = self.budget.constraint == "server" and self.allowed <= 0
        return self.used_up.get("server", "link.spare saves money on the server" if spared else "")

    def decide(self, coin: float) -> Decision:
        """Return when each side starts; `coin` is a random number, uniform over [0, 1)."""
        return self._forced or self._policy.decide(self.prompt, self.allowed, coin)

    def decisions(self) -> tuple[Decision, ...]:
        """Return the possible decisions: more than one if the policy decides at random."""
        return tuple(dict.fromkeys(map(self.decide, _COINS)))

    def thresholds(self) -> Thresholds:
        """Return the rule of the policy in force, for the share of tokens that the constrained side may read now."""
        return Thresholds(FORCED) if self._forced else self._policy.thresholds(self.allowed)

    def basis(self) -> dict[str, Any]:
        """Return the basis of the decision for the answer's record: the policy's rule, and the price of a joule."""
        return {
            "policy": {"name": self.policy, **asdict(self.thresholds())},
            "exchange_rate": asdict(self.exchange),
            "metered": self.is_metered,
        }

    @property
    def _forced(self) -> Decision | None:
        return self.fixed or within_limits(self.used_up)

    @property
    def _policy(self) -> Optimal | Waiting | Routing:
        return self.knowledge.policy(self.budget.constraint, self.policy)

    def terms(self, prompt: int, round_trip_s: float = 0.0) -> Terms:
        """Return the terms for hand-overs of an answer to a prompt of `prompt` tokens: costs and rates of both sides.

        `round_trip_s` is the present round trip, 0 if unknown.
        """
        return Terms(
            costs=self.costs,
            prompt=prompt,
            rates=dict(self.rates),
            reading_rate=self.reading_rate,
            ready_s=lambda side, length: self.knowledge.ready_s(side, length, round_trip_s),
            remaining=lambda written: self.knowledge.remaining(written, self.most),
            used_up=frozenset(self.used_up),
        )

    def first_token_s(self, side: Side) -> tuple[float, float]:
        """Return the seconds from a side's start to its first token: the median, and the 95th percentile."""
        length = round(self.prompt)
        usual = self.knowledge.server.quantile(0.5) if side == "server" else self.knowledge.device(length)
        return usual, max(self.knowledge.ready_s(side, length), usual)

    def bill(self, side: Side) -> float:
        """Return the money for the prompt and an answer of usual length if this side does everything."""
        answer = min(self.knowledge.answers.quantile(0.5), self.most)
        return self.costs.prompt(side) * self.prompt + self.costs.decode(side) * answer

    def move(self, source: Side) -> tuple[int, Handover] | str:
        """Return after how many tokens an answer started by `source` changes sides, and the hand-over; or why it stays.

        Assumes that the other side has read nothing of the prompt yet.
        """
        terms = self.terms(round(self.prompt))
        ahead = max(1 - terms.reading_rate / terms.rates[source], 0.0)
        planned: Handover | str = "the answer ends before moving it would save money"
        for written in range(1, self.most):
            waiting = int(written * ahead)
            planned = plan_handover(terms, source, written, waiting)
            if isinstance(planned, Handover) and waiting >= planned.buffer:
                return written, planned
        return planned if isinstance(planned, str) else "the answer ends before enough text is ahead of the reader"
