"""The room from which everything on the device is reached: `Assistant.ask`."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import date

from device_app.answer import (
    NOT_FOLLOWED,
    NOTHING_FOUND,
    Answer,
    Egress,
    Found,
    Ledger,
    Matched,
    Wrote,
    evidence_of,
    hits_of,
    own_sources,
)
from device_app.cache.qa_bank import Considered, QABank
from device_app.cache.qkv_tree import QKVTree
from device_app.dispatch.public import PublicQuestions
from device_app.fitting import Arrangement, fitted
from device_app.knowledge import evidence, query
from device_app.knowledge.following import leans
from device_app.knowledge.query import Query
from device_app.knowledge.retriever import Retriever
from device_app.knowledge.thread import thread
from device_app.sources.aggregated import Aggregated, Together, joint_pieces
from device_app.sources.local import LocalSource
from device_app.sources.telling import Report
from models.engine import Embedder
from models.sampling import SamplingSettings
from shared import prompt as prompts
from shared.ending import Piece, ended
from shared.errors import EngineError, LinkError, NotWritable, StoreError, StoreFull
from shared.prompt import Exchange, Prompt
from shared.public import hit as public_hit
from shared.trace import Trace
from shared.types import Hit, StoredPassage
from storage.conversations import ConversationStore, Turn
from storage.qa_entries import Origin
from storage.vectors import Vectors

OWN = "your own files answer it, so that all of it stays on this device"
LEANS = "what leans on your conversation or your files alone is nothing for the server"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model answers: from how many passages, in one prompt, in rows of their own, or as is cheaper."""

    passages: int
    arrangement: Arrangement


@dataclass(frozen=True, slots=True)
class Options:
    """What one question may ask for. `relevance` is the score under which a passage is no source.

    `recipe` names everything besides question and files that decides an answer: only one of the same recipe may be
    served again. `fresh` serves none. `public` lets the server be asked where the person's own files have nothing; what
    it once answered is served without, as that sends nothing. `together` lets it write along where they have something:
    then drafts of the answer leave the device.
    """

    plan: Plan
    sampling: SamplingSettings
    max_tokens: int
    relevance: float
    evidence: bool = True
    recipe: str = ""
    fresh: bool = False
    public: bool = True
    together: bool = False


