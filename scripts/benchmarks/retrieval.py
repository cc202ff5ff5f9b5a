"""How well and how fast passages are found: BM25, embeddings and the app's fusion on the same store.

Document recall@k: any relevant document among the first k. Latency over three decades of passages; ingestion of the
real mails through the app's own road, or of the sample life where there is no data.
"""

import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from device_app.knowledge import fusion
from device_app.knowledge.ingest import Ingestion, embedded_text
from device_app.knowledge.query import Query
from device_app.knowledge.retriever import CANDIDATES, Retriever
from models.catalog import find
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from scripts.benchmarks.places import weights
from scripts.benchmarks.retrieval_data import RetrievalSet, lines, load
from shared.text import passages
from shared.types import Block, Document, Passage
from storage.database import Database
from storage.keywords import KeywordIndex
from storage.knowledge import FileState, Filters, KnowledgeStore, PreparedDocument
from storage.vectors import VectorIndex

SIZES = (1_000, 10_000, 100_000)
QUICK_QUESTIONS = 50


def run(arguments: Namespace) -> dict[str, Any]:
    """Recall by set and arm, latency by size, ingestion per minute, resident memory."""
    embedder = OnnxEmbedder(weights("all-minilm-l6-v2").path(find("all-minilm-l6-v2")), threads=arguments.threads)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as room:
        figures |= _ingestion(Path(room), arguments.data, embedder)
        sets = load(arguments.data) if arguments.data else {}
        figures["recall"] = {}
        for name, data in sets.items():
            store = filled(Path(room) / f"{name}.db", data.documents, embedder)
            questions = data.questions[:QUICK_QUESTIONS] if arguments.quick else data.questions
            figures["recall"][name] = _recall(_retriever(store, embedder), RetrievalSet(data.documents, questions))
        figures["latency_ms"] = {
            str(size): _latency(Path(room), size, embedder) for size in SIZES[: 2 if arguments.quick else 3]
        }
    return figures


def _ingestion(room: Path, data: Path | None, embedder: Embedder) -> dict[str, Any]:
    """Documents a minute, and the highest resident memory while they are read."""
    folder = Path(__file__).parent.parent / "sample_life"
    if data and (data / "email" / "mail.jsonl").is_file():
        folder = room / "mail"
        folder.mkdir()
        with (folder / "all.mbox").open("w", encoding="utf-8", errors="replace") as stream:
            for mail in lines(data / "email" / "mail.jsonl"):
                body = "\n".join(f">{one}" if one.startswith("From ") else one for one in mail["body"].splitlines())
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
    begun = time.perf_counter()
    report = ingestion.run([folder])
    seconds = time.perf_counter() - begun
    return {
        "ingest_per_min": round(report.documents / seconds * 60, 1),
        "ingest_documents": report.documents,
        "ingest_passages": report.passages,
        "rss_mb": round(highest / 1e6, 1),
    }


def filled(path: Path, documents: Sequence[Document], embedder: Embedder) -> KnowledgeStore:
    """A new store that holds the documents."""
    store = KnowledgeStore(Database(path))
    cut = [passages(document.blocks) or [Passage(document.title, 0)] for document in documents]
    texts = [
        embedded_text(document.title, passage.text)
        for document, own in zip(documents, cut, strict=True)
        for passage in own
    ]
    vectors = iter(embedder.embed(texts))
    state = FileState(b"/set", 0, 0, "", "")
    with store.database.transaction():
        file_id = store.open_file(state)
        for document, own in zip(documents, cut, strict=True):
            store.put(file_id, PreparedDocument(document, "", own, np.stack([next(vectors) for _ in own])))
        store.close_file(file_id, state, {document.key for document in documents})
    return store


def _retriever(store: KnowledgeStore, embedder: Embedder) -> Retriever:
    return Retriever(store, KeywordIndex(store.database), VectorIndex(store.database, embedder.dimensions), embedder)


def _recall(retriever: Retriever, data: RetrievalSet) -> dict[str, Any]:
    keys = dict(retriever.store.database.execute("SELECT id, key FROM documents"))
    document_of = dict(retriever.store.database.execute("SELECT id, document_id FROM passages"))

    def keywords(question: str) -> list[int]:
        return [document_of[one] for one in retriever.keywords.search(fusion.terms(question), CANDIDATES)[0].tolist()]

    def embedding(question: str) -> list[int]:
        (vector,) = retriever.embedder.embed([question])
        return [document_of[one] for one in retriever.vectors.search(vector, CANDIDATES)[0].tolist()]

    def hybrid(question: str) -> list[int]:
        return [hit.passage.document_id for hit in retriever.search(Query(question, Filters()), CANDIDATES)]

    arms: dict[str, Callable[[str], list[int]]] = {"bm25": keywords, "embedding": embedding, "hybrid": hybrid}
    found = {arm: [0, 0] for arm in arms}
    for question in data.questions:
        for arm, search in arms.items():
            ranked = [keys[document] for document in dict.fromkeys(search(question.text))]
            found[arm][0] += bool(question.relevant & set(ranked[:1]))
            found[arm][1] += bool(question.relevant & set(ranked[:5]))
    total = max(len(data.questions), 1)
    return {arm: {"r1": round(one / total, 4), "r5": round(five / total, 4)} for arm, (one, five) in found.items()}


def _latency(room: Path, size: int, embedder: Embedder) -> dict[str, float]:
    """Questions asked of a store of `size` passages: words by Zipf's law, random vectors, which cost the same."""
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
                document = Document(str(start + row), "note", "", (Block(text),))
                store.put(file_id, PreparedDocument(document, "", [Passage(text, 0)], vectors[row : row + 1]))
    retriever = _retriever(store, embedder)
    # Question words: some frequent, most less so, as in real ones after stop words are gone.
    asked = [" ".join(vocabulary[word] for word in chance.integers(20, 2_000, 6)) for _ in range(31)]
    times = []
    for question in asked:
        begun = time.perf_counter()
        retriever.search(Query(question, Filters()), 5)
        times.append((time.perf_counter() - begun) * 1000)
    # The first reads the vectors into memory.
    return {
        "first": round(times[0], 2),
        "p50": round(statistics.median(times[1:]), 2),
        "p99": round(float(np.quantile(times[1:], 0.99)), 2),
    }
