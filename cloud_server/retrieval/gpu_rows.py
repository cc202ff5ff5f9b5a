"""Decides which clusters are in which rows of a GPU's memory, and which rows to scan together. No I/O, no torch.

Clusters near questions that are still being typed are placed first and keep their rows; the most used clusters get the
remaining rows.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from storage.arena import Runs
from storage.hotness import Hotness
from storage.ivf_files import Numbers

NOBODY: Final = -1
"""The cluster number that marks a gap: rows that are scanned, but belong to no cluster."""

GAP: Final = 4_096
"""The longest gap between two clusters, in rows, that is scanned together with them, because a second scan would take
longer.
"""

_LONGEST: Final = 1.001
"""The greatest length of a stored unit vector: slightly above 1, because of rounding to half precision."""

_UNIT: Final = 2.0**-24
_LEAST: Final = 2.0**-126
_INPUT_ERRORS: Final = {"highest": 0.0, "high": 2.0**-10, "medium": 2.0**-7}
"""The relative error of a product because its factors are rounded, by torch's matmul precision: "highest" does not
round, "high" rounds to TF32, "medium" to bfloat16.
"""


class Segment(NamedTuple):
    """Consecutive rows of the GPU's memory from `start` on, and the cluster in them, or `NOBODY` for a gap."""

    start: int
    rows: int
    cluster: int


def margin(dimensions: int, length: float, precision: str) -> float:
    """Return the most by which a float32 inner product computed by a GPU may differ from the one computed by FAISS.

    `length` is the length of the question's vector, `precision` torch's matmul precision. Each sum has the usual error
    bound, for any order of summation; the bound is doubled for the GPU, which may truncate where others round.
    """
    roundings = (dimensions + 2) * _UNIT  # two more, as the bound itself is added and compared in float32
    summed = roundings / (1 - roundings)
    return length * _LONGEST * (3 * summed + _INPUT_ERRORS[precision]) + dimensions * _LEAST


def segments(clusters: Iterable[Segment]) -> list[Segment]:
    """Return the clusters' segments in the order of their rows, with the short gaps between them as segments, too."""
    ordered: list[Segment] = []
    for segment in sorted(clusters):
        if ordered:
            end = ordered[-1].start + ordered[-1].rows
            if 0 < segment.start - end <= GAP:
                ordered.append(Segment(end, segment.start - end, NOBODY))
        ordered.append(segment)
    return ordered


def blocks(ordered: Sequence[Segment], most: int) -> list[tuple[int, int]]:
    """Return the (first, stop) rows of each scan: adjacent segments are merged, then split at every `most` rows."""
    spans: list[list[int]] = []
    for start, rows, _ in ordered:
        if spans and spans[-1][1] == start:
            spans[-1][1] += rows
        else:
            spans.append([start, start + rows])
    return [(first, min(first + most, stop)) for start, stop in spans for first in range(start, stop, most)]


class GpuRows:
    """The `rows` rows of a GPU's memory, in which clusters of the given `sizes` (in rows) are placed. Not
    thread-safe.
    """

    def __init__(self, rows: int, sizes: Numbers) -> None:
        self._rows, self._runs, self._sizes = rows, Runs(rows), sizes
        self._starts: dict[int, int] = {}
        self._coming: set[int] = set()
        self._pins: Counter[int] = Counter()
        self._hotness = Hotness[int]()
        self._near: deque[int] = deque()
        self._hot: deque[int] = deque()
        self._victims: deque[int] = deque()
        self._held: WeakKeyDictionary[object, frozenset[int]] = WeakKeyDictionary()

    def is_here(self, cluster: int) -> bool:
        """Return whether a cluster is completely copied to the GPU."""
        return cluster in self._starts and cluster not in self._coming

    def pin(self, clusters: Collection[int]) -> list[Segment]:
        """Count a use of the given clusters. Return the segments of those clusters that are on the GPU; they stay there
        until `unpin`.
        """
        self._hotness.ask(clusters)
        here = [cluster for cluster in clusters if self.is_here(cluster)]
        self._pins.update(here)
        return [Segment(self._starts[cluster], int(self._sizes[cluster]), cluster) for cluster in here]

    def unpin(self, clusters: Iterable[int]) -> None:
        """Release the clusters that `pin` kept; their scan is over."""
        for cluster in clusters:
            self._pins[cluster] -= 1
            if not self._pins[cluster]:
                del self._pins[cluster]

    def hold(self, question: object, clusters: Sequence[int]) -> None:
        """Queue the clusters that a question will probably need, nearest first and before others; keep them on the GPU
        until `let_go`. Clusters that were held for the question earlier are kept, too.
        """
        self._held[question] = self._held.get(question, frozenset()).union(clusters)
        self._near.extendleft(reversed(clusters))
        self._victims.clear()

    def let_go(self, question: object) -> None:
        """Release the clusters held for a question. They are also released if the question is garbage-collected."""
        self._held.pop(question, None)

    def has_arrived(self, cluster: int) -> None:
        """Queue a cluster that is now in main memory to be copied, if it is held for a question."""
        if self._is_held(cluster):
            self._near.append(cluster)

    def offer(self, clusters: Iterable[int]) -> None:
        """Replace the queue by clusters that a search did not find on the GPU. Each is copied only if it can replace a
        less used cluster.
        """
        self._hot = deque(reversed(self._hotness.coldest(clusters)))
        self._victims.clear()

    def next(self) -> Segment | None:
        """Reserve rows for the next cluster to copy and return them; call `settle` afterwards. Return None if no queued
        cluster is worth a copy.
        """
        for waiting in (self._near, self._hot):
            while waiting:
                cluster, is_near = waiting.popleft(), waiting is self._near
                if cluster in self._starts or self._sizes[cluster] > self._rows:
                    continue
                if is_near and not self._is_held(cluster):
                    continue
                start = self._placed(cluster, is_near)
                if start is None:
                    waiting.clear()
                    break
                self._starts[cluster] = start
                self._coming.add(cluster)
                return Segment(start, int(self._sizes[cluster]), cluster)
        return None

    def settle(self, cluster: int, *, has_come: bool) -> None:
        """End a cluster's copy to the GPU: keep its place if the copy succeeded, else free it."""
        self._coming.discard(cluster)
        if not has_come:
            self._drop(cluster)

    def _placed(self, cluster: int, is_near: bool) -> int | None:
        while (start := self._runs.take(int(self._sizes[cluster]))) is None:
            victim = self._victim(cluster, is_near)
            if victim is None:
                return None
            self._drop(victim)
        return start

    def _victim(self, cluster: int, is_near: bool) -> int | None:
        if not self._victims:
            self._victims = deque(self._hotness.coldest(self._starts))
        while self._victims:
            victim = self._victims[0]
            if not is_near and self._hotness.score(victim) >= self._hotness.score(cluster):
                return None
            self._victims.popleft()
            if self.is_here(victim) and not self._pins[victim] and not self._is_held(victim):
                return victim
        return None

    def _is_held(self, cluster: int) -> bool:
        return any(cluster in clusters for clusters in self._held.values())

    def _drop(self, cluster: int) -> None:
        self._runs.give_back(self._starts.pop(cluster), int(self._sizes[cluster]))
