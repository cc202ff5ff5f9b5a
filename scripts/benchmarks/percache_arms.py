"""The arms of `percache`: the app's own parts, with a small honest substitute where a baseline lacks one.

An arm asks, which is timed, and works ahead, whose tokens and seconds are counted. What one arm's idle work wrote for
a prompt, another's takes over and is charged the same for: the model always writes the same to it.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from device_app.answer import Answer
from device_app.assistant import Assistant, Options, Plan
from device_app.cache import predictor
from device_app.cache.eviction import Policy
from device_app.cache.population import Population
from device_app.cache.prediction import HISTORY, Predicted, Prediction
from device_app.cache.qa_bank import CANDIDATES, Considered, QABank
from device_app.cache.qkv_tree import QKVTree
from device_app.knowledge.query import Query
from device_app.knowledge.retriever import Retriever
from device_app.settings import Cache
from device_app.sources.local import LocalSource, Piece
from device_app.work import Step
from models.engine import Embedder
from models.sampling import SamplingSettings
from shared.errors import EngineError
from shared.prompt import Prompt, Segment, passage_text
from shared.trace import Trace
from shared.types import StoredPassage
from storage.blobs import Blobs
from storage.conversations import ConversationStore
from storage.counters import Counters
from storage.database import Database
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore
from storage.kv_slices import KVSlices
from storage.qa_entries import Origin, QAEntries
from storage.vectors import QA_BANK, VectorIndex, Vectors

PASSAGES, MOST_TOKENS = 1, 48
"""The app's own plan for this model (`scripts/bench answers`), for all arms alike."""

READ_AHEAD = 20
"""Passages that the app reads ahead at a time: with its questions about as much work as a published prediction."""

AHEAD = 2
"""Predictions from the files before the first question (PerCache, section 5.3)."""

_ABSTRACTS = 2
"""Abstracts that one published prediction is made from, each of `stride` passages."""

_ABSTRACT_TOKENS, _QUESTION_TOKENS = 60, 40
_KNOWN = 0.999
"""Cosine of a question with itself, but for rounding."""

_DEFAULTS = Cache()


@dataclass(frozen=True, slots=True)
class Spec:
    """What an arm is made of.

    `hits`: no answer is kept, one is served by similarity alone, or the guard decides. `keeps`: whose answers are kept.
    `tree`: no states are kept, the passages stay in the order they were found in, or follow the longest kept path;
    `ahead`: idle work keeps states too. `predicts`: nothing, from the files as published, from both as published, or
    from both as the app does.
    """

    hits: Literal["none", "similar", "guarded"] = "none"
    keeps: tuple[Origin, ...] = ()
    tree: Literal["none", "bound", "ordered"] = "none"
    ahead: bool = False
    predicts: Literal["idle", "nothing", "published files", "published", "own"] = "idle"
    restores: bool = True
    stride: int = _DEFAULTS.stride
    threshold: float = _DEFAULTS.threshold
    cutoff: float = _DEFAULTS.cutoff
    kv_mb: float = _DEFAULTS.kv_mb
    policy: Policy = _DEFAULTS.eviction


PERCACHE = Spec("similar", ("asked", "predicted"), "bound", True, "published")
JACKDAW = Spec("guarded", ("asked", "predicted"), "ordered", True, "own")

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
    # Without answers, predicted questions are prefilled alone: what no cutoff would do.
    "jackdaw_no_qa": replace(JACKDAW, hits="none", cutoff=0.0),
    "jackdaw_no_kv": replace(JACKDAW, tree="none"),
    "jackdaw_no_prediction": replace(JACKDAW, predicts="nothing"),
    "jackdaw_no_guard": replace(JACKDAW, hits="similar"),
}
PAIRS = ("ragcache+meancache", "ragcache+sleeptime")


