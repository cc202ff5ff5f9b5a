"""How well and how fast the model answers, bare and with its adapter: from the best passage alone, from three in one
prompt, or from three rows mixed; and whether it says so where the passages do not hold the answer.

Passages are retrieved from the sample life and from `xquad`, `nq_passages`, `lihuaworld` and `qmsum` under --data;
asked are those that no training has seen. `contains`: the reference stands in the answer; `f1`: overlap of words
(SQuAD's); `rouge_l` is for long references. The catalog's `passages` and `arrangement` follow these figures.
"""

import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from device_app.knowledge.ingest import Ingestion
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
from scripts.answerer import reading
from scripts.answerer.folders import Asked, Folder, read
from scripts.benchmarks.percache_users import f1, rouge_l
from scripts.benchmarks.places import CannotRun, step, weights
from scripts.benchmarks.retrieval_data import lines
from shared.ending import ended
from shared.prompt import build, is_not_found
from shared.types import Hit, StoredPassage
from storage.database import Database
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore
from storage.vectors import VectorIndex

MODEL = "smollm2-135m"
MODES = {"best": (1, False), "prompt3": (3, False), "rows3": (3, True)}
MOST_TOKENS = 48
MOST_QUESTIONS, QUICK_QUESTIONS = 60, 10

Tells = Callable[[StoredPassage], bool]


@dataclass(frozen=True, slots=True)
class Case:
    """A question, any of whose answers is right; what was found for it; and which passages hold the answer."""

    question: str
    answers: Sequence[str]
    hits: Sequence[Hit]
    tells: Tells


@dataclass(frozen=True, slots=True)
class Said:
    """An answer: what it is worth, its tokens, its milliseconds, and whether it is that the passages do not tell."""

    f1: float
    contains: float
    rouge_l: float
    tokens: int
    ms: float
    abstained: bool


def run(arguments: Namespace) -> dict[str, Any]:
    """SET.MODEL.MODE.{f1,contains,rouge_l,tokens,ms}; SET.MODEL.MODE.abstain.{right,false}; abstain.{right,false}.

    abstain.right is the share of questions, whose passages were taken away, that are not answered, and abstain.false
    that of those whose passages are there; at the top both are of the model as it is shipped, over all short answers.
    """
    folder = weights(MODEL, "all-minilm-l6-v2")
    entry = find(MODEL)
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    adapter = arguments.adapter or entry.adapter_file("auto")
    sources = {"base": _source(folder.path(entry), None, arguments.threads)}
    if adapter:
        sources["adapter"] = _source(folder.path(entry), adapter, arguments.threads)
    default = "best" if entry.passages == 1 else "rows3" if entry.arrangement == "rows" else "prompt3"
    most = QUICK_QUESTIONS if arguments.quick else MOST_QUESTIONS
    figures: dict[str, Any] = {}
    abstained: dict[str, list[float]] = {"right": [], "false": []}
    with tempfile.TemporaryDirectory() as room:
        for name, cases in _sets(Path(room), arguments.data, embedder, most):
            figures[name] = _measured(name, cases, sources)
            shipped = figures[name][list(sources)[-1]][default].get("abstain", {})
            for kind, share in shipped.items():
                abstained[kind].append(share)
    return figures | {"abstain": {kind: round(statistics.mean(shares), 4) for kind, shares in abstained.items()}}


def _source(path: Path, adapter: Path | None, threads: int) -> LocalSource:
    engine = LlamaCppEngine(LlamaModel(path), threads=threads, adapter=adapter)
    if engine.info.refused:
        raise CannotRun(engine.info.refused)
    return LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))


def _sets(room: Path, data: Path | None, embedder: Embedder, most: int) -> Iterator[tuple[str, list[Case]]]:
    yield "sample_life", _sample_life(room, embedder, most)
    for name, folder in (read(data) if data else {}).items():
        step(f"reading {name}")
        yield name, _cases(folder, reading.store(room / f"{name}.db", folder, embedder), most)


