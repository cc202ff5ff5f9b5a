"""A cache of an index's clusters in a fixed amount of memory, read from disk on demand (TeleRAG, section 4).

Several clusters are read while earlier ones are scanned. A question pins the clusters that it is about to scan, never
waits for those pinned by others, and unpins each after its scan, so that it may need more than the memory holds.
"""

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from threading import Condition
from typing import Final

from storage.demand_reader import DemandReader
from storage.list_file import ListFile
from storage.pacing import Throughput
from storage.read_ahead import PIECE, RATE, AheadReader, ReadAhead
from storage.residents import Resident, Residents

AHEAD: Final = 32
"""The number of clusters that are pinned or being read before the one being scanned: enough to keep the readers
busy.
"""

PATIENCE_S: Final = 0.01
"""Seconds to wait for the oldest pending cluster before checking whether others have arrived."""

AT_ONCE: Final = 16
"""The number of clusters in memory that are pinned at once; pinning each by itself would spend a tenth of the time on
the lock.
"""


class ClusterCache:
    """A cache of an index's clusters. `extent` returns a cluster's first byte in the file and its length, never 0.
    Thread-safe.

    Holds at most `memory` bytes; if all of these are pinned, it holds one more cluster per running question. Reads
    ahead at most `rate` bytes a second.
    """

    def __init__(
        self, file: ListFile, extent: Callable[[int], tuple[int, int]], memory: int, rate: float = RATE
    ) -> None:
        self._changed = Condition()
        self._residents = Residents(extent, memory)
        self._ahead = AheadReader(self._changed, self._residents, file, Throughput(), rate)
        self._demand = DemandReader(self._ahead, file)

    @property
    def bytes_read(self) -> int:
        """The bytes read from the file so far, on demand and ahead."""
        return self._demand.bytes_read + self._ahead.bytes_read

    @property
    def ahead(self) -> AheadReader:
        """The reader that reads clusters ahead of questions."""
        return self._ahead

    @property
    def memory(self) -> int:
        """The most bytes of clusters in memory."""
        return self._residents.arena.size

    @property
    def used(self) -> int:
        """The bytes of clusters in memory now."""
        with self._changed:
            return self._residents.arena.used

    def is_ready(self, cluster: int) -> bool:
        """Return whether the cluster is in memory now."""
        with self._changed:
            return self._residents.is_ready(cluster)

    def are_ready(self, clusters: Iterable[int]) -> bool:
        """Return whether all the clusters are in memory now."""
        with self._changed:
            return all(map(self._residents.is_ready, clusters))

    def relieve(self) -> None:
        """Give memory back if the machine is short of it, at most once a second. A question does so itself."""
        with self._changed:
            self._ahead.relieve()

    def read_ahead(self, on_arrival: Callable[[int], None] | None = None) -> ReadAhead:
        """Begin to read ahead for a question; `on_arrival` is called with each cluster that was read for the
        question.
        """
        return self._ahead.begin(on_arrival)

    def read(self, clusters: Iterable[int]) -> Iterator[tuple[int, memoryview]]:
        """Yield each cluster with its bytes, in the given order; the bytes are valid until the next cluster is
        requested.

        Raises StoreCorrupt, StoreError, as `ListFile.read`; a later question tries again.
        """
        waiting = deque(clusters)
        with self._changed:
            self._ahead.relieve()
            self._residents.hotness.ask(waiting)
            victims = self._residents.coldest(last=self._ahead.held())
        pinned: deque[Resident] = deque()
        try:
            while waiting or pinned:
                while waiting and len(pinned) < AHEAD and (several := self._pinned(waiting[0], victims)):
                    pinned += several
                    waiting.popleft()
                if pinned:
                    yield _scanned(pinned[0])
                    victims.append(pinned[0].cluster)
                    self._unpin(pinned.popleft())
                else:  # other questions have pinned all there is
                    yield waiting[0], self._demand.unshared(waiting.popleft())
        finally:
            for resident in pinned:
                self._unpin(resident)

    def read_any(self, clusters: Iterable[int]) -> Iterator[tuple[int, memoryview]]:
        """Yield each cluster once with its bytes, as `read` does, but in order of arrival: clusters in memory first,
        while others are read.

        Raises the same errors.
        """
        with self._changed:
            self._ahead.relieve()
            asked = dict.fromkeys(clusters, False)
            self._residents.hotness.ask(asked)
            asked.update((cluster, True) for cluster in asked if self._residents.is_ready(cluster))
            victims = self._residents.coldest(last=self._ahead.held(), never=asked)
        ready = deque(cluster for cluster in asked if asked[cluster])
        missing = dict.fromkeys(cluster for cluster in asked if not asked[cluster])
        pinned: deque[Resident] = deque()
        try:
            while ready or missing or pinned:
                self._pin_next(missing, pinned, victims)
                resident = _first_done(pinned)
                if resident is None and ready:
                    several = [ready.popleft() for _ in range(min(len(ready), AT_ONCE))]
                    for cluster, data in self.ready(several, missing):
                        yield cluster, data
                        victims.append(cluster)
                elif resident is None and not pinned:
                    with self._changed:  # clusters read ahead for other questions may be evicted, too
                        victims = self._residents.coldest(last=self._ahead.held(), never=set(missing))
                    self._pin_next(missing, pinned, victims)
                    if not pinned:
                        del missing[cluster := next(iter(missing))]
                        yield cluster, self._demand.unshared(cluster)
                elif resident is None:
                    with suppress(TimeoutError):  # reads mostly finish in the order of their start
                        pinned[0].loaded.exception(PATIENCE_S)
                else:
                    yield _scanned(resident)
                    victims.append(resident.cluster)
                    pinned.remove(resident)
                    self._unpin(resident)
        finally:
            for resident in pinned:
                self._unpin(resident)

    def ready(self, clusters: Sequence[int], gone: dict[int, None] | None = None) -> Iterator[tuple[int, memoryview]]:
        """Yield the clusters that are in memory, in the given order; add the clusters that are not in memory to
        `gone`.

        Reads nothing from disk, and does not count as a use.
        """
        for start in range(0, len(clusters), AT_ONCE):
            pinned: list[Resident] = []
            with self._changed:
                for cluster in clusters[start : start + AT_ONCE]:
                    resident = self._residents.get(cluster)
                    if resident and resident.is_ready:
                        resident.pins += 1
                        pinned.append(resident)
                    elif gone is not None:
                        gone[cluster] = None
            try:
                for resident in pinned:
                    yield resident.cluster, resident.bytes
            finally:
                with self._changed:
                    for resident in pinned:
                        self._residents.unpin(resident)

    def _pin_next(self, missing: dict[int, None], pinned: deque[Resident], victims: deque[int]) -> None:
        """Move missing clusters to the pinned ones and start their reads, one for neighbours in the file, until AHEAD
        are pinned or the memory is full. The clusters in `victims` may be evicted for them, in that order.
        """
        while missing and len(pinned) < AHEAD and (several := self._pinned(next(iter(missing)), victims, missing)):
            for resident in several:
                pinned.append(resident)
                del missing[resident.cluster]

    def _pinned(self, cluster: int, victims: deque[int], beside: Container[int] = ()) -> Sequence[Resident]:
        """Pin a cluster, and start its read if necessary, with those in `beside` that are its neighbours in the file.
        Return all that were pinned: none if clusters pinned by other questions leave no room.
        """
        residents = self._residents
        with self._changed:
            several: Sequence[Resident]
            if resident := residents.get(cluster):
                several = (resident,)
                if not resident.is_demanded:
                    resident.is_demanded = True
                    self._changed.notify_all()
            elif resident := residents.place(cluster, victims):
                place = partial(residents.place, victims=victims)
                neighbours = residents.with_neighbours(resident, beside, PIECE, place)
                several = neighbours.residents
                self._demand.begin(neighbours)
            else:
                return ()
            for resident in several:
                resident.pins += 1
            return several

    def _unpin(self, resident: Resident) -> None:
        with self._changed:
            self._residents.unpin(resident)


def _first_done(pinned: deque[Resident]) -> Resident | None:
    if pinned and pinned[0].loaded.done():  # nearly always the first one to be done
        return pinned[0]
    return next((resident for resident in pinned if resident.loaded.done()), None)


def _scanned(resident: Resident) -> tuple[int, memoryview]:
    """Wait until a pinned cluster is read, and return it with its bytes. Raises the error of its read."""
    if error := resident.loaded.exception():
        # A copy of the error: the raised one's traceback holds this frame, and thus all of the memory.
        raise type(error)(*error.args) from error
    return resident.cluster, resident.bytes
