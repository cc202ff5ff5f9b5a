"""Runs the server's pipelines on real questions with the default model, and records their rounds of retrieval: which
vectors they looked up, and from which the look-ahead started.

The pipelines, the index of real passages and the recall are those of `jackdaw-server pipelines measure`. Each question
runs by itself. `anchored` pipelines look up queries with the question's vector added, as servers do by default; the
others are as published.
"""

import asyncio
from argparse import Namespace
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np

from cloud_server.engine.batch import Batch
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.catalog import PIPELINES, PLAIN
from cloud_server.pipelines.measuring import Retrieval, Workbench, compared
from cloud_server.pipelines.recall import KnownQuestion
from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.corpus import Ticket, Vector
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.versions import Versions
from cloud_server.settings import Settings
from models.catalog import find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.benchmarks.telerag_data import MODEL, Round
from scripts.benchmarks.telerag_reuse import overlap
from scripts.datasets.retrieval_sets import lines
from scripts.places import step, weights
from shared.protocol.messages import Pipeline, PublicPassage
from storage.ivf import Ivf

PASSAGES: Final = 3
"""The passages that a pipeline finds and prompts with, as in the paper (section 5.1)."""

ASKS_ITSELF: Final[Collection[Pipeline]] = ("iter_retgen", "flare", "self_rag")
"""The pipelines that look up the question itself in their first round."""

_GIGABYTES_A_SECOND = 51
PAPER_S: Final[Mapping[Pipeline, float]] = {
    "hyde": 9 / _GIGABYTES_A_SECOND,
    "subquestion": 8 / _GIGABYTES_A_SECOND,
    "iterative": 5 / _GIGABYTES_A_SECOND,
    "iter_retgen": 4 / _GIGABYTES_A_SECOND,
    "flare": 6 / _GIGABYTES_A_SECOND,
    "self_rag": 3 / _GIGABYTES_A_SECOND,
}
"""The mean seconds for which the paper's model (Llama-3-8B on an H100) writes before a round of retrieval.

The paper does not print them, but its budgets (Table 5.3), which are these times multiplied by the bandwidth (section
4.2; 51 GB/s as measured, Table 5.2).
"""

PAPER_OVERLAP: Final[Mapping[Pipeline, float]] = {
    "hyde": 0.731,
    "subquestion": 0.632,
    "iterative": 0.915,
    "iter_retgen": 0.838,
    "flare": 0.791,
}
"""The overlap that the paper printed for Natural Questions, with as many clusters read ahead as searched: 256 of 4,096
(Table 3.1).
"""

Runs = Mapping[Pipeline, Sequence["Run"]]
"""By pipeline, its run on each question."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a pipeline found for a question, and its rounds of retrieval."""

    retrieval: Retrieval
    rounds: Sequence[Round]


@dataclass(slots=True)
class _Round:
    near: Vector | None = None
    half: Vector | None = None
    queries: list[Vector] = field(default_factory=list)


class Watched(IndexCorpus):
    """The server's corpus, which records the rounds of retrieval. Used by one pipeline at a time."""

    def __init__(self, folder: Path, embedder: str) -> None:
        super().__init__(folder, embedder)
        self._rounds: list[_Round] = []
        self._is_open = False  # whether the next vectors belong to the last round

    def search_many(self, vectors: Sequence[Vector], most: int) -> list[list[PublicPassage]]:
        """Search as the server does, and record the vectors."""
        if not self._is_open:
            self._rounds.append(_Round())
        self._rounds[-1].queries += vectors
        self._is_open = False
        return super().search_many(vectors, most)

    def look_ahead(self, vector: Vector, pipeline: str) -> "WatchedTicket":  # type: ignore[override]
        """Read ahead as the server does, and record the vector if a search follows."""
        return WatchedTicket(super().look_ahead(vector, pipeline), _Round(vector), self._begin)

    def taken(self) -> list[Round]:
        """Return the rounds recorded since the last call."""
        rounds, self._rounds = self._rounds, []
        return [Round(each.near, each.half, np.stack(each.queries)) for each in rounds]

    def _begin(self, own: _Round) -> None:
        self._rounds.append(own)
        self._is_open = True