@dataclass(frozen=True)
class SimilarityBank(QABank):
    """A bank that serves by cosine alone, and keeps the answers to questions of these origins alone."""

    keeps: tuple[Origin, ...] = ()

    def put(self, query: Query, vector: Vectors, recipe: str, origin: Origin, **answer: object) -> None:
        """Keep an answer, if this bank keeps such."""
        if origin in self.keeps:
            super().put(query, vector, recipe, origin, **answer)  # type: ignore[arg-type]

    def consider(self, query: Query, vector: Vectors, recipe: str) -> Iterator[Considered]:  # noqa: ARG002
        """The most similar entries; every one that is answered and similar enough serves."""
        cosines = self.vectors.cosines(vector)
        ids = cosines.best(CANDIDATES)
        entries = self.entries.get(ids.tolist())
        for identity, cosine in zip(ids.tolist(), cosines.of(ids).tolist(), strict=True):
            entry = entries[identity]
            serves = entry.answer is not None and cosine >= self.threshold
            yield Considered(entry, cosine, serves, "similar" if serves else "not similar enough, or not answered yet")


@dataclass(frozen=True)
class BoundTree(QKVTree):
    """A tree that leaves the passages in the order they were found in."""

    def order(self, kv_key: str, root: Sequence[Segment], passages: Sequence[Sequence[Segment]]) -> list[int]:  # noqa: ARG002
        """The order given."""
        return list(range(len(passages)))


@dataclass(slots=True)
class Work:
    """What idle work took: tokens prefilled and decoded, and seconds that another arm spent for this one."""

    prefilled: int = 0
    decoded: int = 0
    owed_s: float = 0.0


@dataclass(slots=True)
class Written:
    """What all arms' idle work wrote, with the seconds of decoding, by prompt; what it prefilled, and how long."""

    pieces: dict[tuple[int, ...], tuple[list[Piece], float]] = field(default_factory=dict)
    prefilled: int = 1
    seconds: float = 0.0


@dataclass(frozen=True)
class IdleSource(LocalSource):
    """The source that idle work writes with: counts its work, and decodes nothing twice."""

    written: Written = field(default_factory=Written)
    work: Work = field(default_factory=Work)

    def stream(
        self,
        prompt: Prompt,
        sampling: SamplingSettings,
        *,
        max_tokens: int,
        similarities: Sequence[float] = (1.0,),
        trace: Trace | None = None,
        tree: QKVTree | None = None,
    ) -> Generator[Piece, None, None]:
        """As the source's, decoding from memory what was written before."""
        trace = trace or Trace()
        tokens = [token for path in self._paths(prompt) for node in path for token in node.tokens]
        key = (max_tokens, *tokens, *self._tokens(prompt.tail))
        if key in self.written.pieces:
            pieces, seconds = self.written.pieces[key]
            if tree and tree.limit:
                self._prefill(prompt, trace, tree)
            else:
                trace.tokens_prefilled = self.count(prompt)
                seconds += trace.tokens_prefilled * self.written.seconds / self.written.prefilled
            trace.tokens_decoded = len(pieces)
            self.work.owed_s += seconds
            self._count(trace)
            yield from pieces
            return
        pieces = []
        kept = super().stream(
            prompt, sampling, max_tokens=max_tokens, similarities=similarities, trace=trace, tree=tree
        )
        try:
            with closing(kept) as stream:
                for piece in stream:
                    pieces.append(piece)
                    yield piece
        finally:
            took = dict(trace.steps)
            self.written.pieces[key] = pieces, took["decode"] / 1000
            self.written.prefilled += trace.tokens_prefilled
            self.written.seconds += took["prefill"] / 1000
            self._count(trace)

    def prefill(self, prompt: Prompt, tree: QKVTree) -> Trace:
        """As the source's."""
        trace = super().prefill(prompt, tree)
        self._count(trace)
        return trace

    def _count(self, trace: Trace) -> None:
        self.work.prefilled += trace.tokens_prefilled
        self.work.decoded += trace.tokens_decoded


