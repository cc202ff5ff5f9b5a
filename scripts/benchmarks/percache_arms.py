"""The arms of the benchmark `percache`: the app's own parts, with a minimal substitute where a baseline differs.

Questions to an arm are timed; the tokens and seconds of its idle work are counted.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from device_app.ahead.population import Population
from device_app.ahead.prediction import Prediction
from device_app.ahead.predictor import STRIDE
from device_app.ahead.work import Step
from device_app.answering.assistant import Assistant
from device_app.cache.answers.bank import QABank
from device_app.cache.eviction import Policy
from device_app.cache.states.tree import QKVTree
from device_app.everyday.rule import Everyday
from device_app.inference.local import LocalSource
from device_app.knowledge.known_people import known_people
from device_app.knowledge.retriever import over
from device_app.question.answer import Answer
from device_app.question.options import Options, Plan
from device_app.settings import Cache
from models.engine import Embedder
from models.sampling import SamplingSettings
from scripts.benchmarks.percache_baselines import BoundTree, SimilarityBank
from scripts.benchmarks.percache_idle import IdleSource, Work
from scripts.benchmarks.percache_prediction import AHEAD, FromFiles, FromHistory, Nothing, Published
from scripts.benchmarks.percache_prices import Skips
from shared.errors import EngineError
from storage.abstracts import Abstracts
from storage.blobs import Blobs
from storage.conversations import ConversationStore
from storage.counters import Counters
from storage.database import Database
from storage.knowledge import KnowledgeStore
from storage.kv_slices import KVSlices
from storage.qa_entries import Origin, QAEntries
from storage.vectors import QA_BANK, VectorIndex

MOST_TOKENS = 48
"""The most tokens of an answer, equal for all arms."""

PUBLISHED_PLAN = Plan(3, "prompt")
"""The number and arrangement of passages as published: three passages in one prompt (PerCache, section 5.3)."""

OWN_PLAN = Plan(3, "cheapest")
"""The number of passages as published, arranged as in the app: in one prompt or in a prompt each (rows), whichever is
cheaper with the cached states.
"""

APP_PLAN = Plan(1, "prompt")
"""The number and arrangement of passages that the app uses for this model (`scripts/bench answers`)."""

KV_MB = 400.0
"""Megabytes of KV states, equal for all arms; less than the app's default, which would take long to fill."""

_DEFAULTS = Cache()


@dataclass(frozen=True, slots=True)
class Spec:
    """The configuration of an arm.

    `hits`: whether no cached answers are used, or those to similar questions, or of these only those that the guard
    accepts. `keeps`: the origins of cached answers. `tree`: whether no states are cached, or those of passages in
    retrieved order, of passages matched by text in retrieved order as published (priced replay only), or of passages in
    the order of the longest cached path. `skips`: the computation that cached states save (priced replay only). `plan`:
    number and arrangement of the passages. `ahead`: idle work caches states, too. `predicts`: whether no questions are
    predicted, or questions from files as published, from files and history as published, or from both as in the app.
    `kind`: the word for the files in the published prompts.
    """

    hits: Literal["none", "similar", "guarded"] = "none"
    keeps: tuple[Origin, ...] = ()
    tree: Literal["none", "bound", "text", "ordered"] = "none"
    plan: Plan = PUBLISHED_PLAN
    ahead: bool = False
    predicts: Literal["idle", "nothing", "published files", "published", "own"] = "idle"
    kind: str = "personal files"
    restores: bool = True
    stride: int = STRIDE
    threshold: float = _DEFAULTS.threshold
    cutoff: float = _DEFAULTS.cutoff
    kv_mb: float = KV_MB
    policy: Policy = _DEFAULTS.eviction
    skips: Skips = "prefix"


PERCACHE = Spec("similar", ("asked", "predicted"), "bound", ahead=True, predicts="published", policy="lfu")
JACKDAW = Spec("guarded", ("asked", "predicted"), "ordered", plan=OWN_PLAN, ahead=True, predicts="own")

ARMS = {
    "naive": Spec(),
    "ragcache": Spec(tree="bound"),
    "meancache": Spec("similar", ("asked",)),
    "sleeptime": Spec("similar", ("predicted",), predicts="published files"),
    "ragcache+meancache": Spec("similar", ("asked",), "bound"),
    "ragcache+sleeptime": Spec("similar", ("predicted",), "bound", predicts="published files"),
    "percache": PERCACHE,
    "jackdaw": JACKDAW,
}
SWITCHED_OFF = {
    # Without answers, predicted questions are only prefilled, which no cutoff prevents.
    "jackdaw_no_qa": replace(JACKDAW, hits="none", cutoff=0.0),
    "jackdaw_no_kv": replace(JACKDAW, tree="none"),
    "jackdaw_no_prediction": replace(JACKDAW, predicts="nothing"),
    "jackdaw_no_guard": replace(JACKDAW, hits="similar"),
}
PAIRS = ("ragcache+meancache", "ragcache+sleeptime")


