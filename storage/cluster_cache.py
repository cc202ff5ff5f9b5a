"""Clusters of an index in memory of a fixed size, read from disk when a question asks for them (TeleRAG, section 4).

Several are read at a time while those before them are scanned. A question pins what it is about to scan, never waits
for what another has pinned, and lets go as it proceeds, so that one larger than the memory is answered all the same.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Condition
from typing import Final

from shared.errors import StoreError
from storage.arena import pages_of_memory
from storage.list_file import ListFile, pages
from storage.pacing import Throughput
from storage.read_ahead import RATE, AheadReader, ReadAhead
from storage.residents import Resident, Residents

READERS: Final = 8
"""Clusters that are read at once: a disk of today is at its best with several."""

AHEAD: Final = 32
"""Clusters that are pinned or on their way before the one that is scanned: enough to keep the readers busy."""

PATIENCE_S: Final = 0.01
"""Seconds for which the first of those on their way is waited for before it is looked which of the others came."""

AT_ONCE: Final = 16
"""Clusters in memory that are pinned together: of each alone, the lock would take a tenth of the time."""


class ClusterCache:
    """`extent` gives a cluster's first byte in the file and its length, which is not 0. Safe for several threads.

    Beyond `memory` bytes, each question under way takes those of one cluster at most. Of what is read ahead of
    questions, `rate` bytes a second at most.
    """

    def __init__(
        self, file: ListFile, extent: Callable[[int], tuple[int, int]], memory: int, rate: float = RATE
    ) -> None:
        self._demanded = 0
        self._file = file
        self._changed = Condition()
        self._residents = Residents(extent, memory)
        self._throughput = Throughput()
        self._ahead = AheadReader(self._changed, self._residents, file, self._throughput, rate)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="clusters")

    @property
    def bytes_read(self) -> int:
        """From the file, for whatever reason."""
        return self._demanded + self._ahead.bytes_read

    @property
    def ahead(self) -> AheadReader:
        """What reads ahead of questions."""
        return self._ahead

    @property
    def memory(self) -> int:
        """Bytes of clusters that it can hold."""
        return self._residents.arena.size

    def is_ready(self, cluster: int) -> bool:
        """Whether a cluster is in memory now."""
        with self._changed:
            return self._residents.is_ready(cluster)

    def read_ahead(self, on_arrival: Callable[[int], None] | None = None) -> ReadAhead:
        """For a question that will be asked soon; `on_arrival` gets each cluster that was read for it."""
        return self._ahead.begin(on_arrival)

    def read(self, clusters: Iterable[int]) -> Iterator[tuple[int, memoryview]]:
        """Each cluster with its bytes, in this order; they are to be used before the next one is asked for.

        Raises StoreCorrupt, StoreError, as `ListFile.read`; the next question tries again.
        """
        waiting = deque(clusters)
        with self._changed:
            self._ahead.relieve()
            self._residents.hotness.ask(waiting)
            victims = self._residents.coldest(last=self._ahead.held())
        pinned: deque[Resident] = deque()
        try:
            while waiting or pinned:
                self._pin_next(waiting, pinned, victims)
                if pinned:
                    yield _scanned(pinned[0])
                    victims.append(pinned[0].cluster)
                    self._unpin(pinned.popleft())
                else:  # other questions have pinned all there is
                    yield waiting[0], self._unshared(waiting.popleft())
        finally:
            for resident in pinned:
                self._unpin(resident)

    def read_any(self, clusters: Iterable[int]) -> Iterator[tuple[int, memoryview]]:
        """The same, each cluster once and in the order in which they are there: those in memory while others are read.

        Raises the same.
        """
        with self._changed:
            self._ahead.relieve()
            asked = dict.fromkeys(clusters, False)
            self._residents.hotness.ask(asked)
            asked.update((cluster, True) for cluster in asked if self._residents.is_ready(cluster))
            victims = self._residents.coldest(last=self._ahead.held(), never=asked)
        ready, missing = (deque(cluster for cluster in asked if asked[cluster] is is_here) for is_here in (True, False))
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
                    with self._changed:  # what came for others may go
                        victims = self._residents.coldest(last=self._ahead.held(), never=set(missing))
                    self._pin_next(missing, pinned, victims)
                    if not pinned:
                        yield missing[0], self._unshared(missing.popleft())
                elif resident is None:
                    with suppress(TimeoutError):  # what was asked for first mostly comes first
                        pinned[0].loaded.exception(PATIENCE_S)
                else:
                    yield _scanned(resident)
                    victims.append(resident.cluster)
                    pinned.remove(resident)
                    self._unpin(resident)
        finally:
            for resident in pinned:
                self._unpin(resident)

    def ready(self, clusters: Sequence[int], gone: deque[int] | None = None) -> Iterator[tuple[int, memoryview]]:
        """Those of the clusters that are in memory, in this order; `gone` gets the others.

        Nothing is read, and no question counted.
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
                        gone.append(cluster)
            try:
                for resident in pinned:
                    yield resident.cluster, resident.bytes
            finally:
                with self._changed:
                    for resident in pinned:
                        self._residents.unpin(resident)

    def _pin_next(self, waiting: deque[int], pinned: deque[Resident], victims: deque[int]) -> None:
        """Pin as many of those that wait as there may be, and see that they are read."""
        while waiting and len(pinned) < AHEAD and (resident := self._pinned(waiting[0], victims)):
            pinned.append(resident)
            waiting.popleft()

    def _pinned(self, cluster: int, victims: deque[int]) -> Resident | None:
        """The cluster, which stays until it is unpinned; None where there is no room beside what others have pinned."""
        with self._changed:
            resident = self._residents.get(cluster)
            if resident is None:
                resident = self._residents.place(cluster, victims)
                if resident is None:
                    return None
                resident.is_demanded = True
                try:
                    self._readers.submit(self._load, resident)
                except RuntimeError as error:  # no thread more, or the process ends; it may be queued all the same
                    self._residents.drop(resident)
                    raise StoreError(f"The index cannot be read: {error}.") from error
                self._ahead.demand_reads += 1
            elif not resident.is_demanded:
                resident.is_demanded = True
                self._changed.notify_all()
            resident.pins += 1
            return resident

    def _unpin(self, resident: Resident) -> None:
        with self._changed:
            self._residents.unpin(resident)

    def _unshared(self, cluster: int) -> memoryview:
        """The cluster in memory of its own. Raises StoreCorrupt, StoreError."""
        start, length = self._residents.extent(cluster)
        first, room = pages(start, length)
        memory = memoryview(pages_of_memory(room))
        with self._changed:
            self._ahead.demand_reads += 1
            self._throughput.begin(time.monotonic())
        self._fill(memory, first, start + length - first)
        return memory[start - first : start - first + length]

    def _load(self, resident: Resident) -> None:
        with self._changed:
            if resident.is_dropped:
                return
            self._throughput.begin(time.monotonic())
        try:
            self._fill(resident.memory, resident.first, resident.length)
        except BaseException as error:
            with self._changed:  # the next question reads it again
                self._residents.drop(resident)
            resident.loaded.set_exception(error.with_traceback(None))
        else:
            resident.loaded.set_result(None)

    def _fill(self, memory: memoryview, first: int, length: int) -> None:
        """Read what a question waits for, before anything that none waits for; that it begins is noted already."""
        read = 0
        try:
            self._file.read(memory, first, length)
            read = length
        finally:
            with self._changed:
                self._throughput.end(read, time.monotonic())
                self._demanded += read
                self._ahead.demand_reads -= 1
                if not self._ahead.demand_reads:
                    self._changed.notify_all()


def _first_done(pinned: deque[Resident]) -> Resident | None:
    if pinned and pinned[0].loaded.done():  # nearly always, if any is
        return pinned[0]
    return next((resident for resident in pinned if resident.loaded.done()), None)


def _scanned(resident: Resident) -> tuple[int, memoryview]:
    """A cluster that is there, or that is waited for. Raises what went wrong."""
    if error := resident.loaded.exception():
        # Another one, as what is raised holds this call, and with it all of the memory.
        raise type(error)(*error.args) from error
    return resident.cluster, resident.bytes
