"""Which clusters are in memory of a fixed size, and which go when there is no room. Knows no file and no thread.

Not safe for threads: whoever calls holds the lock of the cache.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

from storage.arena import Arena
from storage.hotness import Hotness
from storage.list_file import pages


@dataclass(slots=True, eq=False)
class Resident:
    """A cluster in memory, or on its way there.

    `memory` is the room of whole pages from `start` on, of which `length` bytes are read from byte `first` of the file;
    `bytes` are the cluster's own. A read ahead of a question is `is_demanded` as soon as a question waits for it.
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
        """Bytes of memory that it takes."""
        return len(self.memory)

    @property
    def is_ready(self) -> bool:
        """Whether it can be scanned."""
        return self.loaded.done() and not self.is_dropped


class Residents:
    """`extent` gives a cluster's first byte in the file and its length, which is not 0."""

    def __init__(self, extent: Callable[[int], tuple[int, int]], memory: int) -> None:
        self.extent = extent
        self.arena = Arena(memory)
        self.hotness = Hotness()
        self.allowed = self.arena.size
        self._residents: dict[int, Resident] = {}

    def __iter__(self) -> Iterator[Resident]:
        return iter(self._residents.values())

    def get(self, cluster: int) -> Resident | None:
        """The cluster, where it is in memory or on its way."""
        return self._residents.get(cluster)

    def is_ready(self, cluster: int) -> bool:
        """Whether it can be scanned without a read."""
        resident = self._residents.get(cluster)
        return resident is not None and resident.is_ready

    def coldest(self, last: Collection[int] = (), never: Collection[int] = ()) -> deque[int]:
        """Those that may go, the coldest first; `last` after all others, `never` not at all."""
        ranked = self.hotness.coldest(cluster for cluster in self._residents if cluster not in never)
        return deque(sorted(ranked, key=last.__contains__)) if last else deque(ranked)

    def place(
        self, cluster: int, victims: deque[int], may_go: Callable[[int], bool] = lambda _: True
    ) -> Resident | None:
        """Room for a cluster, made by giving up `victims` as far as need be; None where these do not make it."""
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

    def shrink(self, allowed: int, first: Collection[int]) -> None:
        """Use no more than so many bytes from now on: those that are `first` go first, then the coldest."""
        self.allowed = allowed
        if self.arena.used <= allowed:
            return
        ranked = sorted(self.coldest(), key=lambda cluster: cluster not in first)
        for resident in map(self._residents.__getitem__, ranked):
            if self.arena.used > allowed and not resident.pins and resident.loaded.done():
                self.drop(resident)
        self.arena.release()

    def unpin(self, resident: Resident) -> None:
        """Whoever pinned it has no more use for it."""
        resident.pins -= 1
        if resident.is_dropped and not resident.pins:
            self._give_back(resident)

    def drop(self, resident: Resident) -> None:
        """Forget a cluster, whose memory is free as soon as nobody has it pinned. It is read into no more."""
        del self._residents[resident.cluster]
        resident.is_dropped = True
        if not resident.pins:
            self._give_back(resident)

    def _give_back(self, resident: Resident) -> None:
        self.arena.runs.give_back(resident.start, resident.room)