@dataclass(frozen=True)
class Unrestored(Population):
    """A variant of the app's idle work that does not restore evicted KV states."""

    def _restore(self) -> Iterator[Step]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a question. Times are in ms: to the answer with its evidence, to its first token, to its last word,
    and for the caches' work after it.
    """

    answer: Answer
    ms: float
    ttft_ms: float
    text_ms: float
    after_ms: float


@dataclass(slots=True)
class Arm:
    """An arm with a store of its own for one user. `steps` are the steps of its idle work, with their seconds."""

    spec: Spec
    assistant: Assistant
    options: Options
    idle: IdleSource
    seconds: float = 0.0
    bytes: int = 0
    steps: list[tuple[Step, float]] = field(default_factory=list)

    def ask(self, question: str) -> Outcome:
        """Ask a question, and finish the caches' work after the answer."""
        start = time.perf_counter()
        answer, done, last = None, start, start
        for event in self.assistant.ask(question, self.options):
            if isinstance(event, Answer):
                answer, done = event, time.perf_counter()
            else:
                last = time.perf_counter()
        after = time.perf_counter()
        if answer is None:
            raise EngineError(f"There was no answer to: {question}")
        ms = (done - start) * 1000
        first = answer.trace.first_token_ms
        return Outcome(answer, ms, ms if first is None else first, (last - start) * 1000, (after - done) * 1000)

    def work_ahead(self, *, before: bool) -> None:
        """Do idle work: with `before`, the work before the first question, otherwise the work after a question."""
        if self.spec.predicts == "idle":
            return
        tree, bank = self.assistant.tree, self.assistant.bank
        writing = tree if self.spec.ahead else replace(tree, limit=0)
        assistant = replace(self.assistant, source=lambda: self.idle, tree=writing)
        kind = Population if self.spec.ahead and self.spec.restores else Unrestored
        prediction = self._prediction(assistant, before)
        population = kind(assistant, self.options, bank, tree, bank.counters, prediction, self.spec.cutoff)
        start = spent = self._spent()
        for step in population.steps():
            before_it, spent = spent, self._spent()
            self.steps.append((step, spent - before_it))
        self.seconds += self._spent() - start

    def _spent(self) -> float:
        """Return the arm's time in seconds: the clock of this process, plus the time that another arm spent on work
        that this arm reuses.
        """
        return time.perf_counter() + self.idle.work.owed_s

    def change(self, spec: Spec) -> "Arm":
        """Return the same arm with changed settings."""
        bank, tree = self.assistant.bank, self.assistant.tree
        return replace(
            self,
            spec=spec,
            assistant=replace(
                self.assistant,
                bank=replace(bank, threshold=spec.threshold),
                tree=replace(tree, limit=int(spec.kv_mb * 1_000_000)),
            ),
        )

    def close(self) -> None:
        """Record the caches' size on disk, and empty the cache of KV states."""
        tree = self.assistant.tree
        self.bytes = tree.rows.bytes() + self.assistant.bank.entries.bytes()
        tree.clear()

    def _prediction(self, assistant: Assistant, before: bool) -> Prediction:
        counters = assistant.bank.counters
        facts = assistant, self.options, assistant.bank, counters, self.spec.stride
        kept = Abstracts(counters.database)
        if self.spec.predicts == "own":
            own = FromFiles if before else FromHistory
            return own(*facts, _DEFAULTS.predict_from)
        if self.spec.predicts == "published":
            return Published(*facts, abstracts=kept, kind=self.spec.kind, times=AHEAD if before else 0)
        if self.spec.predicts == "published files":
            return Published(*facts, abstracts=kept, kind=self.spec.kind, times=AHEAD if before else 1)
        return Nothing(*facts)


def opened(spec: Spec, filled: KnowledgeStore, folder: Path, embedder: Embedder, source: IdleSource) -> Arm:
    """Return an arm in a new folder, with a copy of the filled store."""
    folder.mkdir(parents=True)
    filled.database.execute("VACUUM INTO ?", (str(folder / "jackdaw.db"),))
    database = Database(folder / "jackdaw.db")
    knowledge, counters = KnowledgeStore(database), Counters(database)
    retriever = over(knowledge, embedder, known_people(database))
    bank_parts = (
        *(QAEntries(database), VectorIndex(database, QA_BANK), retriever, counters, spec.threshold),
        *(int(_DEFAULTS.qa_mb * 1_000_000), spec.policy),
    )
    tree_kind = QKVTree if spec.tree == "ordered" else BoundTree
    limit = 0 if spec.tree == "none" else int(spec.kv_mb * 1_000_000)
    # Without cached answers the app still knows the asked questions, as with --fresh.
    guarded = spec.hits == "guarded" or (spec.hits == "none" and spec.keeps)
    assistant = Assistant(
        retriever,
        embedder,
        ConversationStore(database),
        lambda: LocalSource(source.engine, source.template),
        QABank(*bank_parts) if guarded else SimilarityBank(*bank_parts, keeps=spec.keeps),
        tree_kind(KVSlices(database), Blobs(folder / "kv"), counters, limit, spec.policy),
        Everyday(()),
    )
    options = Options(
        plan=spec.plan,
        sampling=SamplingSettings(),
        max_tokens=MOST_TOKENS,
        relevance=0.0,
        bare="benchmark",
        fresh=spec.hits == "none",
    )
    return Arm(spec, assistant, options, replace(source, work=Work()))
