"""Handles public questions on this device: which side answers, the cost, and what is learned from each answer (DiSCo).

After an answer the battery is read, at most once a minute, to learn the energy of the tokens computed since. The link
is opened on the first public question, or when its state is requested.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, get_args

from device_app.cache.states.tree import QKVTree
from device_app.companion import waiting
from device_app.companion.dispatch import cost, energy
from device_app.companion.dispatch.cost import Costs, ModelShape, ServerPrice
from device_app.companion.dispatch.day import DayLimits, Days
from device_app.companion.dispatch.dispatcher import Outcome, PolicyName
from device_app.companion.dispatch.energy import Energy
from device_app.companion.dispatch.handover import Terms
from device_app.companion.dispatch.memory import Memory
from device_app.companion.dispatch.policy import Decision
from device_app.companion.dispatch.race import Race
from device_app.companion.dispatch.race_report import Question, RaceReport
from device_app.companion.dispatch.situation import ExchangeRate, HeatLimits, exchange_rate, over_network
from device_app.companion.dispatch.weighed import Weighed
from device_app.companion.joint.aggregated import Aggregated, JointQuestion
from device_app.companion.link.compatibility import too_few
from device_app.inference.local import LocalSource
from device_app.question.answer import AT
from device_app.system.battery import Reading
from device_app.system.conditions import Conditions
from shared.errors import LinkError, UsageError
from shared.printable import safe_line
from shared.prompt import turn
from shared.protocol import messages as m
from shared.side import Side
from shared.trace import Trace
from shared.types import Hit

if TYPE_CHECKING:
    from device_app.companion.link.link import Link

_WORD_TOKENS = 1.4

SERVER_BEGINS = Decision(None, 0.0, "the server alone: the model of this device is too small for this question")
"""The decision for a request that is too hard for this device's model."""


@dataclass(frozen=True, slots=True)
class Prices:
    """The costs from the settings: money per million tokens on the server and per joule on the device.

    `spare` goes from 0 (save battery) to 1 (save money). `per_joule` is the price on mains power; `limits` are
    temperatures at which a joule on battery costs more, `day` the most joules and money for the answers of a day.
    `per_megabyte` is the price of a metered network's traffic; `metered` says whether the network is metered, or None
    if the device's conditions decide that. `policy` decides when each side starts. `joules_per_gflop` is the prior of
    the battery's estimate, see `energy.Energy`. `steady` keeps a buffer in case the server fails, see
    `migration.Terms.guarded`.
    """

    server: ServerPrice
    joules_per_gflop: float
    per_joule: float
    spare: float | None
    reading_rate: float
    steady: bool = False
    limits: HeatLimits = field(default_factory=HeatLimits)
    day: DayLimits = field(default_factory=DayLimits)
    per_megabyte: float = 0.0
    metered: bool | None = False
    policy: PolicyName = "ours"


