"""Which clusters lie in which rows of a GPU's memory, and how they are scanned there. Pure; knows no torch.

Clusters near questions that are still being written come first, and hold their place; the hottest take what is left.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from storage.arena import Runs
from storage.hotness import Hotness
from storage.ivf_files import Numbers

NOBODY: Final = -1
"""In place of a cluster, where rows are scanned for nothing."""

GAP: Final = 4_096
"""Rows between two clusters that are scanned with them: no more work than to start another scan."""

_LONGEST: Final = 1.001
"""Length of a stored vector, which is 1 before it is rounded to halves."""

_UNIT: Final = 2.0**-24
_LEAST: Final = 2.0**-126
_INPUT_ERRORS: Final = {"highest": 0.0, "high": 2.0**-10, "medium": 2.0**-7}
"""What rounding both factors adds to a product, by torch's precision of products: none, to TF32, to bfloat16."""


class Segment(NamedTuple):
    """Rows of the GPU's memory from `start` on, and the cluster that lies there, or `NOBODY`."""

    start: int
    rows: int
    cluster: int


def margin(dimensions: int, length: float, precision: str) -> float:
    """By how much the inner product that a GPU sums in floats may differ from the one that FAISS sums, at the most.

    `length` is the question's. Each sum is off by the usual bound, in whatever order it was added up; the GPU may cut
    where others round, which doubles its own.
    """
    roundings = (dimensions + 2) * _UNIT  # two more, as the bound is added and compared in floats itself
    summed = roundings / (1 - roundings)
    return length * _LONGEST * (3 * summed + _INPUT_ERRORS[precision]) + dimensions * _LEAST


def segments(clusters: Iterable[Segment]) -> list[Segment]:
    """The clusters in the order of their rows, with the short gaps between them, which are nobody's."""
    ordered: list[Segment] = []
    for segment in sorted(clusters):
        if ordered:
            end = ordered[-1].start + ordered[-1].rows
            if 0 < segment.start - end <= GAP:
                ordered.append(Segment(end, segment.start - end, NOBODY))
        ordered.append(segment)
    return ordered


def blocks(ordered: Sequence[Segment], most: int) -> list[tuple[int, int]]:
    """First row of each scan, and the row behind its last: neighbours together, at most so many rows at a time."""
    spans: list[list[int]] = []
    for start, rows, _ in ordered:
        if spans and spans[-1][1] == start:
            spans[-1][1] += rows
        else:
            spans.append([start, start + rows])
    return [(first, min(first + most, stop)) for start, stop in spans for first in range(start, stop, most)]


class GpuRows:
    """So many rows, for clusters of these sizes. Not safe for threads."""

    def __init__(self, rows: int, sizes: Numbers) -> None:
        self._rows, self._runs, self._sizes = rows, Runs(rows), sizes
        self._starts: dict[int, int] = {}
        self._coming: set[int] = set()
        self._pins: Counter[int] = Counter()
        self._hotness = Hotness()
        self._near: deque[int] = deque()
        self._hot: deque[int] = deque()
        self._victims: deque[int] = deque()
        self._held: WeakKeyDictionary[object, frozenset[int]] = WeakKeyDictionary()

    def is_here(self, cluster: int) -> bool:
        """Whether a cluster can be scanned there."""
        return cluster in self._starts and cluster not in self._coming

    def pin(self, clusters: Collection[int]) -> list[Segment]:
        """A question asks for these: those that are there, which stay until they are unpinned."""
        self._hotness.ask(clusters)
        here = [cluster for cluster in clusters if self.is_here(cluster)]
        self._pins.update(here)
        return [Segment(self._starts[cluster], int(self._sizes[cluster]), cluster) for cluster in here]

    def unpin(self, clusters: Iterable[int]) -> None:
        """They have been scanned."""
        for cluster in clusters:
            self._pins[cluster] -= 1
            if not self._pins[cluster]:
                del self._pins[cluster]

    def hold(self, question: object, clusters: Sequence[int]) -> None:
        """A question will probably ask for these, nearest first: they come before others, and stay until it is over.

        What was held for it before stays, too.
        """
        self._held[question] = self._held.get(question, frozenset()).union(clusters)
        self._near.extendleft(reversed(clusters))
        self._victims.clear()

    def let_go(self, question: object) -> None:
        """It is over; what nobody remembers to end is over too, when it is forgotten."""
        self._held.pop(question, None)

    def has_arrived(self, cluster: int) -> None:
        """A cluster is in the machine's memory now, and could be copied."""
        if self._is_held(cluster):
            self._near.append(cluster)

    def offer(self, clusters: Iterable[int]) -> None:
        """These were missing: they come where they are hotter than what is there."""
        self._hot = deque(reversed(self._hotness.coldest(clusters)))
        self._victims.clear()

    def next(self) -> Segment | None:
        """What is to be copied next, and where to; `settle` follows. None where nothing is worth it."""
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
