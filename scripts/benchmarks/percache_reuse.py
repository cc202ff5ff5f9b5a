"""Compares ways to reuse cached KV states: exactly, blended into any prompt, or in a sequence per passage (rows); and
the choice between them by a forecast.

There are three passages per question, each prefilled ahead, hence cached after the instructions. `SET.ARM`: `kl` is the
divergence of the first token's distribution from the exact one, `agreement` the F1 with the exact answer.
`SET.from_exact.ARM` has the paired differences in quality: mean, and the 95% interval of 10,000 resamplings of the
questions. `SET.choice.POLICY` has means over three states of the cache: empty, each passage prefilled ahead, the very
prompt cached.
"""

import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from device_app.cache.states.tree import QKVTree
from device_app.english.query import Query
from device_app.knowledge.retriever import Retriever
from models.catalog import find
from models.chat_template import parse
from models.decoder import mix
from models.embedder import OnnxEmbedder
from models.engine import Embedder, Engine, Logits
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from scripts.benchmarks.blending import BlendingSource
from scripts.benchmarks.percache_reuse_figures import ARMS, BLENDED, PASSAGES, Answered, Case, Mode, figures_of
from scripts.benchmarks.percache_users import User, users
from scripts.datasets.stores import filled, retriever_over
from scripts.places import step, weights
from shared.aggregation.weights import row_weights
from shared.ending import ended
from shared.prompt import ChatTemplate, Prompt, build
from shared.trace import Trace
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.knowledge import KnowledgeStore
from storage.kv_slices import KVSlices

MOST_TOKENS = 48
QUESTIONS = {"lihuaworld": 20, "qmsum": 100}
QUICK_QUESTIONS = {"lihuaworld": 6, "qmsum": 7}

Filled = Mapping[str, Sequence[tuple[User, KnowledgeStore]]]
"""The users of each set, each with a store of their documents."""


@dataclass(frozen=True)
class Watched(BlendingSource):
    """A source of answers that records the logits after each of the prompt's rows (the prompts among which passages are
    divided). With `recomputed` 1, every state is recomputed exactly.
    """

    first: list[Logits] = field(default_factory=list)

    def prefilled(self, prompt: Prompt, trace: Trace, tree: QKVTree | None) -> list[Logits]:
        """Prefill like the base class, and record the logits."""
        self.first[:] = super().prefilled(prompt, trace, tree)
        return list(self.first)


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures as SET.ARM.{ttft_ms,total_ms,prefilled,recomputed,f1,rouge_l,agreement,kl}; SET.from_exact;
    SET.choice.
    """
    people = users(arguments.data)
    folder = weights("smollm2-135m", "all-minilm-l6-v2")
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    engine = LlamaCppEngine(LlamaModel(folder.path(find("smollm2-135m"))), threads=arguments.threads)
    with tempfile.TemporaryDirectory() as place:
        stores: dict[str, list[tuple[User, KnowledgeStore]]] = {name: [] for name in people}
        for name, some in people.items():
            for user in some:
                step(f"filling the store of {user.name}")
                stores[name].append((user, filled(Path(place) / f"{user.name}.db", user.files, embedder)))
        template = parse(engine.info.chat_template, engine.info.bos)
        figures = measure(stores, engine, template, embedder, quick=arguments.quick)
    engine.close()
    return figures


def measure(
    stores: Filled, engine: Engine, template: ChatTemplate, embedder: Embedder, *, quick: bool
) -> dict[str, Any]:
    """Return the figures of every set."""
    figures = {}
    for name, some in stores.items():
        cases = []
        most = (QUICK_QUESTIONS if quick else QUESTIONS)[name]
        for user, store in some:
            retriever = retriever_over(store, embedder)
            with tempfile.TemporaryDirectory() as place:
                cases += _cases(user, -(-most // len(some)), retriever, Bench(engine, template, Path(place)))
        figures[name] = figures_of(cases[:most])
    return figures


class Bench:
    """One engine and one cache of KV states (`tree`), with which questions are answered in every mode."""

    def __init__(self, engine: Engine, template: ChatTemplate, folder: Path) -> None:
        database = Database(folder / "tree.db")
        self.template = template
        self.tree = QKVTree(KVSlices(database), Blobs(folder / "kv"), Counters(database), 1 << 40, "lru")
        self._engine = engine

    def source(self, mode: Mode) -> Watched:
        """Return a source that answers in the given mode."""
        return Watched(self._engine, self.template, recomputed=mode.recomputed)

    def answered(self, mode: Mode, prompt: Prompt, similarities: Sequence[float], most: int = MOST_TOKENS) -> Answered:
        """Return the answer to the prompt, whose passages are separate; this method joins them if the mode needs one
        prompt.
        """
        source = self.source(mode)
        trace = Trace()
        if not mode.rows:
            order = [] if mode.cold else self.tree.order(self._engine.info.kv_key, prompt.head, prompt.passages)
            prompt, similarities = (prompt.ordered(order) if order else prompt).joined(), (1.0,)
        tree = None if mode.cold else self.tree
        stream = source.stream(
            prompt, SamplingSettings(), max_tokens=most, similarities=similarities, trace=trace, tree=tree
        )
        with closing(stream):
            text = "".join(piece.text for piece in ended(stream))
        first = mix(source.first, row_weights(similarities)).astype(np.float64)
        return Answered(text, first - np.logaddexp.reduce(first), trace, trace.elapsed_ms())


def _cases(user: User, most: int, retriever: Retriever, bench: Bench) -> list[Case]:
    """Answer each question in every mode in turn. The first question is asked twice, the first time as a warm-up."""
    asked = user.questions[:: max(1, len(user.questions) // most)][:most]
    cases = []
    for number, question in enumerate((asked[0], *asked)):
        step(f"{user.name}: question {number} of {len(asked)}")
        hits = retriever.search(Query(question.text), PASSAGES)
        prompt = build(question.text, [hit.passage for hit in hits], bench.template)
        similarities = [hit.similarity for hit in hits]
        bench.tree.clear()
        for hit in hits:
            bench.source(Mode()).prefill(build("", [hit.passage], bench.template), bench.tree)
        turn = number % len(ARMS)
        arms = [*list(ARMS)[turn:], *list(ARMS)[:turn]]
        answers = {arm: bench.answered(ARMS[arm], prompt, similarities) for arm in arms}
        cases.append(Case(question, answers, _begins(bench, answers, prompt, similarities)))
    return cases[1:]


def _begins(
    bench: Bench, answers: Mapping[str, Answered], prompt: Prompt, similarities: Sequence[float]
) -> dict[str, dict[str, tuple[float, int]]]:
    """Return the times to the first token in each state of the cache; a mode that behaves equally in two states is
    timed once.
    """

    def first_token(mode: Mode) -> tuple[float, int]:
        return _first_token(bench.answered(mode, prompt, similarities, 1))

    cold, ahead = _first_token(answers["cold"]), {arm: _first_token(answer) for arm, answer in answers.items()}
    cold_rows = first_token(Mode(rows=True, cold=True))
    bench.source(Mode()).prefill(prompt.joined(), bench.tree)
    kept, kept_rows = first_token(Mode()), first_token(Mode(rows=True))
    one_row = ("exact", *BLENDED)
    return {
        "nothing": {**dict.fromkeys(one_row, cold), "rows": cold_rows},
        "read ahead": ahead,
        "prompt kept": {**dict.fromkeys(one_row, kept), "rows": kept_rows},
    }


def _first_token(answered: Answered) -> tuple[float, int]:
    return answered.ttft_ms, answered.trace.tokens_prefilled
