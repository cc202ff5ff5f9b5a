"""What a companion server does for one question: it is waited for, searches, writes along, or takes part in a race.

What leaves the device for that is in the request's ledger, whatever becomes of it.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Self

from device_app.answering import planner
from device_app.cache.states.tree import QKVTree
from device_app.companion import waiting
from device_app.companion.dispatch.aggregating import Choice, Limits, Work, choose
from device_app.companion.dispatch.public import PublicQuestions
from device_app.companion.dispatch.race import Race
from device_app.companion.dispatch.race_report import Question
from device_app.companion.fetching import Search
from device_app.companion.joint.aggregated import Aggregated, JointQuestion
from device_app.inference.local import ROW_COST, LocalSource
from device_app.inference.prompting import SHORT_ANSWER
from device_app.question.answer import Answer
from device_app.question.options import Options
from device_app.question.request import Request
from models.engine import Embedder
from shared.aggregation.messages import Rule
from shared.aggregation.weights import RELEVANCE_TEMPERATURE
from shared.errors import LinkError
from shared.prompt import Prompt
from shared.public import hit as public_hit
from shared.text import PASSAGE_WORDS, embedded_text
from shared.trace import Trace
from shared.types import Hit
from storage.vectors import Vectors

PASSAGE_TOKENS: Final = 1.4 * PASSAGE_WORDS
"""Of a server's passage, before it is there."""

NEAR: Final = 3 * RELEVANCE_TEMPERATURE
"""A passage of the server that fits the question worse than the best one by more than this would weigh under .05."""


