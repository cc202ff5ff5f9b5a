"""The clusters in a fixed amount of memory, and their eviction. Independent of files and threads.

Not thread-safe: the caller holds the cache's lock.
"""

from collections import deque
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import pairwise

from storage.arena import Arena
from storage.hotness import Hotness
from storage.list_file import MOST_PARTS, PAGE, pages


@dataclass(slots=True, eq=False)
class Resident:
    """A cluster in memory, or being read into it.

    `memory` is the cluster's whole pages, which begin at `start` in the arena and take `length` bytes from byte `first`
    of the file; `bytes` are the cluster's own. `loaded` is done once they are read. A cluster with `pins` keeps its
    memory, even when it is dropped. `is_demanded` is set once a question waits for it.
    """

    cluster: int
    start: int
    memory: memoryview
    first: int
    length: int
    bytes: memoryview
    loaded: "Future[None]" = field(default_factory=Future)
    pins: int = 0
    is_dropped: bool = False
    is_demanded: bool = False

    @property
    def room(self) -> int:
        """The bytes of memory that the cluster occupies."""
        return len(self.memory)

    @property
    def is_ready(self) -> bool:
        """Whether the cluster can be scanned."""
        return self.loaded.done() and not self.is_dropped


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Clusters that follow one another in the file, and are read at once."""

    residents: Sequence[Resident]

    @property
    def first(self) -> int:
        """The offset in the file of the first page."""
        return self.residents[0].first

    @property
    def length(self) -> int:
        """The bytes from the first page to the end of the last cluster."""
        last = self.residents[-1]
        return last.first + last.length - self.first

    @property
    def parts(self) -> list[memoryview]:
        """The memory to read into, in the order of the file. A page that two clusters share is in one part alone, the
        earlier one's: see `complete`.
        """
        parts = [self.residents[0].memory]
        for former, latter in pairwise(self.residents):
            parts.append(latter.memory[_shared(former, latter) :])
        return parts

    def complete(self) -> None:
        """Copy the pages that two clusters share to the later one, after they have been read."""
        for former, latter in pairwise(self.residents):
            if shared := _shared(former, latter):
                latter.memory[:shared] = former.memory[-shared:]


def _shared(former: Resident, latter: Resident) -> int:
    """Return the bytes of the page that two neighbours share; 0 if the former ends with a page."""
    return former.first + former.room - latter.first


class Residents:
    """The clusters in memory. The function `extent` returns a cluster's first byte in the file and its length,
    never 0; the file holds the clusters in the order of their numbers.
    """

    def __init__(self, extent: Callable[[int], tuple[int, int]], memory: int) -> None:
        self.extent = extent
        self.arena = Arena(memory)
        self.hotness = Hotness[int]()
        self.allowed = self.arena.size
        self._residents: dict[int, Resident] = {}

    def __iter__(self) -> Iterator[Resident]:
        return iter(self._residents.values())

    def get(self, cluster: int) -> Resident | None:
        """Return the cluster if it is in memory or being read, else None."""
        return self._residents.get(cluster)

    def is_ready(self, cluster: int) -> bool:
        """Return whether the cluster can be scanned without a read."""
        resident = self._residents.get(cluster)
        return resident is not None and resident.is_ready

    def coldest(self, last: Collection[int] = (), never: Collection[int] = ()) -> deque[int]:
        """Return the clusters in the order in which to evict them: the least used first, those in `last` after all
        others, those in `never` not at all.
        """
        ranked = self.hotness.coldest(cluster for cluster in self._residents if cluster not in never)
        return deque(sorted(ranked, key=last.__contains__)) if last else deque(ranked)

    def place(
        self, cluster: int, victims: deque[int], may_go: Callable[[int], bool] = lambda _: True
    ) -> Resident | None:
        """Allocate memory for a cluster, and return its place; None if there is not enough. Clusters in `victims` are
        evicted for it, in order, unless they are pinned, still being read, or `may_go` returns False; each is taken off
        the queue.
        """
        start, length = self.extent(cluster)
        first, room = pages(start, length)
        if room > self.allowed:
            return None
        while self.arena.used + room > self.allowed or (place := self.arena.runs.take(room)) is None:
            if not victims:
                return None
            victim = self._residents.get(victims.popleft())
            if victim and not victim.pins and victim.loaded.done() and may_go(victim.cluster):
                self.drop(victim)
        memory = self.arena.view(place, room)
        own = memory[start - first : start - first + length]
        resident = Resident(cluster, place, memory, first, start + length - first, own)
        self._residents[cluster] = resident
        return resident

    def with_neighbours(
        self, resident: Resident, waiting: Container[int], most: int, place: Callable[[int], Resident | None]
    ) -> Neighbours:
        """Let `place` allocate memory for the clusters beside a cluster in the file, too, as far as they are in
        `waiting`, and all of them take at most `most` bytes.
        """
        placed, size = (
            deque([resident]),
            PAGE + len(resident.bytes),
        )  # the first page may begin before the first cluster
        for step in (1, -1):
            while (cluster := placed[-1 if step > 0 else 0].cluster + step) in waiting and not self.get(cluster):
                more = self.extent(cluster)[1]
                if size + more > most or len(placed) == MOST_PARTS or not (other := place(cluster)):
                    break
                (placed.append if step > 0 else placed.appendleft)(other)
                size += more
        return Neighbours(tuple(placed))

    def shrink(self, allowed: int, first: Collection[int]) -> None:
        """Limit the memory to `allowed` bytes, evicting first the clusters in `first`, then the least used others.
        Clusters that are pinned or being read stay, so that more may be in use for a while.
        """
        self.allowed = allowed
        if self.arena.used <= allowed:
            return
        ranked = sorted(self.coldest(), key=lambda cluster: cluster not in first)
        for resident in map(self._residents.__getitem__, ranked):
            if self.arena.used > allowed and not resident.pins and resident.loaded.done():
                self.drop(resident)
        self.arena.release()

    def unpin(self, resident: Resident) -> None:
        """Remove one pin of the cluster."""
        resident.pins -= 1
        if resident.is_dropped and not resident.pins:
            self._give_back(resident)

    def drop(self, resident: Resident) -> None:
        """Evict a cluster. Its memory is freed once it is not pinned any more; no more bytes are read into it."""
        del self._residents[resident.cluster]
        resident.is_dropped = True
        if not resident.pins:
            self._give_back(resident)

    def _give_back(self, resident: Resident) -> None:
        self.arena.runs.give_back(resident.start, resident.room)