@dataclass(frozen=True)
class FromFiles(Prediction):
    """The app's own prediction before the first question."""

    def questions(self) -> Iterator[Predicted]:
        """So many predictions from the files."""
        return islice(self._from_knowledge(), AHEAD * self.stride)

    def passages(self) -> Iterator[StoredPassage]:
        """As much reading for each."""
        return islice(super().passages(), AHEAD * READ_AHEAD)


@dataclass(frozen=True)
class FromHistory(Prediction):
    """The app's own prediction after a question."""

    def questions(self) -> Iterator[Predicted]:
        """A prediction from what was asked."""
        return self._from_history()

    def passages(self) -> Iterator[StoredPassage]:
        """What is likeliest to be asked about next."""
        return islice(super().passages(), READ_AHEAD)


@dataclass(frozen=True)
class Nothing(Prediction):
    """No prediction."""

    def questions(self) -> Iterator[Predicted]:
        """None."""
        return iter(())

    def passages(self) -> Iterator[StoredPassage]:
        """None."""
        return iter(())


@dataclass(frozen=True)
class Published(Nothing):
    """Prediction with the paper's prompts: `times` from abstracts of the files, or from what was asked (0)."""

    times: int = 0

    def questions(self) -> Iterator[Predicted]:
        """What the model wrote, less what is known already."""
        for turn in range(self.times or 1):
            prompt, source = self._abstracts(turn) if self.times else self._history()
            said = self.assistant.source().write(prompt, _QUESTION_TOKENS * self.stride)
            for question in predictor.parse(said, self.stride):
                if self.bank.nearest(self.assistant.embedder.embed([question])[0]) < _KNOWN:
                    yield Predicted(question, source)

    def _history(self) -> tuple[str, str]:
        asked = [question for _, question in self.assistant.conversations.questions(HISTORY)]
        return predictor.history_prompt(asked, self.stride), "what was asked before"

    def _abstracts(self, turn: int) -> tuple[str, str]:
        """From where the last prediction stopped; from the beginning where all was read."""
        store, mark = self.assistant.retriever.store, int(self.counters.all().get("abstracted_passage", 0))
        abstracts = []
        for _ in range(_ABSTRACTS):
            passages = store.passages_after(mark, self.stride) or store.passages_after(0, self.stride)
            mark = passages[-1].id
            said = self.assistant.source().write(abstract_prompt(passages), _ABSTRACT_TOKENS)
            abstracts.append(said.strip())
        self.counters.set("abstracted_passage", mark)
        return knowledge_prompt(abstracts, self.stride), f"abstracts {turn}"


def abstract_prompt(passages: Sequence[StoredPassage]) -> str:
    """The turn that asks for one sentence about some passages (PerCache, Figure 26)."""
    texts = "\n".join(map(passage_text, passages))
    return f"{texts}\nSummarize this in one sentence."


def knowledge_prompt(abstracts: Sequence[str], stride: int) -> str:
    """The turn that asks for questions about what is known, from its abstracts (PerCache, Figure 27)."""
    listed = "\n".join(abstracts)
    return f"{listed}\n\nWrite {stride} questions about this."


