"""Answers questions: `Assistant.ask`. `Facts` gathers what this device knows; then the planner decides each step.

What only a model's answer needs is imported late: kept answers, and those of rules, are given without it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING

from device_app.answering import conclusion
from device_app.answering.facts import Facts
from device_app.answering.parsing import Parser
from device_app.answering.planner import plan
from device_app.answering.records import Records, SoFar
from device_app.answering.state import GENERATED, Action, Concluded, Connection, Explanation, Kept, State
from device_app.cache.answers.wrong import is_wrong, unanswered
from device_app.everyday.rule import local_now
from device_app.question.answer import Answer, Event, Events, Found, LookedUp, Wrote, own_sources
from device_app.question.request import Prepared, Request, embedding_of, search_query_of
from shared import prompt as prompts

if TYPE_CHECKING:
    from device_app.answering.writer import Marks, Writer
    from device_app.cache.answers.bank import Considered, QABank
    from device_app.cache.states.tree import QKVTree
    from device_app.companion.dispatch.public import PublicQuestions
    from device_app.english.query import Query
    from device_app.everyday.rule import Everyday
    from device_app.inference.local import LocalSource
    from device_app.knowledge.freshness import Freshness
    from device_app.knowledge.retriever import Retriever
    from device_app.question.options import Options
    from device_app.question.typed import ReadWhileTyping
    from models.engine import Embedder
    from shared.prompt import Prompt
    from shared.trace import Trace
    from shared.types import Hit, StoredPassage
    from storage.conversations import ConversationStore, Turn
    from storage.qa_entries import Origin


@dataclass(frozen=True, slots=True)
class Assistant:
    """Answers questions from the store. `source` waits for the model, which may still be loading.

    `public` is None if no server is connected, or none may be asked. Without `freshness`, files are assumed to be
    unchanged since they were read.
    """

    retriever: Retriever
    embedder: Embedder
    conversations: ConversationStore
    source: Callable[[], LocalSource]
    bank: QABank
    tree: QKVTree
    everyday: Everyday
    public: PublicQuestions | None = None
    freshness: Freshness | None = None
    clock: Callable[[], datetime] = local_now

    def ask(
        self, question: str, options: Options, conversation: int | None = None, typed: ReadWhileTyping | None = None
    ) -> Iterator[Event]:
        """Answer a question: yield its passages, the text being written, the server's rounds of retrieval, and the
        finished answer.

        With a conversation, a follow-up question is read together with the earlier turns; any other question is read
        alone. If the stream is closed early or fails, the text written so far stays in the history, marked incomplete.
        `typed` is the record of what was read while the question was typed. Raises UsageError, StoreError,
        WeightsError, EngineError, NothingWritten; ContextFull if not even one passage fits.
        """
        request = self._request(question, options, conversation)
        if typed:
            request = replace(request, typed=typed)
        turn = self.conversations.begin(question, conversation)
        yield from self._recorded(turn, request, self._answered(request))

    def _answered(self, request: Request) -> Events:
        """Gather what this device knows; then carry out the planner's actions one by one, recording each result in the
        state, until the plan ends.
        """
        marks: Marks = cache(lambda: self.bank.marks(request.query, request.vector))
        writer = cache(partial(self._writer, request, marks))
        try:
            joint = writer().server.begin_joint(writer().model) if request.begins_jointly else None
            state = self._facts.gathered(request, joint)
            while True:
                match plan(request, state):
                    case "joint request":
                        state = replace(state, joint=writer().server.begin_joint(writer().model))
                    case "connection":
                        state = replace(state, connection=writer().server.connect())
                    case "cost":
                        yield Found(state.hits[: request.options.plan.passages])
                        state = replace(state, costed=writer().costed(state))
                    case Action("fetch then generate") if state.fetched is None:
                        own = state.costed.attempt.hits if state.costed else ()
                        fetched = writer().server.fetch(own, partial(writer().compute_ahead, state))
                        yield from fetched.rounds
                        state = replace(state, fetched=fetched)
                    case Action("answer by rule" | "serve kept" | "quote" | "nothing" | "decline") as action:
                        state = replace(state, concluded=(yield from self._at_once(request, state, action)))
                    case Action("generate" | "fetch then generate" | "together" | "write without files") as action:
                        state = replace(state, concluded=(yield from writer().written(state, action)))
                    case Action("race") as action:
                        state = state.after((yield from writer().raced(state, action)))
                    case Action("prefill"):
                        writer().prefill(state)
                        self.bank.wait(request.query, request.vector, writer().fingerprint(), request.origin)
                        return
                    case _:
                        yield from self._ended(request, state, writer, marks)
                        return
        finally:
            if writer.cache_info().currsize:  # it was made
                writer().server.close()

    def prepare(self, asked: Query, options: Options, origin: Origin, *, decode: bool) -> Prepared | None:
        """Prepare the answer to a predicted question as `ask` would, without a conversation or a server.

        Return None if no passage is found. Without `decode`, only the attention states are computed, and the question
        is queued for its answer. If the files would be quoted, no model runs. Raises the errors of `ask`.
        """
        alone = replace(self, public=None, freshness=None)
        search_query = search_query_of(asked, options)
        fresh, embed = replace(options, fresh=True), embedding_of(asked, self.retriever.embedder)
        request = Request(asked, search_query, embed, fresh, origin=origin, decode=decode)
        answers = [event for event in alone._answered(request) if isinstance(event, Answer)]
        if not answers:
            return Prepared(request.trace)
        (answer,) = answers
        at_once = answer.quoted or answer.origin == "rule"
        prepared = Prepared(request.trace, answer.abstained, at_once, answer.marked_wrong)
        return prepared if answer.found else None

    def explain(self, question: str, options: Options) -> Explanation:
        """Return how a question would be answered. Sends and writes nothing. Raises UsageError, StoreError.

        Loads a model only if the cost of its prompt decides.
        """
        facts = replace(self._facts, freshness=None)
        request = self._request(question, options, None)
        state = State(facts.ruled(request) if request.uses_rules else None)
        if request.model_only or state.ruled:
            step = plan(request, state)
            if step == "connection":  # assume that the server can be reached
                step = plan(request, replace(state, connection=Connection(is_up=True)))
            return Explanation(request, state, step, step)
        kept = facts.similar(request) if request.uses_kept else Kept(None)
        state = replace(state, kept=Kept(None), retrieved=facts.retrieved(request))
        while True:
            match plan(request, state):
                case "connection":
                    state = replace(state, connection=Connection(is_up=True))  # assume that the server can be reached
                case "cost":
                    state = replace(state, costed=self._writer(request).costed(state))
                case otherwise:
                    state = replace(state, kept=kept)
                    return Explanation(request, state, plan(request, state), otherwise)

    def similar(self, question: str, options: Options) -> Sequence[Considered]:
        """Return the kept answers compared with the question, those that fit it best first; none if no kept answer may
        be served.

        Raises UsageError, StoreError.
        """
        request = self._request(question, options, None)
        return self._facts.similar(request).similar if request.uses_kept and not request.model_only else ()

    def prompt(self, question: str, options: Options, conversation: int | None = None) -> Prompt | None:
        """Return the first prompt for a model; None if no relevant passage is found. Raises UsageError, StoreError."""
        request = self._request(question, options, conversation)
        if request.model_only:
            return self._writer(request).attempt_without_files().prompt
        hits = replace(self._facts, freshness=None).retrieved(request, quotes=False).hits
        return self._writer(request).attempt(hits[: options.plan.passages]).prompt if hits else None

    def missing(self, asked: Query, options: Options) -> int:
        """Return about how many bytes of attention states the question's first prompt would add to the tree."""
        search_query = search_query_of(asked, options)
        hits = self.retriever.search(search_query, options.plan.passages, options.relevance)
        if not hits:
            return 0
        request = Request(asked, search_query, embedding_of(asked, self.retriever.embedder), options)
        prompt = self._writer(request).attempt(hits).prompt
        return self.source().missing(prompt, self.tree) if prompt else 0

    def read(self, passage: StoredPassage, most_bytes: float) -> Trace | None:
        """Compute and keep the attention states of a passage before any question, if they take at most `most_bytes`.

        Return None if they take more, if they are kept already, or if the passage is too long for the model.
        """
        source = self.source()
        prompt = prompts.build("", [passage], source.template)
        return source.prefill(prompt, self.tree) if source.may_keep(prompt, self.tree, most_bytes) else None

    def states_kept(self, request: Request, hits: Sequence[Hit]) -> set[int]:
        """Return the ids of the passages whose kept attention states an answer from `hits` would reuse."""
        prompt = self._writer(request).attempt(hits).prompt if hits else None
        return self.source().reused(prompt, self.tree) if prompt else set()

    def may_fetch(self, options: Options) -> bool:
        """Return whether a server may be asked, unrequested, for information that the files lack."""
        return self.public is not None and options.public and options.reach != "asked"

    @property
    def _facts(self) -> Facts:
        return Facts(self.retriever, self.bank, self.everyday, self.freshness, self.clock)

    @property
    def _parser(self) -> Parser:
        return Parser(self.retriever, self.conversations, self.clock)

    @property
    def _records(self) -> Records:
        return Records(self.conversations, self.bank)

    def _writer(self, request: Request, marks: Marks = tuple) -> Writer:
        """Return the writer of the answer; `marks` looks up the marks of wrong answers, without which none is
        written.
        """
        from device_app.answering.server import Server
        from device_app.answering.writer import Writer

        server = Server(self.public, request, self.tree, self.embedder)
        return Writer(request, self.source, self.tree, self.embedder, server, marks)

    def _request(self, question: str, options: Options, conversation: int | None) -> Request:
        has_server = self.public is not None and options.public
        return self._parser.parse(question, options, conversation, has_server=has_server)

    def _at_once(self, request: Request, state: State, action: Action) -> Generator[Found | Wrote, None, Concluded]:
        """Yield an answer without a model: by rule, a kept answer, a quote, or a statement that there is no answer."""
        if state.ruled:
            answer = conclusion.ruled(state.ruled, action, request.trace)
        elif request.model_only:
            return Concluded(action, conclusion.declined(request, action))
        elif state.kept and state.kept.serving:
            cited = own_sources(state.kept.serving.entry.record)
            answer = conclusion.kept(state.kept.serving, self.retriever.store.passages(cited), request.trace)
        elif state.retrieved and state.retrieved.quoted:
            answer = conclusion.quoted(state.retrieved.quoted, action, request.trace)
        else:
            answer = conclusion.nothing(request)
        yield Found(answer.hits)
        return Concluded(action, answer)

    def _ended(self, request: Request, state: State, writer: Callable[[], Writer], marks: Marks) -> Events:
        """Yield the answer, then update the learned estimates, and keep the answer if it may be served again."""
        assert state.concluded
        concluded, answer, kept = state.concluded, state.concluded.answer, state.kept and state.kept.serving
        is_new = not (kept or answer.abstained or answer.origin == "rule")  # none of the others is marked
        if is_new and is_wrong(answer.text, answer.written_by, marks()):
            answer = unanswered(answer)
        yield conclusion.in_english(request.query.text, answer)
        if kept:
            self.bank.served(kept, request.query, request.vector, request.trace.elapsed_ms())
            return
        if concluded.action.kind in GENERATED:
            writer().settle(concluded)
        is_plain = request.search_query == request.query and concluded.action.kind not in ("together", "quote")
        is_told = answer.found and not (answer.guess and state.hits)  # a guess says nothing about the files
        if is_plain and is_told and state.retrieved:
            self._records.keep(request, answer, state.retrieved.newest, writer().fingerprint())

    def _recorded(self, turn: Turn, request: Request, events: Events) -> Events:
        """Yield the events; always store the text written, and the data that left the device, in the history.

        Text that was ready at once, or checked before it is shown, is yielded in one piece; so is the text of an
        abstention.
        """
        so_far = SoFar(self.conversations, turn, request)
        rounds: list[LookedUp] = []
        answer: Answer | None = None
        try:
            with closing(events):
                for event in events:
                    if isinstance(event, Wrote):
                        so_far.add(event.text)
                    elif isinstance(event, LookedUp):
                        rounds.append(event)
                    elif isinstance(event, Answer):
                        if event.found and not so_far.pieces:
                            so_far.add(event.text)
                            event.trace.first_token()
                            yield Wrote(event.text)
                        looked, left = request.looked, request.ledger.egress
                        stale = tuple(looked.stale) if event.written == "rule" else looked.of(event.hits)
                        whole = replace(event, egress=left, stale=stale, rounds=tuple(rounds))
                        answer = self._records.finished(turn, whole, request.typed)
                    yield answer or event
        finally:
            if not answer:
                self._records.count_typing(request.typed, ())
                so_far.store()
