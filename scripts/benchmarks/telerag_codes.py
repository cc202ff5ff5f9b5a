"""Compares the search by RaBitQ codes in memory with an exact search of the same clusters, read on demand; and the
nearest vectors as halves with those in float32.

Of the codes, measures recall, the bytes read from disk by the kernel's count, and the time with none of the lists in
memory. Both searches answer each question, and take turns in going first.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from scripts.benchmarks.telerag_cold import FOUND, bytes_read, drop_page_cache
from storage.ivf import MEMORY, Ivf, probes_for
from storage.ivf_files import Numbers, Vectors, encoded, read_clusters
from storage.ivf_writing import write
from storage.rabitq import RERANKED, RabitqSearch

LEAST_RECALL: Final = 0.98
"""The recall of the ten nearest below which the benchmark fails."""


def extended(folder: Path, base: Path, blocks: Sequence[Callable[[], Vectors]], threads: int) -> None:
    """Write an index of the vectors of `base` and of the blocks, with the clusters and the codec of `base`."""
    folder.mkdir()
    held = read_clusters(base)
    write(folder, held.centroids, blocks, base=held, threads=threads)


def searched(folder: Path, asked: Vectors) -> dict[str, Any]:
    """Return the figures of the search by RaBitQ codes and of the exact search, for the question vectors `asked`, with
    the default number of probed clusters.
    """
    vectors = Ivf(folder)
    search = RabitqSearch(vectors, MEMORY)
    nprobe = probes_for(vectors.clusters, len(vectors))
    rows: dict[str, list[tuple[float, int]]] = {"codes": [], "exact": []}
    common, common_3 = 0, 0
    for number, question in enumerate(asked):
        clusters = vectors.probe(question, nprobe)
        arms = {"codes": search.scan, "exact": Ivf(folder).scan}
        hits: dict[str, Numbers] = {}
        for arm in list(arms) if number % 2 else list(arms)[::-1]:
            drop_page_cache(vectors.files.lists)
            before, start = bytes_read(), time.perf_counter()
            hits[arm] = arms[arm](clusters, question, FOUND)[0]
            rows[arm].append(((time.perf_counter() - start) * 1000, bytes_read() - before))
        common += len({*hits["codes"].tolist()} & {*hits["exact"].tolist()})
        common_3 += len({*hits["codes"][:3].tolist()} & {*hits["exact"][:3].tolist()})
    figures = {
        arm: {
            "retrieval_ms": round(float(np.median([ms for ms, _ in taken])), 2),
            "bytes_read": round(float(np.mean([read for _, read in taken]))),
        }
        for arm, taken in rows.items()
    }
    return {
        "recall10": round(common / (FOUND * len(asked)), 4),
        "recall3": round(common_3 / (3 * len(asked)), 4),
        "reranked": RERANKED,
        "vectors": len(vectors),
        "nprobe": nprobe,
        "questions": len(asked),
        "memory_bytes": search.memory,
    } | figures


def halves(blocks: Sequence[Callable[[], Vectors]], asked: Vectors) -> dict[str, float]:
    """Return the share of the ten (`top10`) and of the three nearest among all vectors of the blocks, compared in
    float32, that are also the nearest as halves.
    """
    exact, rounded = (_Best(len(asked)) for _ in range(2))
    count = 0
    for block in blocks:
        vectors = block()
        exact.add(asked @ vectors.T, count)
        rounded.add(asked @ encoded(vectors, "f16").view("<f2").astype(np.float32).reshape(vectors.shape).T, count)
        count += len(vectors)
    pairs = list(zip(exact.numbers.tolist(), rounded.numbers.tolist(), strict=True))
    return {
        f"top{most}": round(sum(len({*own[:most]} & {*others[:most]}) for own, others in pairs) / most / len(pairs), 5)
        for most in (FOUND, 3)
    } | {"vectors": count, "questions": len(asked)}


class _Best:
    """The FOUND nearest vectors of each question so far: their `numbers`, shape (questions, FOUND), best first."""

    def __init__(self, questions: int) -> None:
        self.numbers = np.full((questions, FOUND), -1)
        self._products = np.full((questions, FOUND), -np.inf, np.float32)

    def add(self, products: Vectors, first: int) -> None:
        """Add the products of further vectors, shape (questions, vectors), whose numbers begin at `first`."""
        places = np.argpartition(-products, min(FOUND, products.shape[1]) - 1, axis=1)[:, :FOUND]
        numbers = np.concatenate([self.numbers, places + first], axis=1)
        every = np.concatenate([self._products, np.take_along_axis(products, places, 1)], axis=1)
        best = np.argsort(-every, axis=1, kind="stable")[:, :FOUND]
        self.numbers, self._products = np.take_along_axis(numbers, best, 1), np.take_along_axis(every, best, 1)
