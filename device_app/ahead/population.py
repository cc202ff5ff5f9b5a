"""Fills the caches in the background, in small items, each stored before the next (PerCache, §4.1.2, §4.1.3, §4.3).

In order: drop unusable entries, measure the model, answer queued and stale questions, predict questions from new
passages and prepare them, compute evicted attention states again, and read passages ahead while there is room. A
stop loses at most one item.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime

from device_app.ahead import scheduler
from device_app.ahead.prediction import Prediction, predict_again
from device_app.ahead.work import Step
from device_app.answering.assistant import Assistant
from device_app.cache.answers.bank import QABank, asked
from device_app.cache.states.tree import QKVTree
from device_app.english import query
from device_app.english.query import Query
from device_app.question.options import Options
from shared.errors import EngineError, GaveWay, UsageError
from shared.trace import Trace
from shared.types import StoredPassage
from storage.counters import Counters
from storage.qa_entries import Entry, Origin

_LIMIT_MARK, _PREDICTED_MARK = "restored_to", "predicted_under"
_FULL, _LIKELIEST = 0.02, 0.5
"""Shares of the limit on attention states: reading ahead leaves the first free, and the passages most likely to be
asked about take at most the second.
"""


def fill_again(counters: Counters) -> None:
    """Allow evicted attention states to be computed and kept again, after the cache has free space."""
    counters.forget(_LIMIT_MARK)


@dataclass(frozen=True, slots=True)
class Population:
    """The background work that fills one person's caches.

    `tree` holds the attention states; `cutoff` is the highest `cache.threshold` at which predicted questions are
    answered.
    """

    assistant: Assistant
    options: Options
    bank: QABank
    tree: QKVTree
    counters: Counters
    prediction: Prediction
    cutoff: float
    look: Callable[[], None] = lambda: None
    """Raises GaveWay once the device is needed. The engine and the embedder call their own check."""

    def steps(self) -> Iterator[Step]:
        """Do all the work, yielding a step after each item. Returns early once the engine has to give way."""
        try:
            yield from self._prune()
            yield from self._measure()
            yield from self._refresh()
            yield from self._adopt()
            yield from self._answer_what_waits()
            yield from self._predict()
            yield from self._restore()
            yield from self._read_ahead()
        except GaveWay:
            return

    def _prune(self) -> Iterator[Step]:
        if dropped := self.tree.prune(self.assistant.source().engine.info.kv_key):
            fill_again(self.counters)
            yield Step.free(
                "drop", f"{dropped} attention states", "the passages, model or files of these states are gone"
            )
        if dropped := self.bank.drop_replaced(self.options.fingerprint, datetime.now(UTC)):
            yield Step.free(
                "drop", f"{dropped} answers", "these answers are from another model or settings and have been replaced"
            )
        if evicted := self.tree.trim():
            yield Step.free("evict", f"{evicted} attention states", f"over the limit of {self.tree.limit:,} bytes")
        if evicted := self.bank.trim():
            yield Step.free("evict", f"{evicted} answers", f"over the limit of {self.bank.limit:,} bytes")

    def _measure(self) -> Iterator[Step]:
        """Measure, once per model and machine, whether cached attention states give exactly the same results as
        computed ones, and how fast the model reads several drafted tokens at once.
        """
        source, trace = self.assistant.source(), Trace()
        if source.finish_checks and source.engine.info.verdict.untested:
            before = source.engine.computed
            with trace.step("prefill"):
                source.finish_checks(source.engine)
            trace.tokens_prefilled = source.engine.computed - before
            why = "only what gives exactly the computed results may be served from attention states"
            yield self._counted(Step.traced("test", source.engine.info.model, why, trace))
            trace = Trace()
        if source.drafting.is_unmeasured(source.engine.info):
            before = source.engine.computed
            with trace.step("prefill"):
                source.drafting.measure(source.engine)
            trace.tokens_prefilled = source.engine.computed - before
            why = "how fast the model reads several tokens at once decides whether answers are drafted"
            yield self._counted(Step.traced("measure", source.engine.info.model, why, trace))

    def _refresh(self) -> Iterator[Step]:
        looked, stale = self.bank.refresh(self.assistant.retriever.store.newest_passage())
        if stale:
            yield Step.free("refresh", f"{stale} of {looked} questions", "newer passages may change the answers")

    def _adopt(self) -> Iterator[Step]:
        """Queue questions answered under other models and settings, so that they need not be predicted again."""
        if not self.bank.limit:
            return
        if waiting := self.bank.adopt(self.options.fingerprint, self.assistant.embedder):
            yield Step.free(
                "renew",
                f"{waiting} questions",
                "these questions were answered by another model or under other settings",
            )

    def _answer_what_waits(self) -> Iterator[Step]:
        if not self.bank.limit:
            return
        strategy = scheduler.strategy(self.bank.threshold, self.cutoff)
        for entry in self.bank.entries.unanswered(self.options.fingerprint):
            if scheduler.to_answer(entry.origin, strategy):
                why = scheduler.why(stale=entry.stale, origin=entry.origin)
                yield self._prepared(asked(entry), entry.origin, why, entry, decode=True)

    def _predict(self) -> Iterator[Step]:
        if not self.bank.limit:
            return
        if self.bank.limit > self.counters.all().get(_PREDICTED_MARK, self.bank.limit):
            predict_again(self.counters)  # a lowered limit may have evicted questions that are marked as predicted
        self.counters.set(_PREDICTED_MARK, self.bank.limit)
        strategy = scheduler.strategy(self.bank.threshold, self.cutoff)
        for predicted in self.prediction.questions():
            if isinstance(predicted, Step):
                yield self._counted(predicted)
            else:
                with suppress(UsageError):  # an invalid filter in the question: it cannot be asked
                    # Parsed as when it will be asked: the days it names decide which passages and answers fit.
                    asked_so = query.parse(predicted.text, date.today())
                    why = f"predicted from {predicted.source}; {strategy.why}"
                    yield self._prepared(asked_so, "predicted", why, decode=strategy.decode)

    def _restore(self) -> Iterator[Step]:
        """Compute evicted attention states of kept questions again, the most used first, while there is room."""
        # Checked once for each limit: states that did not fit before do not fit now.
        if self.counters.all().get(_LIMIT_MARK) == self.tree.limit:
            return
        for entry in [entry for entry in self.bank.entries.all() if entry.fingerprint == self.options.fingerprint]:
            self.look()
            missing = self.assistant.missing(asked(entry), self.options)
            if missing and scheduler.restores(self.tree.rows.bytes(), self.tree.limit, missing):
                yield self._prepared(asked(entry), entry.origin, "there is room for the question's attention states")
        self.counters.set(_LIMIT_MARK, self.tree.limit)

    def _read_ahead(self) -> Iterator[Step]:
        """Keep attention states of passages that no question has used yet.

        The likeliest passages replace states that have long been unused; the newest passages are read while there is
        room.
        """
        limit = self.tree.limit
        likeliest, newest = self.prediction.likeliest(), self.prediction.newest()
        yield from self._read(likeliest, limit * _LIKELIEST, "the passage is likely to be asked about next")
        for _ in likeliest:  # skip the rest, which a second run would read otherwise
            pass
        room = limit - self.tree.rows.bytes()
        yield from self._read(newest, room, "there is room for the passage's attention state")

    def _read(self, passages: Iterator[StoredPassage], room: float, why: str) -> Iterator[Step]:
        per_token = self.assistant.source().engine.info.kv_bytes_per_token
        for passage in passages:
            self.look()
            if room < self.tree.limit * _FULL:
                return
            # A file is a little larger than its state: without a margin, it would evict another.
            if trace := self.assistant.read(passage, room - self.tree.limit * _FULL / 2):
                room -= trace.tokens_prefilled * per_token
                yield self._counted(Step.traced("read ahead", passage.title, why, trace))

    def _prepared(
        self, question: Query, origin: Origin, why: str, entry: Entry | None = None, *, decode: bool = False
    ) -> Step:
        """Prepare a question and return the step; an `entry` from the queue that cannot be answered is not tried again.

        With `decode`, the answer is prepared, else only the attention states. `why` is the reason for the step.
        """
        newest = self.assistant.retriever.store.newest_passage()
        try:
            prepared = self.assistant.prepare(question, self.options, origin, decode=decode)
        except EngineError as error:
            if entry and origin == "asked":
                self.bank.entries.fail(entry.id, str(error), newest)
            elif entry:
                self.bank.entries.delete([entry.id])
            return Step.free("skip", question.text, str(error))
        if prepared is None:
            if entry:
                self.bank.entries.delete([entry.id])
            return Step.free("skip", question.text, "your files hold nothing relevant to the question any more")
        if prepared.at_once:
            if entry:
                self.bank.entries.delete([entry.id])
            return Step.free(
                "skip", question.text, "the answer needs no model, so that it is made when it is asked for"
            )
        done = "answer" if decode else "prefill"
        if prepared.abstained:
            done, why = "skip", "the passages found do not answer the question"
        if prepared.marked_wrong:
            done, why = "skip", "the same answer was marked as wrong"
        return self._counted(Step.traced(done, question.text, why, prepared.trace))

    def _counted(self, step: Step) -> Step:
        self.counters.add(
            population_prefilled=step.tokens_prefilled, population_decoded=step.tokens_decoded, population_items=1
        )
        return step
