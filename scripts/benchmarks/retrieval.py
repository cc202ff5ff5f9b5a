"""The quality and speed of retrieval: BM25, embeddings and the app's fusion of the two, on the same store.

Document recall@k: whether any relevant document is among the first k. Latency is measured at three orders of magnitude
of passages, also with a filter that half of the store passes, and with questions that name a month; ingestion with the
real mails by the app's own code, or with the project's sample files if there is no data.
"""

import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from device_app.english import dates
from device_app.english.query import Query
from device_app.english.terms import terms
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.retriever import CANDIDATES, Retriever
from models.catalog import find
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from scripts.datasets.retrieval_sets import Question, lines, load
from scripts.datasets.stores import filled, retriever_over
from scripts.places import step, weights
from shared.types import Block, Document, Filters, Passage
from storage.database import Database
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument

SIZES = (1_000, 10_000, 100_000)
QUICK_QUESTIONS = 50


def run(arguments: Namespace) -> dict[str, Any]:
    """Return recall by set and arm, latency by size, ingestion per minute, and resident memory."""
    embedder = OnnxEmbedder(weights("all-minilm-l6-v2").path(find("all-minilm-l6-v2")), threads=arguments.threads)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as room:
        step("ingestion")
        figures |= _ingestion(Path(room), arguments.data, embedder)
        sets = load(arguments.data) if arguments.data else {}
        figures["recall"] = {}
        for name, data in sets.items():
            step(f"recall on {name}")
            retriever = retriever_over(filled(Path(room) / f"{name}.db", data.files, embedder), embedder)
            questions = data.questions[:QUICK_QUESTIONS] if arguments.quick else data.questions
            figures["recall"][name] = _recall(retriever, questions)
            if any(question.file for question in questions):
                anywhere = [replace(question, file=None) for question in questions]
                figures["recall"][f"{name}_all"] = _recall(retriever, anywhere)
        figures["latency_ms"] = {}
        for size in SIZES[: 2 if arguments.quick else 3]:
            step(f"latency with {size:,} passages")
            figures["latency_ms"][str(size)] = _latency(Path(room), size, embedder)
    return figures


def _ingestion(room: Path, data: Path | None, embedder: Embedder) -> dict[str, Any]:
    """Return documents per minute, and the peak resident memory of ingestion."""
    folder = Path(__file__).parent.parent / "sample_life"
    if data and (data / "email" / "mail.jsonl").is_file():
        folder = room / "mail"
        folder.mkdir()
        with (folder / "all.mbox").open("w", encoding="utf-8", errors="replace") as stream:
            for mail in lines(data / "email" / "mail.jsonl"):
                body = "\n".join(f">{line}" if line.startswith("From ") else line for line in mail["body"].splitlines())
                stream.write(
                    f"From someone@example.org Sat Mar 14 09:00:00 2026\n"
                    f"From: {mail['from']}\nTo: {mail['to']}\nSubject: {mail['subject']}\n"
                    f"Date: {mail['date']}\nMessage-ID: {mail['message_id']}\n"
                    f"Content-Type: text/plain; charset=utf-8\n\n{body}\n\n"
                )
    highest = 0

    def watch(_: object) -> None:
        nonlocal highest
        highest = max(highest, psutil.Process().memory_info().rss)

    class Watched:
        fingerprint = embedder.fingerprint
        dimensions = embedder.dimensions

        def embed(self, texts: Sequence[str]) -> Any:
            vectors = embedder.embed(texts)
            watch(None)
            return vectors

    ingestion = Ingestion(KnowledgeStore(Database(room / "ingest.db")), Watched(), on_progress=watch)
    start = time.perf_counter()
    report = ingestion.run([folder])
    seconds = time.perf_counter() - start
    return {
        "ingest_per_min": round(report.documents / seconds * 60, 1),
        "ingest_documents": report.documents,
        "ingest_passages": report.passages,
        "rss_mb": round(highest / 1e6, 1),
    }


