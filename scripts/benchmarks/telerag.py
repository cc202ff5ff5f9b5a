"""Search in an index larger than memory: clusters read on demand, against FAISS with the list file mapped.

Vectors are made (`index.Made`), so that any size can be had; questions are drawn likewise. Before each cold search the
kernel's page cache of the file is dropped, and what was read then is counted by the kernel: a search that read less
than the clusters it needed is no cold one, and is said. Arms take turns, question by question.
"""

import os
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scripts.benchmarks.index import Made
from scripts.places import step
from storage.ivf import Ivf, clusters_for, train
from storage.ivf_files import Layout, Numbers, Vectors, faiss_with, inverted, read_clusters, write

PASSAGES, QUICK_PASSAGES = 800_000, 80_000
PROBES = (64, 128, 256, 512)
QUESTIONS = 24
FOUND = 10
SAMPLE_PER_CLUSTER = 64
BLOCK = 50_000
PREFETCH_THREADS = 32
WARM_MEMORY = 8_000_000_000

Search = Callable[[Numbers, Vectors], tuple[Numbers, Vectors]]


def run(arguments: Namespace) -> dict[str, Any]:
    """`telerag.native.f32.plain.ARM.NPROBE`: median milliseconds, bytes needed, whether ids are FAISS's; `ratio`s."""
    passages = QUICK_PASSAGES if arguments.quick else PASSAGES
    step(f"an index of {passages:,} passages")
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        _make(folder, passages, arguments.threads)
        measured = Arms(folder).measured()
    ratios = {
        f"on_demand_to_{rival}": {
            nprobe: round(own["retrieval_ms"] / measured[rival][nprobe]["retrieval_ms"], 3)
            for nprobe, own in measured["on_demand"].items()
        }
        for rival in ("mapped", "faiss_prefetch")
    }
    return {"telerag": {"native": {"f32": {"plain": measured}}}, "ratio": ratios, "passages": passages}


class Arms:
    """The index in a folder, searched in each way."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._resident = Ivf(folder, WARM_MEMORY)
        self._layout = read_clusters(folder).layout
        self._lists = read_clusters(folder).lists
        self._cold: dict[str, Callable[[], Search]] = {
            "on_demand": lambda: partial(Ivf(folder).scan, k=FOUND),
            "mapped": lambda: mapped(folder, 0),
            "faiss_prefetch": lambda: mapped(folder, PREFETCH_THREADS),
        }

    def measured(self) -> dict[str, Any]:
        """By arm and number of probes."""
        questions = Made().of(QUESTIONS, np.random.default_rng(3))
        figures: dict[str, Any] = {arm: {} for arm in (*self._cold, "resident")}
        for nprobe in PROBES:
            step(f"{nprobe} probes")
            rows: dict[str, list[tuple[float, int, bool, bool]]] = {arm: [] for arm in figures}
            for number, question in enumerate(questions):
                clusters = self._resident.probe(question, nprobe)
                needed = int(self._layout.sizes[clusters].sum()) * (self._layout.vector_bytes + 8)
                expected = mapped(self._folder, 0)(clusters, question)
                self._resident.scan(clusters, question, FOUND)
                arms = list(self._cold)
                for arm in arms[number % len(arms) :] + arms[: number % len(arms)]:
                    search = self._cold[arm]()
                    self._drop()
                    rows[arm].append(_timed(search, clusters, question, expected, needed))
                search = partial(self._resident.scan, k=FOUND)
                rows["resident"].append(_timed(search, clusters, question, expected, 0))
            for arm, taken in rows.items():
                figures[arm][str(nprobe)] = {
                    "retrieval_ms": round(float(np.median([ms for ms, *_ in taken])), 2),
                    "bytes_needed": round(float(np.mean([needed for _, needed, _, _ in taken]))),
                    "ids_same": round(sum(same for *_, same, _ in taken) / len(taken), 4),
                    "reads_proven": round(sum(proven for *_, proven in taken) / len(taken), 4),
                }
        return figures

    def _drop(self) -> None:
        descriptor = os.open(self._lists, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def mapped(folder: Path, threads: int) -> Search:
    """FAISS's own search on its mapped lists, which it reads ahead with so many threads."""
    faiss = faiss_with(1)
    held = read_clusters(folder)
    layout: Layout = held.layout
    clusters = len(held.centroids)
    lists = faiss.OnDiskInvertedLists(clusters, layout.vector_bytes, str(held.lists))
    lists.lists.clear()
    entry = faiss.OnDiskOneList()
    for entry.size, entry.offset in zip(held.sizes.tolist(), layout.starts.tolist(), strict=True):
        entry.capacity = entry.size
        lists.lists.push_back(entry)
    lists.totsize, lists.read_only = layout.bytes, True
    lists.do_mmap()
    lists.prefetch_nthread = threads
    index = inverted(held)
    index.replace_invlists(lists, False)
    index.ntotal = len(held)

    def search(probed: Numbers, vector: Vectors) -> tuple[Numbers, Vectors]:
        faiss.omp_set_num_threads(1)
        index.nprobe = len(probed)
        distances = np.zeros((1, len(probed)), np.float32)
        products, numbers = index.search_preassigned(vector[None], FOUND, probed[None], distances)
        return numbers[0], products[0]

    search.keeps = lists  # type: ignore[attr-defined]  # FAISS does not
    return search


def _timed(
    search: Search, clusters: Numbers, vector: Vectors, nearest: tuple[Numbers, Vectors], needed: int
) -> tuple[float, int, bool, bool]:
    read, start = _bytes_read(), time.perf_counter()
    numbers, products = search(clusters, vector)
    ms = (time.perf_counter() - start) * 1000
    same = numbers.tolist() == nearest[0].tolist() and products.tobytes() == nearest[1].tobytes()
    return ms, needed, same, _bytes_read() - read >= needed


def _bytes_read() -> int:
    """What the disk gave this process so far, by the kernel's count."""
    for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(": ")
        if name == "read_bytes":
            return int(value)
    return 0


def _make(folder: Path, passages: int, threads: int) -> None:
    made = Made()
    clusters = clusters_for(passages)
    centroids = train(made.of(SAMPLE_PER_CLUSTER * clusters, np.random.default_rng(1)), clusters, threads=threads)
    blocks = [partial(_block, number, min(BLOCK, passages - number * BLOCK)) for number in range(-(-passages // BLOCK))]
    write(folder, centroids, blocks, codec="f32", threads=threads)


def _block(number: int, count: int) -> Vectors:
    return Made().of(count, np.random.default_rng(1000 + number))
