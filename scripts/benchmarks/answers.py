"""How a model answers best: from the best passage alone, from three in one prompt, or from three rows mixed.

Passages are retrieved from the sample life, and from `xquad` and `lihuaworld` under --data. `contains`: the reference
stands in the answer; `f1`: overlap of words (SQuAD's). The catalog's `passages` and `arrangement` follow these figures.
"""

import json
import re
import statistics
import tempfile
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.query import Query
from device_app.knowledge.retriever import Retriever
from device_app.settings import Answer
from device_app.sources.local import LocalSource
from models.catalog import find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from scripts.benchmarks.places import step, weights
from scripts.benchmarks.retrieval import filled
from scripts.benchmarks.retrieval_data import lines, load
from shared.ending import ended
from shared.prompt import build
from shared.types import Block, Document, Hit
from storage.database import Database
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore
from storage.vectors import VectorIndex

MODES = {"best": (1, False), "prompt3": (3, False), "rows3": (3, True)}
MOST_TOKENS = 48
MOST_QUESTIONS = 60


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the answers any of which is right; none where the files do not tell."""

    question: str
    accept: Sequence[str]


def run(arguments: Namespace) -> dict[str, Any]:
    """SET.base.MODE.{f1,contains,tokens,ms}; abstain.{right,false}."""
    folder = weights("smollm2-135m", "all-minilm-l6-v2")
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    engine = LlamaCppEngine(LlamaModel(folder.path(find("smollm2-135m"))), threads=arguments.threads)
    source = LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))
    most = 10 if arguments.quick else MOST_QUESTIONS
    with tempfile.TemporaryDirectory() as room:
        retriever, cases = _sample_life(Path(room), embedder)
        answerable = [case for case in cases if case.accept]
        figures = {
            "sample_life": _measure(retriever, answerable, source, most),
            "abstain": {
                "right": _abstained(retriever, [case for case in cases if not case.accept]),
                "false": _abstained(retriever, answerable),
            },
        }
        for name, (documents, cases) in _sets(arguments.data).items():
            store = filled(Path(room) / f"{name}.db", {name: documents}, embedder)
            figures[name] = _measure(_retriever(store, embedder), cases, source, most)
    return figures


def _sample_life(room: Path, embedder: Embedder) -> tuple[Retriever, list[Case]]:
    scripts = Path(__file__).parent.parent
    store = KnowledgeStore(Database(room / "life.db"))
    Ingestion(store, embedder).run([scripts / "sample_life"])
    asked = scripts.parent / "tests" / "end_to_end" / "sample_questions.jsonl"
    return _retriever(store, embedder), [Case(one["question"], one["accept"]) for one in lines(asked)]


def _sets(data: Path | None) -> dict[str, tuple[Sequence[Document], list[Case]]]:
    sets: dict[str, tuple[Sequence[Document], list[Case]]] = {}
    if data and (data / "lihuaworld").is_dir():
        asked = lines(data / "lihuaworld" / "queries.jsonl")
        cases = [Case(one["question"], [one["answer"]]) for one in asked if one["type"] == "Single"]
        sets["lihuaworld"] = ([one for some in load(data)["lihuaworld"].files.values() for one in some], cases)
    if data and (data / "xquad" / "xquad.json").is_file():
        documents, cases = [], []
        for article in json.loads((data / "xquad" / "xquad.json").read_text("utf-8"))["data"]:
            for number, paragraph in enumerate(article["paragraphs"]):
                title = article["title"].replace("_", " ")
                documents.append(Document(f"{title} {number}", "page", title, (Block(paragraph["context"]),)))
                cases += [Case(one["question"], [a["text"] for a in one["answers"]]) for one in paragraph["qas"]]
        sets["xquad"] = (documents, cases)
    return sets


def _retriever(store: KnowledgeStore, embedder: Embedder) -> Retriever:
    return Retriever(store, KeywordIndex(store.database), VectorIndex(store.database), embedder)


def _abstained(retriever: Retriever, cases: Sequence[Case]) -> float:
    """Share of the questions for which nothing relevant enough is found, so that the model is not asked."""
    least = Answer().relevance
    return round(sum(not retriever.search(Query(case.question), 1, least) for case in cases) / len(cases), 4)


def _measure(retriever: Retriever, cases: Sequence[Case], source: LocalSource, most: int) -> dict[str, Any]:
    cases = cases[:: max(1, len(cases) // most)][:most]
    found: dict[str, list[tuple[float, float, int, float]]] = {mode: [] for mode in MODES}
    for number, case in enumerate(cases):
        if number % 10 == 0:
            step(f"question {number} of {len(cases)}")
        hits = retriever.search(Query(case.question), 3)
        for mode, (count, rows) in MODES.items():
            found[mode].append(_answer(source, case, hits[:count], rows))
    modes = {}
    for mode, answers in found.items():
        f1, contains, tokens, elapsed = zip(*answers, strict=True)
        modes[mode] = {
            "f1": round(statistics.mean(f1), 4),
            "contains": round(statistics.mean(contains), 4),
            "tokens": round(statistics.mean(tokens), 1),
            "ms": round(statistics.median(elapsed), 1),
        }
    return {"base": modes}


def _answer(source: LocalSource, case: Case, hits: Sequence[Hit], rows: bool) -> tuple[float, float, int, float]:
    prompt = build(case.question, [hit.passage for hit in hits], source.template)
    begun = time.perf_counter()
    stream = source.stream(
        prompt if rows else prompt.joined(),
        SamplingSettings(),
        max_tokens=MOST_TOKENS,
        similarities=[hit.similarity for hit in hits] if rows else [1.0],
    )
    pieces = list(ended(stream))
    elapsed = (time.perf_counter() - begun) * 1000
    said = _words("".join(piece.text for piece in pieces))
    right = [_words(text) for text in case.accept]
    contains = any(f" {' '.join(one)} " in f" {' '.join(said)} " for one in right)
    return max(_f1(said, one) for one in right), float(contains), len(pieces), elapsed


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in ("a", "an", "the")]


def _f1(said: Sequence[str], right: Sequence[str]) -> float:
    shared = sum((Counter(said) & Counter(right)).values())
    return 2 * shared / (len(said) + len(right)) if shared else 0.0
