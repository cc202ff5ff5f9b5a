"""Times searches with nothing in memory: clusters read on demand, against FAISS with the list file memory-mapped.

Before each cold search, the kernel's page cache of the file is dropped, and the kernel counts the bytes that are read:
a search that read less than the clusters it needed was not cold, which `reads_proven` shows. For each question the arms
run in turn.
"""

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scripts.benchmarks.index import Made
from scripts.places import step
from storage.ivf import Ivf, clusters_for, train
from storage.ivf_files import Codec, Layout, Numbers, Vectors, faiss_with, inverted, read_clusters
from storage.ivf_writing import write

FOUND = 10
SAMPLE_PER_CLUSTER = 64
BLOCK = 50_000
PREFETCH_THREADS = 32
WARM_MEMORY = 8_000_000_000

Search = Callable[[Numbers, Vectors], tuple[Numbers, Vectors]]


class Arms:
    """An index in a folder, and the compared ways to search it."""

    def __init__(self, folder: Path, asked: Vectors) -> None:
        self._folder, self._asked = folder, asked
        self._resident = Ivf(folder, WARM_MEMORY)
        self._layout = read_clusters(folder).layout
        self._lists = read_clusters(folder).lists
        self._cold: dict[str, Callable[[], Search]] = {
            "on_demand": lambda: partial(Ivf(folder).scan, k=FOUND),
            "mapped": lambda: mapped(folder, 0),
            "faiss_prefetch": lambda: mapped(folder, PREFETCH_THREADS),
        }

    def measured(self, probes: Sequence[int]) -> dict[str, Any]:
        """Return the figures by arm and number of probes."""
        figures: dict[str, Any] = {arm: {} for arm in (*self._cold, "resident")}
        for nprobe in probes:
            step(f"{nprobe} probes")
            rows: dict[str, list[tuple[float, int, bool, bool]]] = {arm: [] for arm in figures}
            for number, question in enumerate(self._asked):
                clusters = self._resident.probe(question, nprobe)
                needed = int(self._layout.sizes[clusters].sum()) * (self._layout.vector_bytes + 8)
                expected = mapped(self._folder, 0)(clusters, question)
                self._resident.scan(clusters, question, FOUND)
                arms = list(self._cold)
                for arm in arms[number % len(arms) :] + arms[: number % len(arms)]:
                    search = self._cold[arm]()
                    drop_page_cache(self._lists)
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


def drop_page_cache(file: Path) -> None:
    """Drop the file from the kernel's page cache."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def mapped(folder: Path, threads: int) -> Search:
    """Return FAISS's own search on memory-mapped lists, which it reads ahead with the given number of threads."""
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
    read, start = bytes_read(), time.perf_counter()
    numbers, products = search(clusters, vector)
    ms = (time.perf_counter() - start) * 1000
    same = numbers.tolist() == nearest[0].tolist() and products.tobytes() == nearest[1].tobytes()
    return ms, needed, same, bytes_read() - read >= needed


def bytes_read() -> int:
    """Return the number of bytes that this process has read from the disk, by the kernel's count."""
    for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(": ")
        if name == "read_bytes":
            return int(value)
    return 0


def questions(count: int) -> Vectors:
    """Return generated questions, shape (count, dimensions)."""
    return Made().of(count, np.random.default_rng(3))


def made_index(folder: Path, passages: int, codec: Codec, threads: int) -> None:
    """Create the folder with an index of generated vectors (`index.Made`)."""
    folder.mkdir()
    made = Made()
    clusters = clusters_for(passages)
    centroids = train(made.of(SAMPLE_PER_CLUSTER * clusters, np.random.default_rng(1)), clusters, threads=threads)
    write(folder, centroids, made_blocks(0, passages), codec=codec, threads=threads)


def made_blocks(first: int, stop: int) -> list[Callable[[], Vectors]]:
    """Return functions that generate the vectors with the numbers from `first` to `stop` - 1, in blocks. All generated
    vectors differ.
    """
    return [partial(_block, -(-start // BLOCK), min(BLOCK, stop - start)) for start in range(first, stop, BLOCK)]


def _block(number: int, count: int) -> Vectors:
    return Made().of(count, np.random.default_rng(1000 + number))