def _sample_life(room: Path, embedder: Embedder, most: int) -> list[Case]:
    scripts = Path(__file__).parent.parent
    store = KnowledgeStore(Database(room / "life.db"))
    Ingestion(store, embedder).run([scripts / "sample_life"])
    retriever = Retriever(store, KeywordIndex(store.database), VectorIndex(store.database), embedder)
    asked = [
        Asked(one["question"], tuple(one["accept"]), frozenset(), one["question"])
        for one in lines(scripts.parent / "tests" / "end_to_end" / "sample_questions.jsonl")
    ]
    return [_case(retriever, one, lambda _: True) for one in _spread(asked, most)]


def _cases(folder: Folder, retriever: Retriever, most: int) -> list[Case]:
    keys = [document.key for documents in folder.files.values() for document in documents]
    asked = [one for one in folder.asked if one.held_out]
    return [
        _case(retriever, one, lambda passage, one=one: keys[passage.document_id - 1] in one.keys)
        for one in _spread(asked, most)
    ]


def _case(retriever: Retriever, one: Asked, relevant: Tells) -> Case:
    hits = reading.among(retriever, one, reading.FOUND)
    return Case(one.question, one.answers, hits, lambda passage: relevant(passage) and reading.tells(passage, one))


def _spread(asked: Sequence[Asked], most: int) -> Sequence[Asked]:
    return asked[:: max(1, len(asked) // most)][:most]


def _measured(name: str, cases: Sequence[Case], sources: dict[str, LocalSource]) -> dict[str, Any]:
    """By model and mode, the arms taking turns at each question."""
    found: dict[tuple[str, str], list[Said]] = {}
    right: dict[tuple[str, str], list[bool]] = {}
    false: dict[tuple[str, str], list[bool]] = {}
    for number, case in enumerate(cases):
        if number % 10 == 0:
            step(f"{name}: question {number} of {len(cases)}")
        away = [hit for hit in case.hits if not case.tells(hit.passage)]
        for mode, (count, rows) in MODES.items():
            for model, source in sources.items():
                arm = model, mode
                if case.answers:
                    said = _said(source, case, case.hits[:count], rows)
                    found.setdefault(arm, []).append(said)
                    if any(case.tells(hit.passage) for hit in case.hits[:count]):
                        false.setdefault(arm, []).append(said.abstained)
                if away and name != "qmsum":
                    right.setdefault(arm, []).append(_said(source, case, away[:count], rows).abstained)
    figures: dict[str, Any] = {}
    for (model, mode), answers in found.items():
        shares = {"right": right.get((model, mode)), "false": false.get((model, mode))}
        figures.setdefault(model, {})[mode] = {
            "f1": _mean(one.f1 for one in answers),
            "contains": _mean(one.contains for one in answers),
            "rouge_l": _mean(one.rouge_l for one in answers),
            "tokens": _mean(one.tokens for one in answers),
            "ms": round(statistics.median(one.ms for one in answers), 1),
            "abstain": {kind: _mean(share) for kind, share in shares.items() if share and name != "qmsum"},
        }
    return figures


def _said(source: LocalSource, case: Case, hits: Sequence[Hit], rows: bool) -> Said:
    """What Jackdaw would say: nothing of its own where no passage is relevant enough."""
    relevant = [hit for hit in hits if hit.score >= Answer().relevance]
    if not relevant:
        return Said(0.0, 0.0, 0.0, 0, 0.0, True)
    prompt = build(case.question, [hit.passage for hit in relevant], source.template)
    begun = time.perf_counter()
    stream = source.stream(
        prompt if rows else prompt.joined(),
        SamplingSettings(),
        max_tokens=MOST_TOKENS,
        similarities=[hit.similarity for hit in relevant] if rows else [1.0],
    )
    pieces = list(ended(stream))
    elapsed = (time.perf_counter() - begun) * 1000
    text = "".join(piece.text for piece in pieces)
    said, right = reading.words(text), [reading.words(one) for one in case.answers]
    return Said(
        max((f1(text, one) for one in case.answers), default=0.0),
        float(any(f" {' '.join(one)} " in f" {' '.join(said)} " for one in right)),
        max((rouge_l(text, one) for one in case.answers), default=0.0),
        len(pieces),
        elapsed,
        is_not_found(text),
    )


def _mean(values: Iterator[float] | Sequence[float]) -> float:
    return round(statistics.mean(map(float, values)), 4)
