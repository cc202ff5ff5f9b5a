"""Compares the search by RaBitQ codes in memory with an exact search of the same clusters, read on demand.

Measures recall, the bytes read from disk by the kernel's count, and the time with none of the lists in memory. Both
searches answer each question, and take turns in going first.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from scripts.benchmarks.telerag_cold import FOUND, bytes_read, drop_page_cache
from storage.ivf import MEMORY, Ivf, probes_for
from storage.ivf_files import Numbers, Vectors, read_clusters
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
    """Return the figures of both searches for the question vectors `asked`, with the default number of probed
    clusters.
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