class WatchedTicket:
    """The server's look-ahead for a round, which records the vectors that it gets. Implements `Ticket`."""

    def __init__(self, ticket: Ticket, own: _Round, on_search: Callable[[_Round], None]) -> None:
        self._ticket, self._own, self._on_search = ticket, own, on_search
        self.starts, self.provisional, self.close = ticket.starts, ticket.provisional, ticket.close

    def refine(self, vector: Vector) -> None:
        """Read ahead near the text written so far."""
        self._own.half = vector
        self._ticket.refine(vector)

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Search for the round's first query; the others follow in the corpus's next search."""
        self._own.queries.append(vector)
        self._on_search(self._own)
        return self._ticket.search(vector, most)


def recorded(arguments: Namespace, count: int, room: Path) -> tuple[Sequence[KnownQuestion], dict[bool, Runs]]:
    """Run all pipelines on `count` questions of --data, as published (False) and anchored (True). Raises CannotRun."""
    folder = weights(MODEL, "all-minilm-l6-v2")
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), arguments.threads)
    source: Path = arguments.data / "nq_passages"
    rows = list(lines(source / "questions.jsonl"))
    own = rows[:: max(1, len(rows) // count)][:count]
    questions = [KnownQuestion(row["question"], frozenset({str(row["gold_pid"])})) for row in own]
    step("an index of the questions' passages")
    index = FolderIndex(Versions(room / "passages"), arguments.threads, 0, "f16")
    Builder(index, embedder).build([source / "passages.jsonl"])
    settings = Settings()
    engine = LlamaCppEngine(
        LlamaModel(folder.path(find(MODEL))),
        context=settings.model.context,
        sequences=settings.model.sequences,
        threads=arguments.threads,
        kv_type=settings.model.kv,
    )
    template = parse(engine.info.chat_template, engine.info.bos)
    corpus = Watched(room / "passages", embedder.fingerprint)
    runs: dict[bool, Runs] = {}
    for anchored in (False, True):
        answering = Answering(engine, template, embedder, corpus, settings.retrieval.relevance, anchored)
        batch = Batch(engine, PrefixCache(round(settings.model.prefix_mb * 1e6)))
        runs[anchored] = asyncio.run(run_all(Workbench(answering, batch), corpus, questions))
    engine.close()
    return questions, runs


async def run_all(workbench: Workbench, corpus: Watched, questions: Sequence[KnownQuestion]) -> Runs:
    """Run all pipelines on all questions, one at a time. Raises EngineLost, StoreError."""
    runs: dict[Pipeline, list[Run]] = {}
    async with workbench:
        for pipeline in PIPELINES:
            step(f"{len(questions)} questions with {pipeline}")
            runs[pipeline] = []
            for known in questions:
                retrieval = await workbench.retrieve(pipeline, known.question, PASSAGES)
                runs[pipeline].append(Run(retrieval, corpus.taken()))
    return runs


def chosen(pipeline: Pipeline, rounds: Sequence[Round], question: Vector) -> list[Round]:
    """Return the rounds whose queries the model wrote, and the round in which a pipeline looks up the question by
    design. Left out are those in which the question is looked up because the model wrote nothing of use.
    """
    return [
        each
        for place, each in enumerate(rounds)
        if not np.array_equal(each.queries, question[None]) or (place == 0 and pipeline in ASKS_ITSELF)
    ]


def overlaps(vectors: Ivf, runs: Runs, nprobe: int) -> dict[Pipeline, dict[str, Any]]:
    """Return, by pipeline, the overlap of clusters (`telerag_reuse.overlap`), the `queries` that it counts, the share
    `repeated` of these that are the query of the round before, and the paper's overlap.

    Self-RAG is left out, as it looks up the question itself. So is a pipeline that looked up nothing that was written.
    """
    figures: dict[Pipeline, dict[str, Any]] = {}
    for pipeline, rounds in kept(runs).items():
        every = [each for own in rounds for each in own]
        pairs = [(each.near, query) for each in every if each.near is not None for query in each.queries]
        if pairs and pipeline != "self_rag":
            repeated = fmean(np.array_equal(*pair) for pair in pairs)
            shares = overlap(vectors, every, nprobe)
            counts = {"queries": len(pairs), "repeated": round(repeated, 3)}
            figures[pipeline] = {**shares, **counts, "paper": PAPER_OVERLAP[pipeline]}
    return figures


def kept(runs: Runs) -> dict[Pipeline, list[list[Round]]]:
    """Return the chosen rounds of each question for which there are any, by pipeline except plain."""
    questions = [run.rounds[0].queries[0] for run in runs[PLAIN]]
    return {
        pipeline: [
            rounds
            for run, question in zip(own, questions, strict=True)
            if (rounds := chosen(pipeline, run.rounds, question))
        ]
        for pipeline, own in runs.items()
        if pipeline != PLAIN
    }


def recalls(questions: Sequence[KnownQuestion], runs: Runs) -> dict[str, dict[str, float]]:
    """Return each pipeline's recall in its best passage (r1) and in its best three (r3), each with the bounds of the
    confidence interval of how much it exceeds the plain pipeline's, and the mean number of written tokens.
    """
    figures: dict[str, dict[str, float]] = {}
    for most in (1, PASSAGES):
        retrievals = {
            pipeline: [replace(run.retrieval, passages=run.retrieval.passages[:most]) for run in own]
            for pipeline, own in runs.items()
        }
        for measured in compared(questions, retrievals):
            own = figures.setdefault(measured.pipeline, {"tokens": round(measured.tokens, 1)})
            own[f"r{most}"] = round(measured.recall, 3)
            own[f"r{most}_low"], own[f"r{most}_high"] = round(measured.low, 3), round(measured.high, 3)
    return figures
