"""A companion server's part in one question: connect, search, write a joint answer, or take part in a race.

The request's ledger records all data that leaves the device for that, also when a step fails.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from device_app.answering.state import Connection, Fetched, Joint
from device_app.cache.states.tree import QKVTree
from device_app.companion import waiting
from device_app.companion.dispatch.aggregating import Choice, Limits, SideTimes, Work, choose, lead
from device_app.companion.dispatch.aggregation_choice import (
    AggregationChoice,
    AggregationLimits,
    Pace,
    choose_aggregation,
)
from device_app.companion.dispatch.memory import Held
from device_app.companion.dispatch.profile import Profile
from device_app.companion.dispatch.public import PublicQuestions
from device_app.companion.dispatch.race import Race
from device_app.companion.dispatch.race_report import Question
from device_app.companion.fetching import Search
from device_app.companion.joint.aggregated import AHEAD, Aggregated, JointQuestion
from device_app.companion.joint.joint_request import JointReport
from device_app.inference.local import ROW_COST, LocalSource
from device_app.question.answer import AT, Answer
from device_app.question.options import SHORT_ANSWER, Options
from device_app.question.request import Request
from models.engine import Embedder
from shared.aggregation.messages import Rule
from shared.aggregation.scheduler import Lead
from shared.aggregation.weights import RELEVANCE_TEMPERATURE
from shared.errors import LinkError
from shared.prompt import Prompt
from shared.public import hit as public_hit
from shared.text import PASSAGE_WORDS, embedded_text
from shared.trace import Trace
from shared.types import Hit
from storage.vectors import Vectors

PASSAGE_TOKENS: Final = 1.4 * PASSAGE_WORDS
"""The expected number of tokens in a passage of the server, before it is fetched."""

NAMED: Final = "a pipeline that was named writes no joint answer"

NEAR: Final = 3 * RELEVANCE_TEMPERATURE
"""A server's passage whose similarity is further below the best one is dropped: in the mixture of both sides' token
distributions, its weight would be less than 0.05 of the best passage's.
"""


LEAST_TIMED: Final = 8
"""The fewest tokens of a joint answer from which its speed is learned."""


@dataclass(slots=True)
class Server:
    """The server for one question. It has to be closed, which ends any joint answer still running.

    If `connected` is None, nothing is sent. `aggregation` says which side decides the final tokens of the joint answer,
    `lead` which side is expected to draft first, and how much sooner.
    """

    connected: PublicQuestions | None
    request: Request
    tree: QKVTree
    embedder: Embedder
    aggregated: Aggregated | None = None
    aggregation: AggregationChoice | None = None
    lead: Lead | None = None
    _cleanup: ExitStack = field(default_factory=ExitStack)

    @property
    def public(self) -> PublicQuestions:
        """The interface for public questions to the server. Requires `connected`."""
        assert self.connected
        return self.connected

    def close(self) -> None:
        """End the joint answer, and record the data sent for it."""
        self._cleanup.close()
        self._cleanup = ExitStack()

    def connect(self) -> Connection:
        """Return the state of the connection, after waiting for the first attempt to connect."""
        link = self.public.link
        state = link.wait(waiting.LIMITS.connect_s)
        if not state.connected:
            return Connection(False, state.why_not())
        if self.request.model_only and not (state.offer and state.offer.model_only):
            return Connection(False, f"{AT}{state.server} writes answers from its passages only")
        offered = frozenset(state.offer.aggregation) if state.offer else None
        return Connection(True, "", state.round_trip_s, link.incompatible_reason, offered)

    def begin_joint(self, source: LocalSource) -> Joint:
        """Ask the server for a joint answer, which runs until `close`."""
        options, request = self.request.options, self.request
        connection = self.connect()
        if not connection.is_up:
            return Joint(refused=connection.why_not)
        position = self.public.memory.held.profile.device.mean_position
        times = _side_times(self.public.memory.held, position, connection.round_trip_s)
        self.aggregation = chosen = self._aggregation(times, connection.aggregation)
        asked = JointQuestion(
            request.query.text,
            options.sampling,
            options.max_tokens,
            options.plan.passages,
            rule=_rule(options),
            place=chosen.place,
            open=options.open,
            scheduled=chosen.way == "scheduled",
            weights_every=options.weights_every,
        )
        try:
            joint = self.public.together(asked, source, request.trace, self.tree)
        except LinkError as error:
            return Joint(refused=str(error))
        self._cleanup.callback(lambda: request.ledger.left(joint.report.sent_bytes, joint.report.sent))
        self.aggregated = self._cleanup.enter_context(joint)
        return Joint()

    def fetch(self, own: Sequence[Hit], meanwhile: Callable[[], None]) -> Fetched:
        """Return the server's passages that fit the question about as well as the files' passages do.

        `meanwhile` is called while the server searches; the errors that it raises end the search.
        """
        request, link = self.request, self.public.link
        search = Search(link, request.query.text, request.options.plan.passages, request.options.pipeline)
        try:
            with search:
                meanwhile()
                with request.trace.step("search"):
                    search.wait()
        except LinkError as error:
            return Fetched(failed=str(error), rounds=search.rounds.looked_up)
        finally:
            request.ledger.left(search.sent_bytes, ("the question",))
        held = self.public.memory.held
        profile = held.profile.searched(search.seconds, link.state.round_trip_s)
        self.public.memory.hold(replace(held, profile=profile))
        near = self._near(request.vector, own, [public_hit(passage) for passage in search.passages])
        return Fetched(near, rounds=search.rounds.looked_up)

    def choice(self, source: LocalSource, prompt: Prompt, connection: Connection, *, reads_ahead: bool) -> Choice:
        """Choose the plan for a question that goes beyond the files, from what is known about the server.

        `reads_ahead`: the device reads the prompt of its own passages during a search. Sends nothing.
        """
        options, public = self.request.options, self.public
        weighed = public.weighed(self.request.query.text, options.max_tokens)
        answer = min(weighed.knowledge.answers.quantile(0.5), options.max_tokens)
        rows = 2 * options.plan.passages if arranged(options).plan.arrangement == "rows" else 1
        mixing = ROW_COST * max(rows - max(len(prompt.passages), 1), 0)
        public_tokens = options.plan.passages * PASSAGE_TOKENS
        work = Work(source.cost(prompt, self.tree), public_tokens, answer, mixing, reads_ahead)
        limits = Limits(
            agreed=options.reach == "fitting",
            incompatible=NAMED if options.pipeline else connection.incompatible,
            fits=source.room(prompt) - work.public >= min(options.max_tokens, SHORT_ANSWER),
            spared=weighed.budget.constraint == "server" and weighed.allowed <= 0,
            used_up=weighed.used_up.get("server", ""),
        )
        known = _side_times(self.public.memory.held, source.count(prompt) + answer / 2, connection.round_trip_s)
        self.lead = lead(known, work, AHEAD)
        return choose(known, work, weighed.reading_rate, limits, self._aggregation(known, connection.aggregation))

    @contextmanager
    def race(self, trace: Trace) -> Iterator[Race]:
        """Yield a race for the answer, which retrieves the server's passages first unless a model answers alone.

        An answer that is cancelled or fails after its first token is learned from; of its length, only the least is
        known. Raises LinkError if the server cannot be asked.
        """
        options, is_alone = self.request.options, bool(self.request.model_only)
        how = options.sampling, options.max_tokens, 0 if is_alone else options.plan.passages, options.pipeline
        question = Question(self.request.query.text, *how, server_begins=self.request.server_begins)
        with trace.step("decide"):
            race = self.public.race(question, trace)
        try:
            with race:
                yield race
        except BaseException:
            if race.report.winner:
                self.public.learn(race, trace.tokens_decoded, cut=True)
            raise
        finally:
            self.request.ledger.left(race.report.sent_bytes, race.report.sent)
            self.public.charge_race(race.report)

    def learn(self, answer: Answer) -> None:
        """Update the estimates from an answer: this device's speed or, for a joint answer, the acceptance of drafts.

        Also record which side read the server's passages, the length of an answer from them, and its costs.
        """
        if self.connected is None:
            return
        trace, joint, held = self.request.trace, self.aggregated, self.public.memory.held
        if joint:
            if joint.report.server_step_s:
                held = held.at_rates({"server": 1 / joint.report.server_step_s})
            profile = self._judged(held, joint.report)
            if joint.report.waited_s:
                server = held.knowledge.server.observe(joint.report.waited_s, censored=True)
                held = replace(held, knowledge=replace(held.knowledge, server=server))
        else:
            read_s, written_s = (trace.step_ms(step) / 1000 for step in ("prefill", "decode"))
            read, written = trace.tokens_prefilled, trace.tokens_decoded
            position = trace.tokens_cached + read + written / 2
            profile = held.profile.wrote(read, read_s, written, written_s, position)
        if replace(held, profile=profile) != self.public.memory.held:
            self.public.memory.hold(replace(held, profile=profile))
        if any(hit.side == "server" for hit in answer.hits):
            self.public.read("server" if joint else "device", answer.hits, trace.tokens_decoded, cut=answer.cut)
        self.public.charge(trace.tokens_cached + trace.tokens_prefilled)

    def _aggregation(self, times: SideTimes, offered: frozenset[str] | None) -> AggregationChoice:
        """Choose which side would decide a joint answer's tokens. `offered` are the ways of deciding that the server
        supports; None takes those that it supported when last connected.
        """
        options, profile = self.request.options, self.public.memory.held.profile
        limits = AggregationLimits(_rule(options), options.open, profile.offered if offered is None else offered)
        return choose_aggregation(options.aggregation, limits, Pace(times.figures, profile.ratios, self.lead))

    def _judged(self, held: Held, report: JointReport) -> Profile:
        """Return the profile updated by a joint answer: shares of accepted drafts, speed, and the ways of deciding
        tokens that the server supports.
        """
        profile, chosen, state = held.profile.judged(report.judged), self.aggregation, self.public.link.state
        if state.offer:
            profile = replace(profile, offered=frozenset(state.offer.aggregation))
        if chosen and report.timed >= LEAST_TIMED:
            position = profile.device.mean_position
            times = _side_times(replace(held, profile=profile), position, state.round_trip_s)
            ahead = replace(self.lead, answer=report.timed) if self.lead else None
            profile = profile.timed(chosen.rule, chosen.way, report.token_s, times.figures, ahead)
        return profile

    def _near(self, vector: Vectors, own: Sequence[Hit], fetched: Sequence[Hit]) -> list[Hit]:
        """Return the server's passages that are near, nearest first, scored with the device's embedder like those of
        the files.
        """
        if not fetched:
            return []
        texts = [embedded_text(hit.passage.title, hit.passage.text) for hit in fetched]
        similar = (self.embedder.embed(texts) @ vector).tolist()
        least = max(*similar, *(hit.similarity for hit in own)) - NEAR
        near = [replace(hit, similarity=each) for hit, each in zip(fetched, similar, strict=True) if each >= least]
        return sorted(near, key=lambda hit: -hit.similarity)


def _side_times(held: Held, position: float, round_trip_s: float | None) -> SideTimes:
    """Return the expected times of both sides per token, for tokens at about this position in a sequence."""
    server = held.knowledge.server.quantile(0.5), 1 / held.rates["server"]
    return held.profile.known(position, *server, round_trip_s)


def _rule(options: Options) -> Rule:
    """Return the rule that accepts drafts in a joint answer: greedy at temperature 0, where all rules agree.

    At other temperatures, it is Algorithm 1 of the DRAGON paper if token distributions may leave the device (`open`).
    Otherwise it is "coupled", which sends none: both sides draw their drafts with the same random numbers.
    """
    if not options.sampling.temperature:
        return "greedy"
    return "algorithm1" if options.open else "coupled"


def arranged(options: Options) -> Options:
    """Return options for reading both sides' passages: a prompt for each passage if that suits the model best.

    The distributions of these prompts are mixed as in a joint answer. One prompt with all passages gives worse answers
    (`scripts/bench answers`).
    """
    alone = options.plan.passages == 1
    return replace(options, plan=replace(options.plan, arrangement="rows")) if alone else options