@dataclass(frozen=True, slots=True)
class Assistant:
    """Answers questions from the store. `source` waits for the model, which may still be loading."""

    retriever: Retriever
    embedder: Embedder
    conversations: ConversationStore
    source: Callable[[], LocalSource]
    bank: QABank
    tree: QKVTree
    public: PublicQuestions | None = None

    def ask(self, question: str, options: Options, conversation: int | None = None) -> Iterator[Found | Wrote | Answer]:
        """Answer a question: what was found, then the text as it is written, then the finished answer.

        With a conversation, a question that leans on what was said there is read with that; any other, as if alone. A
        stream that is dropped or fails leaves what was written in the history, marked incomplete. Raises UsageError,
        StoreError, WeightsError, EngineError: that as well where the model writes nothing, ContextFull where not even
        one passage fits.
        """
        trace = Trace()
        asked = query.parse(question, date.today())
        earlier, wanted = self._thread(asked, conversation)
        with trace.step("look up"):
            vector = self.embedder.embed([asked.text])[0]
            anew = options.fresh or options.together or bool(earlier)
            known = None if anew else self.bank.find(asked, vector, options.recipe)
        if known:
            answer = self._served(known, trace)
            yield Found(answer.hits)
            turn = self.conversations.begin(question, conversation)
            yield Wrote(answer.text)
            yield self._finish(turn, answer)
            self.bank.served(known, asked, vector, trace.elapsed_ms())
            return
        hits: Sequence[Hit]
        newest = self.retriever.store.newest_passage()
        with trace.step("retrieve"):
            known_vector = None if earlier else vector
            hits = self.retriever.search(wanted, options.plan.passages, options.relevance, known_vector)
        # What is limited to some of one's own files, or follows on what was said, is nothing for anybody else.
        if not hits and self.public and options.public and not earlier and not asked.is_limited:
            answer = yield from self._publicly(question, asked, options, conversation, trace)
            if answer.found and self.bank.public_days:
                self._remember(asked, vector, options, answer, "asked", newest)
            return
        yield Found(hits)
        turn = self.conversations.begin(question, conversation)
        if not hits:
            text = f"{NOTHING_FOUND} {NOT_FOLLOWED}" if earlier and self.public and options.public else NOTHING_FOUND
            yield self._finish(turn, Answer(text, (), None, trace, "", found=False))
            return
        with trace.step("load"):
            source = self.source()
        prompt, hits = self._prompt(source, asked.text, hits, options, earlier)
        joint, apart = self._joint(source, asked, prompt, options, trace, leans=bool(earlier))
        said: list[Piece] = []
        try:
            with (
                joint or nullcontext(),
                closing(
                    joint_pieces(joint, prompt, [hit.similarity for hit in hits][: len(prompt.passages)])
                    if joint
                    else self._write(source, prompt, hits, options, trace)
                ) as pieces,
            ):
                for piece in pieces:
                    said.append(piece)
                    yield Wrote(piece.text)
        finally:
            left = Egress(joint.report.sent_bytes, joint.report.sent) if joint else Egress()
            self.conversations.write(turn.id, _text(said), egress=left.as_json())
        hits = [*hits, *map(public_hit, joint.report.sources)] if joint else hits
        answer = self._answer(asked, said, hits, options, trace, source)
        yield self._finish(turn, _told(answer, joint.report if joint else None, apart))
        self._keep(source, prompt)
        if not earlier and not joint:
            self._remember(asked, vector, options, answer, "asked", newest)

    def _publicly(
        self, question: str, asked: Query, options: Options, conversation: int | None, trace: Trace
    ) -> Generator[Found | Wrote | Answer, None, Answer]:
        """Answer from the server's passages what the person's own files do not, on whichever side is better for it."""
        assert self.public is not None
        turn = self.conversations.begin(question, conversation)
        said: list[str] = []
        answer: Answer | None = None
        ledger = Ledger()
        try:
            plan = options.plan.passages
            for event in self.public.answer(asked.text, options.sampling, options.max_tokens, plan, trace, ledger):
                if isinstance(event, Answer):
                    answer = event
                    continue
                if isinstance(event, Wrote):
                    said.append(event.text)
                yield event
        finally:
            self.conversations.write(turn.id, "".join(said).strip(), egress=ledger.egress.as_json())
        assert answer is not None
        if options.evidence and answer.found:
            with trace.step("evidence"):
                texts = [hit.passage.text for hit in answer.hits]
                carried = evidence.find(asked.text, answer.text, texts, self.embedder)
                answer = replace(answer, evidence=carried, support=evidence.support(answer.text, carried, texts))
        answer = self._finish(turn, answer)
        yield answer
        return answer

    def prepare(self, asked: Query, options: Options, origin: Origin, *, decode: bool) -> Trace | None:
        """Do for a question ahead of it what `ask` would do, without a conversation; None where nothing is found.

        Without `decode`, only the attention states are made, and the question waits for its answer. Raises as `ask`.
        """
        vector = self.embedder.embed([asked.text])[0]
        newest = self.retriever.store.newest_passage()
        hits: Sequence[Hit] = self.retriever.search(asked, options.plan.passages, options.relevance, vector)
        if not hits:
            return None
        source = replace(self.source(), reuse="exact")
        prompt, hits = self._prompt(source, asked.text, hits, options, ())
        if not decode:
            trace = source.prefill(prompt, self.tree)
            self.bank.wait(asked, vector, options.recipe, origin)
            return trace
        trace = Trace()
        said = list(self._write(source, prompt, hits, options, trace))
        self._remember(asked, vector, options, self._answer(asked, said, hits, options, trace, source), origin, newest)
        self._keep(source, prompt)
        return trace

    def read(self, passage: StoredPassage, most_bytes: float) -> Trace | None:
        """Keep the attention states of a passage ahead of any question, if they take no more than that.

        None where they take more, where they are kept already, and where the passage is too long for the model.
        """
        source = self.source()
        prompt = prompts.build("", [passage], source.template)
        wanted = source.room(prompt) > 0 and 0 < source.missing(prompt, self.tree) <= most_bytes
        return source.prefill(prompt, self.tree) if wanted else None

    def why(self, question: str, options: Options) -> tuple[list[Considered], Sequence[Hit]]:
        """What decides how a question would be answered: the similar ones that are kept, and what would be read.

        Loads no model. Raises UsageError, StoreError.
        """
        asked = query.parse(question, date.today())
        vector = self.embedder.embed([asked.text])[0]
        similar = list(self.bank.consider(asked, vector, options.recipe))
        return similar, self.retriever.search(asked, options.plan.passages, options.relevance, vector)

    def kept(self, question: str, hits: Sequence[Hit], options: Options) -> set[int]:
        """Ids of the passages whose states answering the question from these would join. Raises UsageError."""
        if not hits:
            return set()
        source = self.source()
        prompt, _ = self._prompt(source, query.parse(question, date.today()).text, hits, options, ())
        beginnings = ((row[:end], row[end - 1]) for row in prompt.passages for end in range(1, len(row) + 1))
        return {
            last.passage
            for beginning, last in beginnings
            if last.passage is not None and not source.missing(replace(prompt, passages=(beginning,)), self.tree)
        }

    def missing(self, asked: Query, options: Options) -> int:
        """Bytes that the attention states take which the tree lacks of a question's prompt; about."""
        hits: Sequence[Hit] = self.retriever.search(asked, options.plan.passages, options.relevance)
        if not hits:
            return 0
        source = self.source()
        prompt, _ = self._prompt(source, asked.text, hits, options, ())
        return source.missing(prompt, self.tree)

    def prompt(self, question: str, options: Options, conversation: int | None = None) -> Prompt | None:
        """The prompt that `ask` would answer; None where nothing relevant is found."""
        asked = query.parse(question, date.today())
        earlier, wanted = self._thread(asked, conversation)
        hits = self.retriever.search(wanted, options.plan.passages, options.relevance)
        return self._prompt(self.source(), asked.text, hits, options, earlier)[0] if hits else None

    def _prompt(
        self, source: LocalSource, question: str, hits: Sequence[Hit], options: Options, earlier: Sequence[Exchange]
    ) -> tuple[Prompt, Sequence[Hit]]:
        plan = options.plan
        return fitted(source, self.tree, question, hits, earlier, plan.arrangement, options.max_tokens)

    def _thread(self, asked: Query, conversation: int | None) -> tuple[list[Exchange], Query]:
        if conversation is None or not leans(asked):
            return [], asked
        return thread(asked, self.conversations.turns(conversation), date.today())

    def _write(
        self, source: LocalSource, prompt: Prompt, hits: Sequence[Hit], options: Options, trace: Trace
    ) -> Generator[Piece, None, None]:
        with closing(
            source.stream(
                prompt,
                options.sampling,
                max_tokens=max(min(options.max_tokens, source.room(prompt)), 1),
                similarities=[hit.similarity for hit in hits][: len(prompt.passages)],
                trace=trace,
                tree=self.tree,
            )
        ) as stream:
            yield from ended(stream)

    def _joint(
        self,
        source: LocalSource,
        asked: Query,
        prompt: Prompt,
        options: Options,
        trace: Trace,
        *,
        leans: bool,
    ) -> tuple[Aggregated | None, str]:
        """The answer that the server writes along, where that was asked for; or why it does not."""
        if not options.together:
            return None, ""
        if leans or asked.is_limited:
            return None, LEANS
        if not (self.public and options.public):
            return None, "no companion server is connected"
        most = max(min(options.max_tokens, source.room(prompt)), 1)
        together = Together(asked.text, options.sampling, most, options.plan.passages)
        try:
            return self.public.together(together, source, trace, self.tree), ""
        except LinkError as error:
            return None, str(error)

    def _answer(
        self,
        asked: Query,
        said: Sequence[Piece],
        hits: Sequence[Hit],
        options: Options,
        trace: Trace,
        source: LocalSource,
    ) -> Answer:
        text = _text(said)
        if not text:
            raise EngineError(
                "The model wrote nothing. Try again with --temperature 0.7, or use another model: jackdaw models list"
            )
        carried, support = None, None
        if options.evidence:
            with trace.step("evidence"):
                passages = [hit.passage.text for hit in hits]
                carried = evidence.find(asked.text, text, passages, self.embedder)
                support = evidence.support(text, carried, passages)
        decided = (OWN,) if self.public and options.public else ()
        model, cut = source.engine.info.model, said[-1].cut
        return Answer(text, hits, carried, trace, model, cut=cut, support=support, decided=decided)

    def _served(self, known: Considered, trace: Trace) -> Answer:
        entry = known.entry
        passages = self.retriever.store.passages(own_sources(entry.record))
        trace.first_token()
        return Answer(
            str(entry.answer),
            hits_of(entry.record, passages),
            evidence_of(entry.record),
            trace,
            entry.record["model"],
            matched=Matched(entry.question, known.similarity, entry.answered_at),
            cut=entry.record.get("cut", False),
            support=entry.record.get("support"),
        )

    def _finish(self, turn: Turn, answer: Answer) -> Answer:
        answer, trace = replace(answer, conversation_id=turn.conversation_id), answer.trace
        self.conversations.write(turn.id, answer.text, answer.as_json())
        with suppress(StoreError):  # the answer stands, counted or not
            hits, saved = trace.segments_cached + trace.segments_moved, trace.tokens_cached + trace.tokens_moved
            computed = trace.tokens_prefilled
            self.bank.counters.add(questions=1, kv_hits=hits, kv_tokens_saved=saved, kv_tokens_computed=computed)
        return answer

    def _remember(
        self, asked: Query, vector: Vectors, options: Options, answer: Answer, origin: Origin, newest: int
    ) -> None:
        """Keep the answer; `newest` is the newest passage there was before it was looked for."""
        self.bank.put(
            asked,
            vector,
            options.recipe,
            origin,
            answer=answer.text,
            record=answer.as_json(),
            sources=[hit.passage.id for hit in answer.hits if hit.side == "device"],
            newest_passage=newest,
            cost_ms=answer.trace.elapsed_ms(),
        )

    def _keep(self, source: LocalSource, prompt: Prompt) -> None:
        """Keep the prompt's states. Where there is no room for them the answer stands all the same."""
        with suppress(StoreFull, NotWritable):
            source.keep(prompt, self.tree)


def _told(answer: Answer, report: Report | None, apart: str) -> Answer:
    """The answer with who wrote it, where it was to be written together: what was reported of that, or why not."""
    if report is None:
        return replace(answer, decided=(f"it was not written together: {apart}",)) if apart else answer
    decided = "both sides wrote it, as was asked for"
    if report.alone:
        decided = f"this device wrote alone from token {report.together} on: {report.alone}"
    return replace(
        answer,
        written="aggregated" if report.together else "device",
        egress=Egress(report.sent_bytes, report.sent),
        decided=(decided,),
    )


def _text(said: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in said).strip()
