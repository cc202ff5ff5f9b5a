"""Measures how well questions that go beyond the user's files are detected (`device_app.english.beyond`).

`own`: questions that the files answer, per set; `false` is the share for which the server would wrongly be asked in
addition. `mixed`: questions that need files and public knowledge: some about a fictional person's sample files
(`mixed_questions.jsonl`), others joined from a question of the set and a public one; `missed` is the share answered
from the files alone, among those with relevant passages in the files (`relevant`).
"""

import random
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from device_app.english import beyond
from device_app.english.query import Query
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.retriever import Retriever
from device_app.settings import Answer
from models.catalog import find
from models.embedder import OnnxEmbedder
from scripts.datasets.retrieval_sets import lines, load
from scripts.datasets.stores import filled, retriever_over
from scripts.places import step, weights
from shared.types import Filters
from storage.database import Database
from storage.knowledge import KnowledgeStore

JOINED = 150
OWN_SETS = ("lihuaworld", "email", "qmsum")


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures as SET.{own,mixed,joined}.{questions,relevant}, and `.false` for `own`, `.missed` for `mixed`
    and `joined`.
    """
    embedder = OnnxEmbedder(weights("all-minilm-l6-v2").path(find("all-minilm-l6-v2")), threads=arguments.threads)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as room:
        step("the sample life")
        here, tests = Path(__file__).parent, Path(__file__).parent.parent.parent / "tests" / "end_to_end"
        store = KnowledgeStore(Database(Path(room) / "life.db"))
        Ingestion(store, embedder).run([here.parent / "sample_life"])
        life = retriever_over(store, embedder)
        own = [Query(line["question"]) for line in lines(tests / "sample_questions.jsonl") if line["accept"]]
        mixed = [Query(line["question"]) for line in lines(here / "mixed_questions.jsonl")]
        figures["sample_life"] = {"own": _own(life, own), "mixed": _mixed(life, mixed)}
        sets = load(arguments.data) if arguments.data else {}
        public = [question.text for question in sets["nq_passages"].questions] if "nq_passages" in sets else []
        for name in OWN_SETS:
            if name in sets:
                step(name)
                questions = sets[name].questions[: 40 if arguments.quick else None]
                retriever = retriever_over(filled(Path(room) / f"{name}.db", sets[name].files, embedder), embedder)
                asked = [Query(each.text, Filters(places=(each.file,) if each.file else ())) for each in questions]
                figures[name] = {"own": _own(retriever, asked), "joined": _mixed(retriever, _joined(asked, public))}
    return figures


def _joined(own: Sequence[Query], public: Sequence[str]) -> list[Query]:
    """Return questions that are each joined from one about the files and a public one, sampled with a fixed seed."""
    chosen = random.Random(7).sample(public, min(JOINED, len(public)))
    pairs = zip(list(own) * (JOINED // max(len(own), 1) + 1), chosen, strict=False)
    return [Query(f"{mine.text.rstrip('?. ')}, and {theirs.rstrip('?')}?", mine.filters) for mine, theirs in pairs]


def _own(retriever: Retriever, asked: Sequence[Query]) -> dict[str, Any]:
    relevant, flagged = _flagged(retriever, asked)
    return {"questions": len(asked), "relevant": relevant, "false": round(flagged / max(relevant, 1), 4)}


def _mixed(retriever: Retriever, asked: Sequence[Query]) -> dict[str, Any]:
    relevant, flagged = _flagged(retriever, asked)
    return {"questions": len(asked), "relevant": relevant, "missed": round(1 - flagged / max(relevant, 1), 4)}


def _flagged(retriever: Retriever, asked: Sequence[Query]) -> tuple[int, int]:
    """Return for how many questions the files have passages, and how many of those questions are detected as going
    beyond the files.
    """
    hits = [retriever.search(query, beyond.NEAR, Answer().relevance) for query in asked]
    known = [(query, [hit.passage for hit in each]) for query, each in zip(asked, hits, strict=True) if each]
    return len(known), sum(bool(beyond.words(query, passages, retriever.keywords)) for query, passages in known)
