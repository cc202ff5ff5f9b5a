"""The room from which everything on the device is reached: `Assistant.ask`."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from datetime import date

from device_app import quoting
from device_app.abstention import NEAREST_SHOWN
from device_app.answer import (
    NOT_FOLLOWED,
    NOT_NAMED,
    NOTHING_FOUND,
    Answer,
    Found,
    Matched,
    Wrote,
    evidence_of,
    hits_of,
    own_sources,
)
from device_app.asked import Asked, Prepared
from device_app.cache.qa_bank import Considered, QABank
from device_app.cache.qkv_tree import QKVTree
from device_app.cache.wrong import is_wrong, unanswered, withheld
from device_app.checking import LOOKED_THROUGH, Check, concluded
from device_app.dispatch.public import PublicQuestions
from device_app.fitting import fitted
from device_app.knowledge import private, query
from device_app.knowledge.files import Looked
from device_app.knowledge.following import leans
from device_app.knowledge.freshness import Freshness
from device_app.knowledge.query import Query
from device_app.knowledge.retriever import Retriever
from device_app.knowledge.thread import thread
from device_app.options import Options
from device_app.outside import Begun, Outside
from device_app.quoting import Quoted
from device_app.sources.local import LocalSource
from device_app.writing import MOST_ATTEMPTS, Attempt, Writing, keep
from models.engine import Embedder
from shared import prompt as prompts
from shared.errors import StoreError
from shared.prompt import Exchange, Prompt
from shared.trace import Trace
from shared.types import Hit, StoredPassage
from storage.conversations import ConversationStore, Turn
from storage.passages import Ids
from storage.qa_entries import Origin
from storage.vectors import Vectors

Events = Generator[Found | Wrote | Answer, None, None]


@dataclass(frozen=True, slots=True)
class Assistant:
    """Answers questions from the store. `source` waits for the model, which may still be loading.

    Without `freshness`, files are taken to be as they were read.
    """

    retriever: Retriever
    embedder: Embedder
    conversations: ConversationStore
    source: Callable[[], LocalSource]
    bank: QABank
    tree: QKVTree
    public: PublicQuestions | None = None
    freshness: Freshness | None = None

    @property
    def outside(self) -> Outside:
        """What the server adds to an answer from the person's files."""
        return Outside(self.public, self.retriever, self.tree)

    def ask(self, question: str, options: Options, conversation: int | None = None) -> Iterator[Found | Wrote | Answer]:
        """Answer a question: what was found, then the text as it is written, then the finished answer.

        With a conversation, a question that leans on what was said there is read with that; any other, as if alone. A
        stream that is dropped or fails leaves what was written in the history, marked incomplete. Raises UsageError,
        StoreError, WeightsError, EngineError, NothingWritten; ContextFull where not even one passage fits.
        """
        trace = Trace()
        asked = query.parse(question, date.today())
        earlier, wanted = self.thread(asked, options, conversation)
        with trace.step("look up"):
            vector = self.embedder.embed([asked.text])[0]
            # What is to be quoted is there as soon as an answer that is kept, and newer.
            anew = options.fresh or options.together or wanted != asked
            more = self.outside.looks(options)
            known = None if anew else self.bank.find(asked, vector, options.recipe, more=more)
        looked = Looked()
        known = known and self._as_read(known, asked, vector, options, looked, trace)
        if known:
            answer = self._served(known, trace)
            answer = replace(answer, stale=looked.of(answer.hits))
            yield Found(answer.hits)
            turn = self.conversations.begin(question, conversation)
            yield Wrote(answer.text)
            yield self._finish(turn, answer)
            self.bank.served(known, asked, vector, trace.elapsed_ms())
            return
        newest, private = self.retriever.store.newest_passage(), self.private(asked, conversation)
        one = Asked(asked, wanted, vector, options, earlier, newest, private, trace, looked=looked)
        turn = self.conversations.begin(question, conversation)
        yield from self._noted(turn, one, self._anew(one))

    def thread(self, asked: Query, options: Options, conversation: int | None) -> tuple[list[Exchange], Query]:
        """What of the conversation the question leans on, if it does, and what is looked for."""
        if conversation is None or not leans(asked):
            return [], quoting.wanted(asked, options)
        return thread(asked, self.conversations.turns(conversation), date.today())

    def private(self, asked: Query, conversation: int | None) -> str:
        """Why the question is for this device alone; "" where a server may be asked."""
        said = conversation is not None and self.conversations.turns(conversation)
        return private.reason(asked, bool(said) and private.may_follow(asked), self.retriever.store.has_path)

    def _as_read(
        self, known: Considered, asked: Query, vector: Vectors, options: Options, looked: Looked, trace: Trace
    ) -> Considered | None:
        """The kept answer that serves the question once the files of this one are as they were read; None for none."""
        if self.freshness is None:
            return known
        found: Considered | None = known
        while found and self.freshness.look(own_sources(found.entry.record), looked, trace):
            with trace.step("look up"):
                found = self.bank.find(asked, vector, options.recipe, more=self.outside.looks(options))
        return None if found and self.freshness.are_gone(own_sources(found.entry.record), looked) else found

    def _near(self, one: Asked, known: Vectors | None) -> tuple[Asked, Sequence[Hit]]:
        """The passages nearest to what is looked for, once their files are as they were read; and what is asked then.

        `known` is the embedding of what is looked for, where there is one.
        """
        count, options = self.outside.passages(one.options), one.options
        # Where the files are quoted, any passage may be.
        most = max(options.plan.passages, MOST_ATTEMPTS, LOOKED_THROUGH, NEAREST_SHOWN)
        cited = most if one.wanted == one.query else None

        def find(without: Ids | None) -> Sequence[Hit]:
            nonlocal one
            if one.looked.read:
                one = replace(one, newest=self.retriever.store.newest_passage())
            with one.trace.step("retrieve"):
                return self.retriever.search(one.wanted, count, options.relevance, known, without)

        if self.freshness is None:
            return one, find(None)
        near = self.freshness.search(find, cited, one.looked, one.trace)
        return one, near

    def _noted(self, turn: Turn, one: Asked, events: Events) -> Events:
        """Pass the events on, and leave in the history what is written, and what left the device, whatever happens.

        That the passages do not hold an answer is written like one.
        """
        said: list[str] = []
        answer: Answer | None = None
        try:
            with closing(withheld(events, lambda: self.bank.marks(one.query, one.vector))) as shown:
                for event in shown:
                    if isinstance(event, Wrote):
                        said.append(event.text)
                    if isinstance(event, Answer):
                        if event.found and event.abstained and not said:
                            said.append(event.text)
                            event.trace.first_token()
                            yield Wrote(event.text)
                        told = replace(event, egress=one.ledger.egress, stale=one.looked.of(event.hits))
                        answer = self._finish(turn, told)
                    yield answer or event
        finally:
            if not answer:
                self.conversations.write(turn.id, "".join(said).strip(), egress=one.ledger.egress.as_json())

    def _anew(self, one: Asked) -> Events:
        """Answer from the person's files or, where they have nothing, from what the server finds."""
        outside, options, asked = self.outside, one.options, one.query
        with ExitStack() as leaving:
            # Where it is to be written together, the server begins before anything is looked up here.
            begun = outside.begin(one, self._loaded(one.trace), leaving) if options.together else None
            one, near = self._near(one, one.vector if one.wanted == asked else None)
            if near:
                yield from self._from_files(one, near, begun, leaving)
                return
        if self.public and options.public and not one.private:
            for event in outside.answer(one):
                yield event
                if isinstance(event, Answer) and event.found and one.wanted == asked and self._may_serve(event):
                    self._remember(asked, one.vector, options, event, "asked", one.newest)
            return
        yield Found(())
        text = NOTHING_FOUND
        if one.private and not one.query.is_limited and self.public and options.public:
            text += f" {NOT_NAMED if one.private == private.MAY_NAME_FILES else NOT_FOLLOWED}"
        yield Answer(text, (), None, one.trace, "", found=False, abstained=True)

    def _loaded(self, trace: Trace) -> LocalSource:
        with trace.step("load"):
            return self.source()

    def _from_files(self, one: Asked, near: Sequence[Hit], begun: Begun | None, leaving: ExitStack) -> Events:
        """Answer from the best of these passages and, where they lack something, with what a server adds."""
        outside, options, trace = self.outside, one.options, one.trace
        quoted = None if begun and begun.joint else self._quoted(one, near)
        beyond = outside.lacking(one.wanted, near)
        lacking = "" if one.private else beyond
        source = self.source() if begun else None
        if begun is None:
            begun = outside.at_home(one, lacking)
        elif begun.joint is None:
            begun = replace(begun, lacks=lacking)
        if quoted and begun:
            yield from self._in_their_words(one, quoted, begun)
            return
        yield Found(near[: options.plan.passages])
        source = source or self._loaded(trace)
        prompt, hits = self.prompt(source, one.query.text, near[: options.plan.passages], options, one.earlier)
        begun = begun or outside.decide(one, lacking, source, prompt, leaving)
        if begun.plan == "fetch":
            found, begun = outside.fetch(one, hits, begun)
            if len(found) > len(hits):
                prompt, hits = self.prompt(source, one.query.text, found, outside.arranged(options), ())
                yield Found(hits)
        if quoted and begun.plan == "alone":
            yield from self._in_their_words(one, quoted, begun)
            return
        others = self._others(source, one.query.text, near, options, one.earlier, begun)
        check = self._check(
            source, one.query, hits if begun.plan == "fetch" else near, one.earlier, begun, trace, beyond
        )
        writing = Writing(source, self.tree, options, trace, begun, check)
        try:
            written = yield from writing.events(Attempt(prompt, hits), others)
        finally:
            leaving.close()
        hits = begun.sources(written.hits, drawn=True)
        look = replace(written.look, hits=hits)
        answer = begun.told(concluded(one.query, look, near, trace, source, self._proves(options), check))
        if check and not answer.abstained:
            trace.first_token()
            yield Wrote(answer.text)
        yield from self._concluded(one, begun, source, written.prompt, answer)

    def _check(
        self,
        source: LocalSource,
        asked: Query,
        near: Sequence[Hit],
        earlier: Sequence[Exchange],
        begun: Begun,
        trace: Trace,
        lacking: str,
    ) -> Check | None:
        """What decides whether an answer of this device is shown as one, if its model was taught to abstain."""
        if source.engine.info.abstention is None:
            return None
        fetched = begun.plan != "alone"
        return Check(source, self.tree, trace, asked, near, earlier, "" if fetched else lacking, fetched=fetched)

    def _quoted(self, one: Asked, near: Sequence[Hit]) -> Quoted | None:
        """What the files say of it in their own words, where that is asked for."""
        if one.leans or one.wanted == one.query:
            return None
        with one.trace.step("quote"):
            return quoting.quoted(one.query, one.wanted, near, self.embedder)

    def _in_their_words(self, one: Asked, quoted: Quoted, begun: Begun) -> Events:
        """Answer without a model."""
        yield Found(quoted.hits)
        one.trace.first_token()
        yield Wrote(quoted.text)
        text, hits, trace = quoted.text, quoted.hits, one.trace
        yield begun.told(Answer(text, hits, None, trace, "", support="word for word", quoted=True))

    def _concluded(
        self, one: Asked, begun: Begun, source: LocalSource, prompt: Prompt | None, answer: Answer
    ) -> Events:
        """Give the answer or, where the passages hold none, one of the server's; and keep what may serve again.

        For a guess nobody else is asked, and it is not kept.
        """
        hits = answer.hits
        if answer.abstained and not answer.guess:
            keep(source, self.tree, prompt)  # the model may be needed for what the server finds
            answer = yield from self.outside.instead(one, begun, answer)
            yield answer
        else:
            yield answer
            keep(source, self.tree, prompt)
        self.outside.wrote(one.trace, hits, begun.joint, cut=answer.cut)
        if one.wanted == one.query and not begun.joint and not answer.guess and self._may_serve(answer):
            self._remember(one.query, one.vector, one.options, answer, "asked", one.newest)

    def prepare(self, asked: Query, options: Options, origin: Origin, *, decode: bool) -> Prepared | None:
        """Do for a question ahead of it what `ask` would do, without a conversation; None where nothing is found.

        Without `decode`, only the attention states are made, and the question waits for its answer. Nothing is done
        where the files are quoted. Raises as `ask`.
        """
        vector = self.embedder.embed([asked.text])[0]
        newest = self.retriever.store.newest_passage()
        wanted = quoting.wanted(asked, options)
        known = vector if wanted == asked else None
        near = self.retriever.search(wanted, self.outside.passages(options), options.relevance, known)
        if not near:
            return None
        if wanted != asked and quoting.quoted(asked, wanted, near, self.embedder):
            return Prepared(Trace(), quoted=True)
        source = replace(self.source(), reuse="exact")
        first = Attempt(*self.prompt(source, asked.text, near[: options.plan.passages], options, ()))
        if not decode:
            trace = source.prefill(first.prompt, self.tree)
            self.bank.wait(asked, vector, self._recipe(options), origin)
            return Prepared(trace)
        trace = Trace()
        begun = Begun(lacks=self.outside.lacking(wanted, near))
        others = self._others(source, asked.text, near, options, (), begun)
        check = self._check(source, asked, near, (), begun, trace, begun.lacks)
        written = Writing(source, self.tree, options, trace, begun, check).whole(first, others)
        answer = concluded(asked, written.look, near, trace, source, self._proves(options), check)
        answer = replace(answer, lacks=begun.lacks)
        marked_wrong = self._remember(asked, vector, options, answer, origin, newest)
        keep(source, self.tree, written.prompt)
        return Prepared(trace, answer.abstained, marked_wrong=marked_wrong)

    def read(self, passage: StoredPassage, most_bytes: float) -> Trace | None:
        """Keep the attention states of a passage ahead of any question, if they take no more than that.

        None where they take more, where they are kept already, and where the passage is too long for the model.
        """
        source = self.source()
        prompt = prompts.build("", [passage], source.template)
        wanted = source.room(prompt) > 0 and 0 < source.missing(prompt, self.tree) <= most_bytes
        return source.prefill(prompt, self.tree) if wanted else None

    def prompt(
        self, source: LocalSource, question: str, hits: Sequence[Hit], options: Options, earlier: Sequence[Exchange]
    ) -> tuple[Prompt, Sequence[Hit]]:
        """The prompt that the model reads of these passages, and those of them that it has room for."""
        plan = options.plan
        return fitted(source, self.tree, question, hits, earlier, plan.arrangement, options.max_tokens)

    def _others(
        self,
        source: LocalSource,
        question: str,
        near: Sequence[Hit],
        options: Options,
        earlier: Sequence[Exchange],
        begun: Begun,
    ) -> Iterator[Attempt]:
        """What is read where the best passage does not tell: the next, where one alone is read at a time and fits."""
        for other in near[1:MOST_ATTEMPTS] if options.plan.passages == 1 and begun.plan == "alone" else ():
            one = Attempt(*self.prompt(source, question, [other], options, earlier))
            if source.room(one.prompt) > 0:
                yield one

    def _proves(self, options: Options) -> Embedder | None:
        return self.embedder if options.evidence else None

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
            lacks=entry.lacks,
            nearest=evidence_of(entry.record, "nearest"),
            model_hash=entry.record.get("model_hash", ""),
        )

    def _finish(self, turn: Turn, answer: Answer) -> Answer:
        answer, trace = replace(answer, conversation_id=turn.conversation_id), answer.trace
        self.conversations.write(turn.id, answer.text, answer.as_json())
        with suppress(StoreError):  # the answer stands, counted or not
            self.bank.counters.add(
                questions=1,
                kv_hits=sum(one.segments_cached + one.segments_moved for one in trace.all),
                kv_tokens_saved=sum(one.tokens_cached + one.tokens_moved for one in trace.all),
                kv_tokens_computed=sum(one.tokens_prefilled for one in trace.all),
            )
        return answer

    def _may_serve(self, answer: Answer) -> bool:
        """Whether it may serve again: what a server said, only for so many days."""
        return self.bank.public_days > 0 or all(hit.side == "device" for hit in answer.hits)

    def _remember(
        self, asked: Query, vector: Vectors, options: Options, answer: Answer, origin: Origin, newest: int
    ) -> bool:
        """Keep the answer, or that there is none; whether there is none because this one was marked wrong.

        `newest` is the newest passage there was before it was looked for.
        """
        if is_wrong(answer.text, answer.written_by, self.bank.marks(asked, vector)):
            answer = unanswered(answer)
        self.bank.put(
            asked,
            vector,
            self._recipe(options),
            origin,
            answer=None if answer.abstained else answer.text,
            record={"failed": answer.text} if answer.abstained else answer.as_json(),
            sources=[hit.passage.id for hit in answer.hits if hit.side == "device"],
            newest_passage=newest,
            cost_ms=answer.trace.elapsed_ms(),
        )
        return answer.marked_wrong

    def _recipe(self, options: Options) -> str:
        """Of what the model that is loaded wrote."""
        return options.recipe_with(self.source().engine.info.adapter)