@dataclass(frozen=True)
class Unrestored(Population):
    """Idle work that leaves evicted states be."""

    def _restore(self) -> Iterator[Step]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a question. Times in ms: until the answer stands with its evidence, its first token, its last
    word, and what was done for the caches after it."""

    answer: Answer
    ms: float
    ttft_ms: float
    text_ms: float
    after_ms: float


@dataclass(slots=True)
class Arm:
    """One arm over one person's store of its own."""

    spec: Spec
    assistant: Assistant
    options: Options
    idle: IdleSource
    seconds: float = 0.0
    steps: list[Step] = field(default_factory=list)

    def ask(self, question: str) -> Outcome:
        """Ask, and drain what follows the answer."""
        begun = time.perf_counter()
        answer, done, last = None, begun, begun
        for event in self.assistant.ask(question, self.options):
            if isinstance(event, Answer):
                answer, done = event, time.perf_counter()
            else:
                last = time.perf_counter()
        after = time.perf_counter()
        if answer is None:
            raise EngineError(f"There was no answer to: {question}")
        ms = (done - begun) * 1000
        first = answer.trace.first_token_ms
        return Outcome(answer, ms, ms if first is None else first, (last - begun) * 1000, (after - done) * 1000)

    def work_ahead(self, *, before: bool) -> None:
        """What there is to do in idle time, before the first question or after one."""
        if self.spec.predicts == "idle":
            return
        tree, bank = self.assistant.tree, self.assistant.bank
        writing = tree if self.spec.ahead else replace(tree, limit=0)
        assistant = replace(self.assistant, source=lambda: self.idle, tree=writing)
        begun, owed = time.perf_counter(), self.idle.work.owed_s
        kind = Population if self.spec.ahead and self.spec.restores else Unrestored
        prediction = self._prediction(assistant, before)
        population = kind(assistant, self.options, bank, tree, bank.counters, prediction, self.spec.cutoff)
        self.steps += population.steps()
        self.seconds += time.perf_counter() - begun + self.idle.work.owed_s - owed

    def change(self, spec: Spec) -> "Arm":
        """The same arm with other settings."""
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

    def bytes(self) -> int:
        """What its caches take on the disk."""
        return self.assistant.tree.rows.bytes() + self.assistant.bank.entries.bytes()

    def _prediction(self, assistant: Assistant, before: bool) -> Prediction:
        facts = assistant, self.options, assistant.bank, assistant.bank.counters, self.spec.stride
        if self.spec.predicts == "own":
            return FromFiles(*facts) if before else FromHistory(*facts)
        if self.spec.predicts == "published":
            return Published(*facts, times=AHEAD if before else 0)
        if self.spec.predicts == "published files":
            return Published(*facts, times=AHEAD if before else 1)
        return Nothing(*facts)


def opened(spec: Spec, filled: KnowledgeStore, folder: Path, embedder: Embedder, source: IdleSource) -> Arm:
    """An arm in a new folder, over a copy of what the filled store holds."""
    folder.mkdir(parents=True)
    filled.database.execute("VACUUM INTO ?", (str(folder / "jackdaw.db"),))
    database = Database(folder / "jackdaw.db")
    knowledge, vectors, counters = KnowledgeStore(database), VectorIndex(database), Counters(database)
    retriever = Retriever(knowledge, KeywordIndex(database), vectors, embedder)
    bank_parts = (
        *(QAEntries(database), VectorIndex(database, QA_BANK), retriever, counters, spec.threshold),
        *(int(_DEFAULTS.qa_mb * 1_000_000), spec.policy),
    )
    tree_kind = QKVTree if spec.tree == "ordered" else BoundTree
    limit = 0 if spec.tree == "none" else int(spec.kv_mb * 1_000_000)
    # Without answers the app still knows what was asked, as it does under --fresh.
    guarded = spec.hits == "guarded" or (spec.hits == "none" and spec.keeps)
    assistant = Assistant(
        retriever,
        embedder,
        ConversationStore(database),
        lambda: LocalSource(source.engine, source.template),
        QABank(*bank_parts) if guarded else SimilarityBank(*bank_parts, keeps=spec.keeps),
        tree_kind(KVSlices(database), Blobs(folder / "kv"), counters, limit, spec.policy),
    )
    options = Options(
        plan=Plan(PASSAGES, "prompt"),
        sampling=SamplingSettings(),
        max_tokens=MOST_TOKENS,
        relevance=0.0,
        recipe="benchmark",
        fresh=spec.hits == "none",
    )
    return Arm(spec, assistant, options, replace(source, work=Work()))
