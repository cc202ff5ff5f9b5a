"""Compares searches by processor and GPU together with searches by the processor alone, with all lists in memory. Needs
CUDA.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cloud_server.retrieval.gpu import GpuTier, torch_on
from scripts.benchmarks.telerag_cold import FOUND, WARM_MEMORY
from shared.errors import UsageError
from storage.ivf import Ivf
from storage.ivf_files import Numbers, Vectors

BATCHES = (1, 2, 4, 8)
COVERED = 0.8
"""The share of each question's clusters, the nearest ones, that is copied to the GPU before the search; the processor
scans the rest.
"""

_COPIED_S = 0.05
"""Seconds to wait until copies to the GPU have ended."""


def cooperative(folder: Path, asked: Vectors, probes: Sequence[int], device: str = "cuda") -> dict[str, Any]:
    """Return the medians as `NPROBE.BATCH.{cpu_ms,cooperative_ms,ratio,ids_same}`, by number of probed clusters and
    size of a batch; without a GPU, the reason why they are left out.
    """
    try:
        torch_on(device)
    except UsageError:
        return {"left_out": "needs a GPU"}
    held = Ivf(folder, WARM_MEMORY)
    _batches(held, asked[:1], probes[0], 1, device)  # warms torch up
    return {
        str(nprobe): {str(batch): _batches(held, asked, nprobe, batch, device) for batch in BATCHES}
        for nprobe in probes
    }


def _batches(held: Ivf, asked: Vectors, nprobe: int, batch: int, device: str) -> dict[str, Any]:
    rows: list[tuple[float, float, bool]] = []
    for start in range(0, len(asked) - batch + 1, batch):
        questions = asked[start : start + batch]
        probed = [held.probe(question, nprobe) for question in questions]
        tier = GpuTier(held, held.files.layout.bytes, device)
        for clusters in probed:
            for _ in held.cache.read(held.present(clusters)):
                pass
            tier.hold(tier, held.present(clusters[: round(COVERED * nprobe)]))
        while not tier.is_idle:
            time.sleep(_COPIED_S)
        time.sleep(_COPIED_S)
        rows.append(_timed(held, tier, probed, questions))
    cpu, together, same = zip(*rows, strict=True)
    cpu_ms, together_ms = (float(np.median(taken)) * 1000 for taken in (cpu, together))
    return {
        "cpu_ms": round(cpu_ms, 2),
        "cooperative_ms": round(together_ms, 2),
        "ratio": round(cpu_ms / together_ms, 2),
        "ids_same": round(sum(same) / len(same), 4),
    }


def _timed(held: Ivf, tier: GpuTier, probed: Sequence[Numbers], questions: Vectors) -> tuple[float, float, bool]:
    times = [time.perf_counter()]
    alone = held.scan_many(probed, questions, FOUND)
    times.append(time.perf_counter())
    together = held.scan_many(probed, questions, FOUND, tier)
    times.append(time.perf_counter())
    same = all(
        ours[0].tolist() == theirs[0].tolist() and ours[1].tobytes() == theirs[1].tobytes()
        for ours, theirs in zip(together, alone, strict=True)
    )
    return times[1] - times[0], times[2] - times[1], same
