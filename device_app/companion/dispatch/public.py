"""Public questions on this device: who answers them, at what cost, and what each one taught (DiSCo).

After an answer it looks at the battery, at most once a minute, for what the tokens computed in between have taken. The
link is made when a question is first public, or when somebody asks how it stands.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from device_app.cache.states.tree import QKVTree
from device_app.companion import waiting
from device_app.companion.dispatch import cost, energy
from device_app.companion.dispatch.cost import Costs, ModelShape, ServerPrice
from device_app.companion.dispatch.dispatcher import Outcome
from device_app.companion.dispatch.energy import Energy
from device_app.companion.dispatch.handover import Terms
from device_app.companion.dispatch.memory import Memory
from device_app.companion.dispatch.policy import Decision
from device_app.companion.dispatch.race import Race
from device_app.companion.dispatch.race_report import Question
from device_app.companion.dispatch.weighed import Weighed
from device_app.companion.joint.aggregated import Aggregated, JointQuestion
from device_app.companion.link.link import Link
from device_app.inference.local import LocalSource
from device_app.inference.prompting import too_few
from device_app.system.battery import Reading
from shared.errors import LinkError
from shared.side import Side
from shared.trace import Trace
from shared.types import Hit

_WORD_TOKENS = 1.4


@dataclass(frozen=True, slots=True)
class Prices:
    """What the settings say: money per million tokens there, per joule here, and from 0 to 1 which to spare.

    `joules_per_gflop` counts as far as the battery says no better, see `energy.Energy`. `steady`
    keeps a buffer against the server's failure, see `migration.Terms.guarded`.
    """

    server: ServerPrice
    joules_per_gflop: float
    per_joule: float
    spare: float | None
    reading_rate: float
    steady: bool = False


@dataclass
class PublicQuestions:
    """`connect` makes the link, `battery` reads what the device runs on; None where that is not told.

    `private` answers are never told here; a race's question may go to the server.
    """

    connect: Callable[[], Link]
    source: Callable[[], LocalSource]
    prices: Prices
    memory: Memory
    chance: random.Random = field(default_factory=random.Random)
    battery: Callable[[], Reading | None] = lambda: None
    _link: Link | None = None
    _read: tuple[Reading, int] | None = None

    @property
    def link(self) -> Link:
        """The connection to the server, made by the first look at it."""
        if self._link is None:
            self._link = self.connect()
        return self._link

    def close(self) -> None:
        """Leave the server."""
        if self._link:
            self._link.close()
            self._link = None

    def race(self, question: Question, trace: Trace) -> Race:
        """A race for the answer. Raises LinkError where the server cannot be asked."""
        state = self.link.wait(waiting.LIMITS.connect_s)
        offer = state.offer
        if not state.connected or offer is None:
            raise LinkError(state.why_not())
        weighed = self.weighed(question.text, question.max_tokens)
        decision = weighed.decide(self.chance.random())
        if few := too_few(offer, question.max_tokens):
            decision = Decision(0.0, None, self.link.blamed(few))

        # A server says what it may be sent; without the answer so far it cannot go on with one.
        moves = "answer" in offer.receives and not few
        sides: frozenset[Side] = frozenset({"device", "server"} if moves else {"device"})

        def terms(prompt: int) -> Terms:
            known = weighed.terms(prompt, state.round_trip_s or 0.0)
            return replace(known, allowed=sides, guarded=self.prices.steady)

        return Race(self.link, self.source, question, decision, terms, trace)

    def together(self, asked: JointQuestion, source: LocalSource, trace: Trace, tree: QKVTree | None) -> Aggregated:
        """An answer that the server writes along. Raises LinkError where it cannot, and why."""
        self.link.wait(waiting.LIMITS.connect_s)
        return Aggregated(self.link, source, asked, trace, tree)

    def weighed(self, text: str, max_tokens: int) -> Weighed:
        """What decides about a question. Asks nobody."""
        held = self.memory.held
        knowledge = held.knowledge
        prompt = max(knowledge.prompts.quantile(0.5), len(text.split()) * _WORD_TOKENS)
        costs = self._costs(self.source(), round(prompt), max_tokens)
        budget = cost.budget(self.prices.spare, costs)
        estimate = knowledge.energy.estimate(self.prices.joules_per_gflop)
        return Weighed(knowledge, costs, budget, prompt, max_tokens, held.rates, self.prices.reading_rate, estimate)

    def read(self, side: Side, hits: Sequence[Hit], answer_tokens: int, *, cut: bool) -> None:
        """Note which side read the server's passages for an answer that is private: what either may read is counted."""
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

    def learn(self, race: Race, answer_tokens: int, *, cut: bool) -> None:
        """Note what the race taught, once it is over. What cannot be kept is known until the program ends."""
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
        """What is known of this device's energy, with what its battery says now.

        The tokens computed since the last look are counted as of a prompt of this length.
        """
        if self._read and time.monotonic() - self._read[0].at_s < energy.LEAST_S:
            return known
        reading, before = self.battery(), self._read
        computed = source.engine.computed
        if reading and before:
            gflops = (computed - before[1]) * _shape(source).operations(length) / 1e9
            stretch = energy.between(before[0], reading, gflops)
            if stretch and not stretch.tells:
                return known  # it goes on
            if stretch:
                known = known.after(stretch, self.prices.joules_per_gflop)
        self._read = (reading, computed) if reading else None
        return known

    def _costs(self, source: LocalSource, prompt: int, answer: int) -> Costs:
        prices = self.prices
        return cost.costs(
            prices.server,
            _shape(source),
            self.memory.held.knowledge.energy.estimate(prices.joules_per_gflop).joules_per_gflop,
            prices.per_joule,
            prompt=prompt,
            answer=answer,
        )


def _shape(source: LocalSource) -> ModelShape:
    """Of the model here, for its energy. Its heads share keys and values, so that the width is not known but theirs."""
    info = source.engine.info
    return ModelShape(info.parameters, layers=1, width=info.kv_bytes_per_token // 4)