def _recall(retriever: Retriever, questions: Sequence[Question]) -> dict[str, Any]:
    store = retriever.store
    keys = dict(store.database.execute("SELECT id, key FROM documents"))
    document_of = dict(store.database.execute("SELECT id, document_id FROM passages"))

    def keywords(asked: Query) -> list[int]:
        among = store.matching(asked.filters)
        ids = retriever.keywords.search(terms(asked.text), CANDIDATES, among=among)
        return [document_of[identity] for identity in ids.tolist()]

    def embedding(asked: Query) -> list[int]:
        (vector,) = retriever.embedder.embed([asked.text])
        ids = retriever.vectors.cosines(vector).best(CANDIDATES, among=store.matching(asked.filters))
        return [document_of[identity] for identity in ids.tolist()]

    def hybrid(asked: Query) -> list[int]:
        # A duplicate is attached to the hit that it repeats.
        hits = retriever.search(asked, CANDIDATES)
        return [passage.document_id for hit in hits for passage in (hit.passage, *hit.copies)]

    arms: dict[str, Callable[[Query], list[int]]] = {"bm25": keywords, "embedding": embedding, "hybrid": hybrid}
    counts = {arm: [0, 0] for arm in arms}
    for question in questions:
        filters = Filters(places=(question.file,) if question.file else ())
        asked = Query(question.text, filters, tuple(dates.named(question.text, date.today())))
        for arm, search in arms.items():
            ranked = [keys[document] for document in dict.fromkeys(search(asked))]
            counts[arm][0] += bool(question.relevant & set(ranked[:1]))
            counts[arm][1] += bool(question.relevant & set(ranked[:5]))
    total = max(len(questions), 1)
    return {arm: {"r1": round(first / total, 4), "r5": round(five / total, 4)} for arm, (first, five) in counts.items()}


def _latency(room: Path, size: int, embedder: Embedder) -> dict[str, float]:
    """Time searches of a store of `size` passages. Their words follow Zipf's law and their vectors are random, which
    takes as long to search as real ones.
    """
    chance = np.random.default_rng(size)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    vocabulary = ["".join(chance.choice(letters, chance.integers(2, 10))) for _ in range(20_000)]
    share = 1 / np.arange(1, len(vocabulary) + 1)
    share /= share.sum()
    store = KnowledgeStore(Database(room / f"size-{size}.db"))
    state = FileState(b"/size", 0, 0, "", "")
    for start in range(0, size, 10_000):
        count = min(10_000, size - start)
        drawn = chance.choice(len(vocabulary), (count, 100), p=share)
        vectors = chance.normal(size=(count, embedder.dimensions)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        with store.database.transaction():
            file_id = store.open_file(state)
            for row in range(count):
                text = " ".join(vocabulary[word] for word in drawn[row])
                kind, day = ("note", "mail")[row % 2], datetime(2026, 1, 1) + timedelta(row % 365)
                document = Document(str(start + row), kind, "", (Block(text),), day)
                store.put(file_id, PreparedDocument(document, "", [Passage(text, 0)], vectors[row : row + 1]))
    retriever = retriever_over(store, embedder)
    # Some words are frequent, most less so, as in real questions without stop words.
    asked = [" ".join(vocabulary[word] for word in chance.integers(20, 2_000, 6)) for _ in range(31)]
    march = (date(2026, 3, 1), date(2026, 3, 31))
    arms = {"plain": Query(""), "filtered": Query("", Filters(kinds=("note",))), "dated": Query("", days=(march,))}
    times: dict[str, list[float]] = {arm: [] for arm in arms}
    for question in asked:
        for arm, query in arms.items():
            since = time.perf_counter()
            retriever.search(replace(query, text=question), 5)
            times[arm].append((time.perf_counter() - since) * 1000)
    plain = times["plain"][1:]  # the first search reads the vectors into memory
    return {
        "first": round(times["plain"][0], 2),
        "p50": round(statistics.median(plain), 2),
        "p99": round(float(np.quantile(plain, 0.99)), 2),
        "p50_filtered": round(statistics.median(times["filtered"]), 2),
        "p50_dated": round(statistics.median(times["dated"]), 2),
    }
