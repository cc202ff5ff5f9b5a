"""Writes answers with a model: on this device, jointly with a server, or on the side that a race chooses."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from device_app.answering import conclusion
from device_app.answering.checking import Check
from device_app.answering.generation import Generation
from device_app.answering.server import Server, arranged
from device_app.answering.sources.joint import Joint
from device_app.answering.sources.own import Fetched, Own, Weighing
from device_app.answering.sources.raced import Raced
from device_app.answering.sources.source import MOST_ATTEMPTS, TokenSource
from device_app.answering.state import Action, Attempt, Concluded, Connection, Costed, State
from device_app.cache.states.tree import QKVTree
from device_app.inference.local import LocalSource
from device_app.question.answer import Found, LookedUp, Wrote
from device_app.question.options import SHORT_ANSWER, Arrangement, Options
from device_app.question.request import Request
from models.engine import Embedder, EngineInfo
from shared import prompt as prompts
from shared.errors import EngineError, LinkError, NotWritable, StoreFull
from shared.prompt import Exchange, Prompt
from shared.public import hit as public_hit
from shared.types import Hit
from storage.wrong_answers import Mark

Marks = Callable[[], Sequence[Mark]]
"""Looks up the marks of wrong answers to a question."""

Writes = Generator[Found | LookedUp | Wrote, None, Concluded]


@dataclass(slots=True)
class Writer:
    """Writes the answer to one request. `source` waits for the model, which may still be loading.

    `marks` looks up the marks of wrong answers to the question, once.
    """

    request: Request
    source: Callable[[], LocalSource]
    tree: QKVTree
    embedder: Embedder
    server: Server
    marks: Marks
    _loaded: LocalSource | None = None

    @property
    def model(self) -> LocalSource:
        """The model; waits until it is loaded."""
        if self._loaded is None:
            with self.request.trace.step("load"):
                self._loaded = self.source()
        return self._loaded

    def attempt(self, hits: Sequence[Hit]) -> Attempt:
        """Return the prompt that the model reads for these passages, and the passages that fit into it."""
        return self._attempt(hits, self.request.options, self.request.earlier)

    def fingerprint(self) -> str:
        """Return the fingerprint of everything that determines the model's answer besides question and files."""
        return self.request.options.fingerprint_with(self.model.engine.info.adapter)

    def costed(self, state: State) -> Costed:
        """Return the prompt from the files' passages, and the plan chosen by its cost."""
        assert state.connection
        attempt = self.attempt(self._first(state))
        assert attempt.prompt
        known = self.model, attempt.prompt, state.connection
        return Costed(attempt, self.server.choice(*known, reads_ahead=self._reads_ahead(state)))

    def compute_ahead(self, state: State) -> None:
        """Compute the attention states of the files' passages while the server searches: they are needed anyway."""
        prompt = state.costed.attempt.prompt if state.costed else None
        if prompt and self._reads_ahead(state):
            with self.request.trace.step("prefill"):
                self.tree = self.model.computed_ahead(prompt, self.request.trace, self.tree)

    def prefill(self, state: State) -> None:
        """Compute the attention states of the first prompt, and keep them."""
        attempt = self.attempt(self._first(state))
        assert attempt.prompt
        self.model.prefill(attempt.prompt, self.tree, self.request.trace)

    def written(self, state: State, action: Action) -> Writes:
        """Write the answer with this device's model, alone or jointly with the server."""
        if action.kind == "write without files":
            return (yield from self._without_files(action))
        options, trace, server = self.request.options, self.request.trace, self.server
        if state.costed is None:
            yield Found(self._first(state))
        attempt = state.costed.attempt if state.costed else self.attempt(self._first(state))
        weighing = Weighing(self.embedder, self.request.query.text, options.weights_every)
        follows = weighing if options.weights_every else None
        how = self.model, self.tree, options.sampling, options.max_tokens, trace, follows
        tokens: TokenSource = Own(*how)
        others: Iterator[Attempt] = iter(())
        near = state.hits
        if server.aggregated:
            tokens = Joint(server.aggregated, Own(*how), server.aggregation)
        elif action.kind == "fetch then generate" and state.fetched:
            attempt = self._attempt([*attempt.hits, *state.fetched.hits], arranged(options), ())
            tokens, near = Fetched(*how), attempt.hits
            yield Found(near)
        else:
            others = self._others(near)
        check = self._check(near, state, action)
        try:
            written = yield from Generation(tokens, trace, self.keep, self.marks, check).events(attempt, others)
        finally:
            server.close()
        text = replace(written, hits=tokens.used(written.hits))
        answer = conclusion.written(self.request, text, state.hits, self._info, self.embedder, check)
        answer = tokens.credited(answer, action)
        return Concluded(action, answer, bool(self.request.ledger.egress.bytes), written.prompt)

    def attempt_without_files(self) -> Attempt:
        """Return the prompt that holds the request alone, with the exchanges that it follows on."""
        request = self.request
        return Attempt(prompts.turn(request.query.text, self.model.template, request.earlier), ())

    def _without_files(self, action: Action) -> Writes:
        """Write the answer with this device's model, without files; no attention states are kept."""
        request, options = self.request, self.request.options
        tokens = Own(self.model, self.tree, options.sampling, options.max_tokens, request.trace)
        attempt = self.attempt_without_files()
        written = yield from Generation(tokens, request.trace, self.keep, self.marks).events(attempt, iter(()))
        answer = conclusion.from_model(written, self._info, request.trace)
        return Concluded(action, tokens.credited(answer, action))

    def _raced_without_files(self, action: Action) -> Generator[Found | Wrote, None, Concluded | Connection]:
        """Let the side that a race chooses write the answer to a request that needs no file.

        Return the connection's state if the server cannot be asked, or if it fails before its first token and this
        device's model is too small to continue.
        """
        trace = self.request.trace
        try:
            with self.server.race(trace) as race:
                tokens = Raced(race)
                written = yield from Generation(tokens, trace, self.keep, self.marks).events(
                    Attempt(None, ()), iter(())
                )
        except LinkError as error:
            return Connection(is_up=False, why_not=str(error))
        self._loaded = self._loaded or self.source()  # the race has waited for the model
        answer = tokens.credited(conclusion.from_model(written, self._info, trace), action)
        self.server.public.learn(race, len(written.pieces), cut=answer.cut)
        return Concluded(action, answer, has_sent=True)

    def raced(self, state: State, action: Action) -> Generator[Found | LookedUp | Wrote, None, Concluded | Connection]:
        """Answer from the server's passages, written by the side that a race chooses.

        If the race gives no answer, or fails before any text is shown, the result is the earlier abstention: that the
        files contain no answer.
        """
        if self.request.model_only:
            return (yield from self._raced_without_files(action))
        self.server.close()
        trace, silent = self.request.trace, state.concluded and state.concluded.answer
        if state.concluded and silent:
            self.settle(state.concluded)  # frees the engine, which may have to read the server's passages
            own_files = [("own files", trace.elapsed_ms())]
            trace = replace(trace, steps=own_files, first_token_ms=None, tokens_decoded=0)
        generation: Generation | None = None
        try:
            with self.server.race(trace) as race:
                passages = yield from race.search()
                hits = [public_hit(passage) for passage in passages]
                if hits or not silent:
                    yield Found(hits)
                tokens, written = Raced(race), None
                if hits:
                    generation = Generation(tokens, trace, self.keep, self.marks)
                    written = yield from tokens.with_rounds(generation.events(Attempt(None, hits), iter(())))
            answer = conclusion.nothing_anywhere(trace)
            self._loaded = self._loaded or self.source()  # the race has waited for the model
            if written:
                of_race, written = replace(self.request, trace=trace), replace(written, hits=tokens.used(written.hits))
                answer = conclusion.written(of_race, written, hits, self._info, self.embedder, is_strict=False)
                answer = tokens.credited(answer, action)
            self.server.public.learn(race, len(written.pieces) if written else 0, cut=answer.cut)
        except (EngineError, LinkError) as error:
            if (generation and generation.has_shown) or not (silent or isinstance(error, LinkError)):
                raise
            if not silent:
                yield Found(())
            answer = conclusion.not_raced(str(error), action, trace)
        if silent and answer.abstained:
            answer = conclusion.still_silent(silent, answer)
        return Concluded(action, answer, has_sent=True)

    def settle(self, concluded: Concluded) -> None:
        """Keep the attention states of the last prompt, and update the estimates from how long the answer took."""
        self.keep(concluded.prompt)
        self.server.learn(concluded.answer)

    def keep(self, prompt: Prompt | None) -> None:
        """Keep the attention states of the last prompt.

        A full or read-only store is ignored, as the answer is unaffected.
        """
        if prompt is not None:
            with suppress(StoreFull, NotWritable):
                self.model.keep(prompt, self.tree)

    @property
    def _info(self) -> EngineInfo:
        return self.model.engine.info

    def _first(self, state: State) -> Sequence[Hit]:
        """Return the passages for the first prompt."""
        return state.hits[: self.request.options.plan.passages]

    def _reads_ahead(self, state: State) -> bool:
        """Return whether the files' passages are read during a search; False if they will be quoted when the server
        finds nothing.
        """
        return self.model.computes_ahead and not (state.retrieved and state.retrieved.quoted)

    def _attempt(self, hits: Sequence[Hit], options: Options, earlier: Sequence[Exchange]) -> Attempt:
        """Return the prompt and the passages in it: the least relevant passages are left out until a short answer fits.

        At least one is kept, even if it does not fit.
        """
        needed = min(options.max_tokens, SHORT_ANSWER)
        while True:
            passages = [hit.passage for hit in hits]
            rows = prompts.build(self.request.query.text, passages, self.model.template, earlier)
            prompt = self._arranged(rows, options.plan.arrangement, needed)
            if len(hits) == 1 or self.model.room(prompt) >= needed:
                return Attempt(prompt, hits)
            hits = hits[:-1]

    def _arranged(self, rows: Prompt, arrangement: Arrangement, needed: int) -> Prompt:
        """Return the prompt with its passages in rows or, as the arrangement says, in one row: first those of a kept
        path, which need not be computed.

        The cheapest is in rows only if an answer of `needed` tokens fits. The result does not depend on whether
        passages were read while the question was typed.
        """
        if arrangement == "rows" or len(rows.passages) == 1:
            return rows
        key = self.model.engine.info.kv_key
        typed = [passage for passage in rows.passages if passage[-1].passage in self.request.typed.passages]
        before = self.tree.without(key, rows.head, typed)
        joined = rows.ordered(before.order(key, rows.head, rows.passages)).joined()
        if arrangement == "cheapest" and self.model.room(rows) >= needed:
            return min((joined, rows), key=partial(self.model.cost, tree=before))
        return joined

    def _others(self, near: Sequence[Hit]) -> Iterator[Attempt]:
        """Yield an attempt with each further passage that fits, for models that read one passage at a time.

        They are read if the best passage contains no answer.
        """
        for other in near[1:MOST_ATTEMPTS] if self.request.options.plan.passages == 1 else ():
            attempt = self.attempt([other])
            if attempt.prompt and self.model.room(attempt.prompt) > 0:
                yield attempt

    def _check(self, near: Sequence[Hit], state: State, action: Action) -> Check | None:
        """Return the check that decides whether the answer is shown; None if the model was not taught to abstain."""
        if self._info.abstention is None:
            return None
        request, fetched = self.request, action.kind != "generate"
        lacks = "" if fetched or not state.retrieved else state.retrieved.missing
        trace, earlier = request.trace, request.earlier
        return Check(self.model, self.tree, trace, request.query, near, earlier, lacks, fetched=fetched)
