"""Replays questions whose queries are written by a model, at a stated pace, and times the retrieval that remains once
they are written.

`on_demand` reads clusters only when the search begins; `paper` reads the clusters nearest to the question ahead, as
many as the budget of bytes allows; `progressive` leaves half of the budget for the clusters nearest to the half-written
text. Each question begins with nothing in memory. A slower disk is simulated by a limit on the benchmark's own reads;
the vector of the half-written output is computed beforehand, as it takes milliseconds.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Final

import numpy as np

from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.lookahead import GenerationTimes, LookaheadMode
from cloud_server.retrieval.opened import OpenIndex
from cloud_server.retrieval.searcher import Hits
from cloud_server.retrieval.tickets import IndexTicket, SearchIndex
from cloud_server.retrieval.versions import IndexMetadata
from models.engine import Engine
from scripts.benchmarks.telerag_cold import drop_page_cache, mapped
from scripts.benchmarks.telerag_data import TOKENS, Round, written_by
from scripts.places import step
from shared.protocol.messages import PublicPassage
from storage.ivf import Ivf
from storage.ivf_files import Numbers, Vectors
from storage.list_file import ListFile
from storage.public_passages import PassageFiles

HYDE_S: Final = TOKENS * 0.015
"""Seconds that a model writes at a HyDE question: as many per token as the default model takes on two cores with little
other work.
"""

DISKS: Final[Mapping[str, float]] = {"native": 0.0, "500": 500e6, "100": 100e6}
ARMS: Final[Mapping[str, LookaheadMode | None]] = {
    "on_demand": None,
    "paper": "paper",
    "progressive": "progressive",
}
LOOK_S: Final = 0.02
"""Seconds between two checks whether all clusters have been read; one each 2 ms would slow decoding by 6%."""

FOUND: Final = 10
MEMORY: Final = 1_000_000_000
_FACTS = IndexMetadata(0, 0, 0, "", "", 0, 0, (), (), 0)


class Limited(ListFile):
    """A simulated disk that gives `rate` bytes a second to all reads together, one read after the other."""

    def __init__(self, path: Path, size: int, rate: float) -> None:
        super().__init__(path, size)
        self._rate, self._free_at, self._lock = rate, 0.0, Lock()

    def read(self, parts: Sequence[memoryview], first: int, length: int) -> None:
        """Read from the file, delayed to the simulated rate."""
        with self._lock:
            self._free_at = ready_at = max(time.perf_counter(), self._free_at) + length / self._rate
        super().read(parts, first, length)
        time.sleep(max(ready_at - time.perf_counter(), 0.0))


def opened(folder: Path, rate: float, memory: int = MEMORY) -> Ivf:
    """Open the index with nothing in memory, on a simulated disk of `rate` bytes a second; 0 is the machine's own
    disk.
    """
    vectors = Ivf(folder, memory, partial(Limited, rate=rate)) if rate else Ivf(folder, memory)
    drop_page_cache(vectors.files.lists)
    return vectors


@dataclass(slots=True)
class Replay:
    """The measurements of one replayed question, summed over its rounds: times in ms, clusters and bytes."""

    retrieval_ms: float = 0.0
    total_ms: float = 0.0
    clusters: int = 0
    clusters_ready: int = 0
    needed: int = 0
    ready: int = 0
    ahead: int = 0
    wasted: int = 0
    is_same: bool = True


def measured(
    folder: Path, asked: Sequence[Sequence[Round]], disk: str, nprobe: int, seconds: float
) -> dict[str, dict[str, Any]]:
    """Return the figures by arm. Before each round of a question for which clusters may be read ahead, the model writes
    for `seconds`. For each question the arms run in turn, in rotating order.
    """
    rows: dict[str, list[Replay]] = {arm: [] for arm in ARMS}
    search = mapped(folder, 0)
    probe = Ivf(folder, 0).probe
    for number, rounds in enumerate(asked):
        expected = [search(probe(query, nprobe), query) for each in rounds for query in each.queries]
        arms = list(ARMS)
        for arm in arms[number % len(arms) :] + arms[: number % len(arms)]:
            replay, hits = _replay(folder, rounds, DISKS[disk], nprobe, ARMS[arm], seconds)
            replay.is_same = all(
                ours.tobytes() == theirs.tobytes()
                for pair in zip(hits, expected, strict=True)
                for ours, theirs in zip(*pair, strict=True)
            )
            rows[arm].append(replay)
    return {arm: _figures(replays) for arm, replays in rows.items()}


def _replay(
    folder: Path, rounds: Sequence[Round], rate: float, nprobe: int, mode: LookaheadMode | None, seconds: float
) -> tuple[Replay, list[Hits]]:
    """Replay all rounds of a question, the first with nothing in memory. Return its figures but for `is_same`, and the
    hits of its queries.
    """
    index = OpenIndex(_FACTS, opened(folder, rate), PassageFiles([]), nprobe)
    hits: list[Hits] = []

    def search(
        index: OpenIndex, asked: Sequence[Vector], most: int, probed: Sequence[Numbers] | None = None
    ) -> list[list[PublicPassage]]:
        probed = probed or [index.probe(vector) for vector in asked]
        hits.extend(index.vectors.scan_many(probed, np.stack(asked), most))
        return [[] for _ in asked]

    replay = Replay()
    for each in rounds:
        _replay_round(replay, index, each, mode, seconds, search)
    return replay, hits


def _replay_round(
    replay: Replay, index: OpenIndex, asked: Round, mode: LookaheadMode | None, seconds: float, search: SearchIndex
) -> None:
    size_of, is_ready = index.vectors.bytes_of, index.vectors.cache.is_ready
    needed = sorted({cluster for query in asked.queries for cluster in index.needed(index.probe(query))})
    before = set(filter(is_ready, needed))
    first, rest = asked.queries[0], list(asked.queries)
    ticket: IndexTicket | None = None
    started = time.perf_counter()
    if asked.near is not None:
        if mode:
            ticket, rest = _write(index, asked, mode, seconds, search), rest[1:]
        else:
            _until(started + seconds)
    ready = list(filter(is_ready, needed))
    asked_at = time.perf_counter()
    if ticket:
        ticket.search(first, FOUND)
    if rest:
        search(index, rest, FOUND)
    ended = time.perf_counter()
    replay.retrieval_ms += (ended - asked_at) * 1000
    replay.total_ms += (ended - started) * 1000
    replay.clusters += len(needed)
    replay.clusters_ready += len(ready)
    replay.needed += sum(map(size_of, needed))
    replay.ready += sum(map(size_of, ready))
    if ticket:
        ticket.close()
        assert ticket.coverage
        replay.ahead += ticket.coverage.bytes_ahead
        used = sum(size_of(cluster) for cluster in ready if cluster not in before)
        replay.wasted += ticket.coverage.bytes_ahead - used


def _write(index: OpenIndex, asked: Round, mode: LookaheadMode, seconds: float, search: SearchIndex) -> IndexTicket:
    """Wait while the model writes the queries, and read ahead meanwhile, as the server does."""
    assert asked.near is not None
    times = GenerationTimes()
    times.learn("", seconds, is_refined=mode == "progressive" and asked.half is not None)
    ticket = IndexTicket(lambda: index, search, times, "", mode)
    started = time.perf_counter()
    ticket.begin(asked.near)
    _until(started + seconds / 2)
    if asked.half is not None:
        ticket.refine(asked.half)
    _until(started + seconds)
    return ticket


def _until(moment: float) -> None:
    time.sleep(max(moment - time.perf_counter(), 0.0))


def _figures(replays: Sequence[Replay]) -> dict[str, Any]:
    def mean(of: Callable[[Replay], float]) -> float:
        return float(np.mean([of(replay) for replay in replays]))

    return {
        "retrieval_ms": round(float(np.median([replay.retrieval_ms for replay in replays])), 2),
        "total_ms": round(float(np.median([replay.total_ms for replay in replays])), 2),
        "mean_ms": round(mean(lambda replay: replay.retrieval_ms), 2),
        "coverage": round(mean(lambda replay: replay.clusters_ready / replay.clusters), 4),
        "bytes_needed": round(mean(lambda replay: replay.needed)),
        "bytes_ready": round(mean(lambda replay: replay.ready)),
        "bytes_ahead": round(mean(lambda replay: replay.ahead)),
        "bytes_wasted": round(mean(lambda replay: replay.wasted)),
        "ids_same": round(mean(lambda replay: replay.is_same), 4),
    }


def ratios(figures: Mapping[str, Mapping[str, Any]], rate: float) -> dict[str, float]:
    """Return the ratios that are compared with the required limits: each arm's retrieval and total against `on_demand`.

    For a limited disk, also the times relative to the least that its bandwidth allows; not if later rounds of questions
    found clusters in memory, as the time to scan these has nothing to do with the disk.
    """
    base = figures["on_demand"]
    bars = {
        f"{arm}_{kind}": round(own[key] / base[key], 3)
        for arm, own in figures.items()
        if arm != "on_demand"
        for kind, key in (("retrieval", "retrieval_ms"), ("total", "total_ms"))
    }
    if rate and not base["bytes_ready"]:
        bars["on_demand_to_bandwidth"] = round(base["mean_ms"] / (base["bytes_needed"] / rate * 1000), 3)
        for arm in ("paper", "progressive"):
            own = figures[arm]
            saved = base["mean_ms"] - own["mean_ms"]
            if own["bytes_ready"]:
                bars[f"{arm}_saved_of_covered"] = round(saved / (own["bytes_ready"] / rate * 1000), 3)
    return bars


def decode_ratio(engine: Engine, folder: Path, asked: Vectors, runs: int) -> float:
    """Return the median decode speed while the clusters near one question after the other are read ahead, relative to
    the speed without reading. `asked` has the shape (questions, dimensions).
    """
    size = read_bytes(folder)
    vectors = opened(folder, 0.0, size // 4)
    near = [vectors.probe(question, vectors.clusters // 8) for question in asked]
    shares = []
    step("decoding while clusters are read ahead")
    _seconds(engine)  # the first run is slower
    for _ in range(runs):
        alone = _seconds(engine)
        over = Event()
        reading = Thread(target=_read_ahead, args=(vectors, near, over))
        reading.start()
        shares.append(alone / _seconds(engine))
        over.set()
        reading.join()
    return round(float(np.median(shares)), 3)


def read_bytes(folder: Path) -> int:
    """Return the size of the index's lists in bytes."""
    return Ivf(folder, 0).files.layout.bytes


def _read_ahead(vectors: Ivf, near: Sequence[Numbers], over: Event) -> None:
    number = 0
    while not over.is_set():
        ahead = vectors.cache.read_ahead()
        ahead.fetch(vectors.present(near[number % len(near)]))
        while not (ahead.is_idle or over.is_set()):
            time.sleep(LOOK_S)
        ahead.close()
        number += 1


def _seconds(engine: Engine) -> float:
    started = time.perf_counter()
    written_by(engine, "who got the first nobel prize in physics")
    return time.perf_counter() - started