@dataclass
class PublicQuestions:
    """Public questions to one server. `connect` opens the link; `source` waits for this device's model and returns it.

    `memory` holds what earlier answers taught; `chance` returns a random number for decisions by chance; `battery`
    returns a reading, or None if unknown. `conditions` returns the device's power, charge and heat, on which the cost
    of its energy depends. `days` adds up the cost of each day's answers. No private answers: the question of a race may
    be sent to the server.
    """

    connect: Callable[[], Link]
    source: Callable[[], LocalSource]
    prices: Prices
    memory: Memory
    chance: random.Random = field(default_factory=random.Random)
    battery: Callable[[], Reading | None] = lambda: None
    conditions: Callable[[], Conditions] = Conditions
    days: Days = field(default_factory=Days)
    _link: Link | None = None
    _read: tuple[Reading, int] | None = None
    _charged: int = 0

    @property
    def link(self) -> Link:
        """The link to the server, made on first use."""
        if self._link is None:
            self._link = self.connect()
        return self._link

    def close(self) -> None:
        """Close the link to the server."""
        if self._link:
            self._link.close()
            self._link = None

    def race(self, question: Question, trace: Trace) -> Race:
        """Return a race for the answer, without starting it. Raises LinkError if the server cannot be asked."""
        state = self.link.wait(waiting.LIMITS.connect_s)
        offer = state.offer
        if not state.connected or offer is None:
            raise LinkError(state.why_not())
        weighed = self.weighed(question.text, question.max_tokens, model_only=question.is_alone)
        decision = chosen = weighed.decide(self.chance.random())
        few = too_few(offer, question.max_tokens)
        if question.server_begins:
            if few or weighed.server_refused:
                raise LinkError(self.link.blamed(few) if few else weighed.server_refused)
            decision = SERVER_BEGINS
        if question.pipeline:
            decision = Decision(None, 0.0, f"the server answers by {question.pipeline}, as requested")
        if few:
            decision = Decision(0.0, None, self.link.blamed(few))

        # The server declares what it accepts; without the answer so far it cannot continue one.
        moves = "answer" in offer.receives and not few
        sides: frozenset[Side] = frozenset({"device", "server"} if moves else {"device"})

        def terms(prompt: int) -> Terms:
            known = weighed.terms(prompt, state.round_trip_s or 0.0)
            unsuited: frozenset[Side] = frozenset({"device"} if question.server_begins else ())
            return replace(known, allowed=sides, unsuited=unsuited, guarded=self.prices.steady)

        race = Race(self.link, self.source, question, decision, terms, trace)
        if decision is chosen:
            race.report.basis = weighed.basis()
        return race

    def check_pipeline(self, name: str) -> m.Pipeline:
        """Return the server's pipeline with that name. Raises UsageError if there is none, LinkError if the server
        cannot be asked.
        """
        state = self.link.wait(waiting.LIMITS.connect_s)
        if not state.connected or state.offer is None:
            raise LinkError(state.why_not())
        offered = [known for known in get_args(m.Pipeline) if known in state.offer.pipelines]
        chosen: m.Pipeline | None = next((known for known in offered if known == name), None)
        if chosen is None:
            offers = f"It offers: {', '.join(offered)}." if offered else "It offers no choice: leave --pipeline out."
            raise UsageError(f"{AT[0].upper()}{AT[1:]}{state.server} has no pipeline “{safe_line(name)}”. {offers}")
        return chosen

    def together(self, asked: JointQuestion, source: LocalSource, trace: Trace, tree: QKVTree | None) -> Aggregated:
        """Return a joint answer, without starting it. Raises LinkError, with the reason, if the server cannot
        take part.
        """
        self.link.wait(waiting.LIMITS.connect_s)
        return Aggregated(self.link, source, asked, trace, tree)

    def weighed(self, text: str, max_tokens: int, *, model_only: bool = False) -> Weighed:
        """Return the estimates, costs and budget that decide on a question. Sends nothing.

        With `model_only` the prompt is the text alone; otherwise it has the usual length of a prompt with passages.
        """
        known, source = self.memory.held.knowledge, self.source()
        usual = max(known.with_passages.quantile(0.5), len(text.split()) * _WORD_TOKENS)
        prompt = source.count(turn(text, source.template)) if model_only else usual
        costs = self._costs(source, round(prompt), max_tokens)
        budget = cost.budget(self.prices.spare, costs)
        estimate = known.energy.estimate(self.prices.joules_per_gflop)
        return Weighed(
            known,
            costs,
            budget,
            prompt,
            max_tokens,
            self.memory.held.rates,
            self.prices.reading_rate,
            estimate,
            self._rate(),
            self._used_up(),
            is_metered=self._is_metered(),
            policy=self.prices.policy,
        )

    def read(self, side: Side, hits: Sequence[Hit], answer_tokens: int, *, cut: bool) -> None:
        """Record that `side` read the server's passages among `hits` for a private answer, as the budgets count them.

        The answer had `answer_tokens` tokens; `cut`: a limit ended it.
        """
        source, held = self.source(), self.memory.held
        prompt = sum(len(source.engine.tokenize(hit.passage.text)) for hit in hits if hit.side == "server")
        outcome = Outcome(
            prompt,
            device_started=side == "device",
            server_started=side == "server",
            answer=max(answer_tokens, 1),
            answer_cut=cut,
        )
        budget = cost.budget(self.prices.spare, self._costs(source, prompt, max(answer_tokens, 1)))
        self.memory.hold(replace(held, knowledge=held.knowledge.after(outcome, budget)))
        if side == "server":
            self.charge(prompt, self._server_price().of(prompt, answer_tokens))

    def charge_race(self, report: RaceReport) -> None:
        """Add a race's tokens and money to the day's figures, also if the race failed or was dropped."""
        money = self._server_price().of(report.server_read, report.server_wrote)
        self.charge(report.outcome.prompt if report.outcome else 0, money)

    def charge(self, length: int, money: float = 0.0) -> None:
        """Add this device's tokens since the last call, and the server's price, to the day's figures.

        The tokens are counted as if in a prompt of this length; on mains power, where energy is free, they are not
        counted.
        """
        source = self.source()
        computed, before = source.engine.computed, self._charged
        self._charged = computed
        counted = 0 if self._on_mains else max(computed - before, 0)
        gflops = counted * _shape(source).operations(length) / 1e9
        estimate = self.memory.held.knowledge.energy.estimate(self.prices.joules_per_gflop)
        if gflops or money:
            self.days.add(gflops * estimate.joules_per_gflop, money)

    def learn(self, race: Race, answer_tokens: int, *, cut: bool) -> None:
        """Update the estimates by a finished race. `cut`: a limit, not the model, ended the answer.

        Figures that cannot be written to the file are kept until the program ends.
        """
        outcome = race.report.outcome
        if outcome is None:
            return
        source = self.source()
        budget = cost.budget(self.prices.spare, self._costs(source, outcome.prompt, max(answer_tokens, 1)))
        held = self.memory.held
        known = held.knowledge.after(race.report.learned(answer_tokens, cut=cut), budget)
        known = replace(known, energy=self._measured(known.energy, source, outcome.prompt))
        self.memory.hold(replace(held.at_rates(race.report.rates), knowledge=known))

    def _measured(self, known: Energy, source: LocalSource, length: int) -> Energy:
        """Return the energy estimate, updated from the battery if a reading is due.

        Tokens computed since the last reading are counted as if in a prompt of this length.
        """
        if self._read and time.monotonic() - self._read[0].at_s < energy.LEAST_S:
            return known
        reading, before = self.battery(), self._read
        computed = source.engine.computed
        if reading and before:
            gflops = (computed - before[1]) * _shape(source).operations(length) / 1e9
            stretch = energy.between(before[0], reading, gflops)
            if stretch and not stretch.tells:
                return known  # the stretch goes on
            if stretch:
                known = known.after(stretch, self.prices.joules_per_gflop)
        self._read = (reading, computed) if reading else None
        return known

    def _costs(self, source: LocalSource, prompt: int, answer: int) -> Costs:
        prices = self.prices
        return cost.costs(
            self._server_price(),
            _shape(source),
            self.memory.held.knowledge.energy.estimate(prices.joules_per_gflop).joules_per_gflop,
            self._rate().per_joule,
            prompt=prompt,
            answer=answer,
        )

    def _server_price(self) -> ServerPrice:
        prices = self.prices
        return over_network(prices.server, prices.per_megabyte) if self._is_metered() else prices.server

    def _is_metered(self) -> bool:
        return bool(self.conditions().metered if self.prices.metered is None else self.prices.metered)

    def _used_up(self) -> Mapping[Side, str]:
        reasons = self.prices.day.used_up(self.days.spent())
        return {side: why for side, why in reasons.items() if side == "server" or not self._on_mains}

    @property
    def _on_mains(self) -> bool:
        return self.conditions().on_mains is True

    def _rate(self) -> ExchangeRate:
        return exchange_rate(self.prices.per_joule, self.conditions(), self.prices.limits)


def _shape(source: LocalSource) -> ModelShape:
    """Return the sizes of this device's model, from which its energy is computed.

    If heads share keys and values, only the width of these is known.
    """
    info = source.engine.info
    return ModelShape(info.parameters, layers=1, width=info.kv_bytes_per_token // 4)