@dataclass(slots=True)
class Server:
    """The server for one question. Use it with `with`, which ends whatever goes on there. Nothing is asked of it where
    there is no `connected` one.
    """

    connected: PublicQuestions | None
    request: Request
    tree: QKVTree
    embedder: Embedder
    aggregated: Aggregated | None = None
    _cleanup: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def public(self) -> PublicQuestions:
        """What asks it."""
        assert self.connected
        return self.connected

    @property
    def is_joint(self) -> bool:
        """Whether it writes along."""
        return self.aggregated is not None

    def end(self) -> None:
        """End the joint answer, and note what left for it."""
        self._cleanup.close()
        self._cleanup = ExitStack()

    def connect(self) -> planner.Connection:
        """How the connection stands, once the first attempt to make it has come to an end."""
        link = self.public.link
        state = link.wait(waiting.LIMITS.connect_s)
        if not state.connected:
            return planner.Connection(False, state.why_not())
        return planner.Connection(True, "", state.round_trip_s, link.incompatible_reason)

    def begin_joint(self, source: LocalSource) -> planner.Joint:
        """Ask the server to write along, until `end`."""
        options, request = self.request.options, self.request
        # Open is the paper's way; at temperature 0 there is but one.
        rule: Rule | None = "algorithm1" if options.open and options.sampling.temperature else None
        most = options.plan.passages
        asked = JointQuestion(
            request.query.text, options.sampling, options.max_tokens, most, rule=rule, open=options.open
        )
        try:
            joint = self.public.together(asked, source, request.trace, self.tree)
        except LinkError as error:
            return planner.Joint(refused=str(error))
        self._cleanup.callback(lambda: request.ledger.left(joint.report.sent_bytes, joint.report.sent))
        self.aggregated = self._cleanup.enter_context(joint)
        return planner.Joint()

    def fetch(self, own: Sequence[Hit]) -> planner.Fetched:
        """The server's passages that fit the question as well as those of the files."""
        search, link, request = Search(), self.public.link, self.request
        try:
            with request.trace.step("search"):
                search.run(link, request.query.text, request.options.plan.passages)
        except LinkError as error:
            return planner.Fetched(failed=str(error))
        finally:
            request.ledger.left(search.sent_bytes, ("the question",))
        held = self.public.memory.held
        profile = held.profile.searched(search.seconds, link.state.round_trip_s)
        self.public.memory.hold(replace(held, profile=profile))
        return planner.Fetched(self._near(request.vector, own, [public_hit(passage) for passage in search.passages]))

    def choice(self, source: LocalSource, prompt: Prompt, connection: planner.Connection) -> Choice:
        """Which way pays for a question that goes beyond the files, as far as is known of the server. Asks nobody."""
        options, public = self.request.options, self.public
        weighed = public.weighed(self.request.query.text, options.max_tokens)
        answer = min(weighed.knowledge.answers.quantile(0.5), options.max_tokens)
        rows = 2 * options.plan.passages if arranged(options).plan.arrangement == "rows" else 1
        mixing = ROW_COST * max(rows - max(len(prompt.passages), 1), 0)
        work = Work(source.cost(prompt, self.tree), options.plan.passages * PASSAGE_TOKENS, answer, mixing)
        limits = Limits(
            agreed=options.reach == "fitting",
            incompatible=connection.incompatible,
            fits=source.room(prompt) - work.public >= min(options.max_tokens, SHORT_ANSWER),
            spared=weighed.budget.constraint == "server" and weighed.allowed <= 0,
        )
        known = public.memory.held.profile.known(
            source.count(prompt) + answer / 2,
            weighed.knowledge.server.quantile(0.5),
            1 / weighed.rates["server"],
            connection.round_trip_s,
        )
        return choose(known, work, weighed.reading_rate, limits)

    @contextmanager
    def race(self, trace: Trace) -> Iterator[tuple[Race, Sequence[Hit]]]:
        """A race for the answer, and what the server has found for it. Raises LinkError where it cannot be asked."""
        options = self.request.options
        question = Question(self.request.query.text, options.sampling, options.max_tokens, options.plan.passages)
        with trace.step("decide"):
            race = self.public.race(question, trace)
        try:
            with race:
                yield race, [public_hit(passage) for passage in race.search()]
        finally:
            self.request.ledger.left(race.report.sent_bytes, race.report.sent)

    def learn(self, answer: Answer) -> None:
        """Learn from an answer: how fast this device is or, where both sides wrote it, how often drafts are accepted.

        Which side read the server's passages is counted, and how long an answer with them was.
        """
        if self.connected is None:
            return
        trace, joint, held = self.request.trace, self.aggregated, self.public.memory.held
        if joint:
            profile = held.profile.judged(joint.report.judged)
        else:
            took = dict(trace.steps)
            read_s, written_s = (took.get(step, 0.0) / 1000 for step in ("prefill", "decode"))
            read, written = trace.tokens_prefilled, trace.tokens_decoded
            position = trace.tokens_cached + read + written / 2
            profile = held.profile.wrote(read, read_s, written, written_s, position)
        if profile != held.profile:
            self.public.memory.hold(replace(held, profile=profile))
        if any(hit.side == "server" for hit in answer.hits):
            self.public.read("server" if joint else "device", answer.hits, trace.tokens_decoded, cut=answer.cut)

    def _near(self, vector: Vectors, own: Sequence[Hit], fetched: Sequence[Hit]) -> list[Hit]:
        """The server's passages compared by the embedder here, which is the one that compared the person's own."""
        if not fetched:
            return []
        texts = [embedded_text(hit.passage.title, hit.passage.text) for hit in fetched]
        similar = (self.embedder.embed(texts) @ vector).tolist()
        least = max(*similar, *(hit.similarity for hit in own)) - NEAR
        near = [replace(hit, similarity=each) for hit, each in zip(fetched, similar, strict=True) if each >= least]
        return sorted(near, key=lambda hit: -hit.similarity)


def arranged(options: Options) -> Options:
    """How passages of both sides are read: a row each by a model that answers best from one at a time.

    That is the mixture that both sides would write. In one prompt it finds less (`scripts/bench answers`).
    """
    alone = options.plan.passages == 1
    return replace(options, plan=replace(options.plan, arrangement="rows")) if alone else options
