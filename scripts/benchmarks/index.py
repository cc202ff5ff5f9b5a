"""The server's index of public passages: building and searching it at three orders of magnitude, and retrieval quality.

The vectors are generated; everything else is as in `jackdaw-server index build`, each size in a process of its own, to
measure its memory. Recall@10 is against a search of all clusters, which is exact. The real passages are embedded by the
real model.
"""

import math
import multiprocessing
import resource
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.index import Progress
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.versions import Versions
from models.catalog import find
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from scripts.datasets.retrieval_sets import lines
from scripts.places import CannotRun, step, weights
from storage.ivf_files import Vectors

SIZES = (10_000, 100_000, 1_000_000)
SEARCHES = 300
EXACT_SEARCHES = 100
FOUND = 10
_TOPICS, _INTRINSIC = 1000, 32
_EVERY = 1 << 30


def run(arguments: Namespace) -> dict[str, Any]:
    """Return `index.N`: time, recall and memory; `slope`: the slope of the median search time by size, on log scales;
    `found`: recall of real passages.
    """
    figures: dict[str, Any] = {}
    for size in SIZES[: 2 if arguments.quick else 3]:
        step(f"an index of {size:,} passages")
        figures[str(size)] = by_size(size, arguments.threads)
    ends = [int(size) for size in (min(figures, key=int), max(figures, key=int))]
    medians = [figures[str(size)]["p50_ms"] for size in ends]
    figures["slope"] = round(math.log(medians[1] / medians[0]) / math.log(ends[1] / ends[0]), 3)
    if arguments.data:
        step("real passages")
        figures["found"] = quality(arguments.data, arguments.threads)
    return {"index": figures}


def by_size(passages: int, threads: int) -> dict[str, float]:
    """Build and search an index of generated passages, each in a new process."""
    fresh = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as room:
        with fresh.Pool(1) as pool:
            built: dict[str, float] = pool.apply(_build, (Path(room), passages, threads))
        with fresh.Pool(1) as pool:
            searched: dict[str, float] = pool.apply(_search, (Path(room),))
    own = {"build_rss_mb": built.pop("rss_mb"), "search_rss_mb": searched.pop("rss_mb")}
    return built | searched | own | {"rss_mb": max(own.values())}


class Made:
    """Generated vectors of 1,000 overlapping topics: Gaussians in 32 dimensions, mapped to 384 with a little noise.

    Real vectors are more clustered, so that the same number of probed clusters finds more of them.
    """

    fingerprint = "made"
    dimensions = 384

    def __init__(self) -> None:
        chance = np.random.default_rng(7)
        self._topics = chance.standard_normal((_TOPICS, _INTRINSIC), np.float32)
        self._turned = chance.standard_normal((_INTRINSIC, self.dimensions), np.float32) / math.sqrt(self.dimensions)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one generated vector per text; the random seed is the number at the end of the first text."""
        return self.of(len(texts), np.random.default_rng(int(texts[0].split()[-1])))

    def of(self, count: int, chance: np.random.Generator) -> Vectors:
        """Return `count` vectors, each of a random topic."""
        near = self._topics[chance.integers(_TOPICS, size=count)] + chance.standard_normal((count, _INTRINSIC))
        drawn = near.astype(np.float32) @ self._turned
        drawn += 0.1 * chance.standard_normal(drawn.shape, np.float32)
        scaled: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return scaled


def _build(room: Path, passages: int, threads: int) -> dict[str, float]:
    source = room / "made.jsonl"
    filler = " ".join(["word" * 10] * 14)  # as long as a passage, and quickly split
    with source.open("w", encoding="utf-8") as stream:
        stream.writelines(f'{{"text": "{filler} {number}"}}\n' for number in range(passages))
    starts = {"embedding": time.perf_counter()}
    builder = Builder(FolderIndex(Versions(room / "index"), threads), Made(), lambda so_far: _note(starts, so_far))
    report = builder.build([source])
    ended = time.perf_counter()
    return {
        "build_s": round(ended - starts["embedding"], 1),
        "train_s": round(starts["writing"] - starts["clustering"], 1),
        "write_s": round(ended - starts["writing"], 1),
        "clusters": report.clusters,
        "rss_mb": _peak(),
        "disk_mb": round(sum(file.stat().st_size for file in (room / "index").rglob("*") if file.is_file()) / 1e6, 1),
    }


def _note(starts: dict[str, float], so_far: Progress) -> None:
    starts.setdefault(so_far.stage, time.perf_counter())
    if so_far.stage == "embedding" and so_far.done == so_far.total:
        starts.setdefault("clustering", time.perf_counter())


def _search(room: Path) -> dict[str, float]:
    """Measure whole searches, texts included, in one thread, with every cluster in memory.

    `cpu_ms` is CPU time, which is independent of other work on the machine.
    """
    questions = Made().of(SEARCHES, np.random.default_rng(3))
    exact = IndexCorpus(room / "index", Made.fingerprint, probes=_EVERY)
    nearest = [{passage.id for passage in exact.search(question, FOUND)} for question in questions[:EXACT_SEARCHES]]
    rss = psutil.Process().memory_info().rss
    del exact
    start = time.perf_counter()
    corpus = IndexCorpus(room / "index", Made.fingerprint)
    corpus.refresh()
    opened = time.perf_counter() - start
    right = 0
    for question, expected in zip(questions[:EXACT_SEARCHES], nearest, strict=True):
        right += len(expected & {passage.id for passage in corpus.search(question, FOUND)})
    times, used = [], []
    for question in questions:
        start, spent = time.perf_counter(), time.thread_time()
        corpus.search(question, FOUND)
        times.append((time.perf_counter() - start) * 1000)
        used.append((time.thread_time() - spent) * 1000)
    return {
        "open_ms": round(opened * 1000, 1),
        "p50_ms": round(float(np.median(times)), 2),
        "p99_ms": round(float(np.quantile(times, 0.99)), 2),
        "cpu_ms": round(float(np.median(used)), 2),
        "recall10": round(right / (FOUND * EXACT_SEARCHES), 4),
        "rss_mb": round(rss / 1e6, 1),
    }


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, 1)


def quality(data: Path, threads: int) -> dict[str, Any]:
    """Return how often the passage that answers a question is first, or among the first five: if only the nearest
    clusters are searched, and if all are.
    """
    sources = [(name, data / name / "passages.jsonl") for name in ("nq_passages", "wiki_corpus")]
    if not all(path.is_file() for _, path in sources):
        raise CannotRun(f"{data} has no nq_passages and wiki_corpus.")
    embedder: Embedder = OnnxEmbedder(weights("all-minilm-l6-v2").path(find("all-minilm-l6-v2")), threads)
    with tempfile.TemporaryDirectory() as room:
        for name, path in sources:
            (Path(room) / f"{name}.jsonl").symlink_to(path.absolute())
        start = time.perf_counter()
        named = [Path(room) / f"{name}.jsonl" for name, _ in sources]
        report = Builder(FolderIndex(Versions(Path(room) / "index"), threads), embedder).build(named)
        seconds = time.perf_counter() - start
        asked = list(lines(data / "nq_passages" / "questions.jsonl"))
        vectors = embedder.embed([question["question"] for question in asked])
        figures: dict[str, Any] = {}
        ids: dict[str, list[set[int]]] = {}
        for arm, probes in (("ivf", 0), ("exact", _EVERY)):
            corpus = IndexCorpus(Path(room) / "index", embedder.fingerprint, probes)
            hits = [corpus.search(vector, FOUND) for vector in vectors]
            ids[arm] = [{passage.id for passage in passages} for passages in hits]
            first = five = 0
            for question, passages in zip(asked, hits, strict=True):
                paths = list(dict.fromkeys(passage.path for passage in passages))
                gold = f"nq_passages.jsonl#{question['gold_pid']}"
                first += gold in paths[:1]
                five += gold in paths[:5]
            figures[arm] = {"r1": round(first / len(asked), 4), "r5": round(five / len(asked), 4)}
        same = [len(near & exact) for near, exact in zip(ids["ivf"], ids["exact"], strict=True)]
        figures["recall10"] = round(sum(same) / (FOUND * len(same)), 4)
    return figures | {
        "questions": len(asked),
        "passages": report.total,
        "clusters": report.clusters,
        "passages_per_min": round(report.total / seconds * 60),
    }
