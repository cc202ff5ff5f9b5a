"""Clusters of an index in memory of a fixed size, read from disk when a question asks for them (TeleRAG, section 4).

Several are read at a time while those before them are scanned. A question pins what it is about to scan, never waits
for what another has pinned, and lets go as it proceeds, so that one larger than the memory is answered all the same.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Final

from shared.errors import StoreError
from storage.arena import Arena, pages_of_memory
from storage.hotness import Hotness
from storage.list_file import ListFile, pages

READERS: Final = 8
"""Clusters that are read at once: a disk of today is at its best with several."""

AHEAD: Final = 32
"""Clusters that are pinned or on their way before the one that is scanned: enough to keep the readers busy."""


@dataclass(slots=True)
class _Resident:
    """A cluster in memory, or on its way there. `bytes` are its own, within the pages of `room` from `start` on."""

    cluster: int
    start: int
    room: int
    bytes: memoryview
    loaded: "Future[None]"
    pins: int = 0
    is_dropped: bool = False


class ClusterCache:
    """`extent` gives a cluster's first byte in the file and its length, which is not 0. Safe for several threads.

    Beyond `memory` bytes, each question under way takes those of one cluster at most.
    """

    def __init__(self, file: ListFile, extent: Callable[[int], tuple[int, int]], memory: int) -> None:
        self.bytes_read = 0
        self._file, self._extent = file, extent
        self._arena = Arena(memory)
        self._hotness = Hotness()
        self._resident: dict[int, _Resident] = {}
        self._lock = Lock()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="clusters")

    def read(self, clusters: Iterable[int]) -> Iterator[tuple[int, memoryview]]:
        """Each cluster with its bytes, in this order; they are to be used before the next one is asked for.

        Raises StoreCorrupt, StoreError, as `ListFile.read`; the next question tries again.
        """
        waiting = deque(clusters)
        with self._lock:
            self._hotness.ask(waiting)
            victims = deque(self._hotness.coldest(self._resident))
        pinned: deque[_Resident] = deque()
        try:
            while waiting or pinned:
                while waiting and len(pinned) < AHEAD and (resident := self._pinned(waiting[0], victims)):
                    pinned.append(resident)
                    waiting.popleft()
                if pinned:
                    resident = pinned[0]
                    if error := resident.loaded.exception():
                        # Another one, as what is raised holds this call, and with it all of the memory.
                        raise type(error)(*error.args) from error
                    yield resident.cluster, resident.bytes
                    self._unpin(pinned.popleft())
                    victims.append(resident.cluster)
                else:  # other questions have pinned all there is
                    yield waiting[0], self._unshared(waiting.popleft())
        finally:
            for resident in pinned:
                self._unpin(resident)

    def _pinned(self, cluster: int, victims: deque[int]) -> _Resident | None:
        """The cluster, which stays until it is unpinned; None where there is no room beside what others have pinned."""
        with self._lock:
            resident = self._resident.get(cluster)
            if resident is None:
                start, length = self._extent(cluster)
                first, room = pages(start, length)
                place = self._room(room, victims)
                if place is None:
                    return None
                memory = self._arena.view(place, room)
                own = memory[start - first : start - first + length]
                resident = _Resident(cluster, place, room, own, Future())
                try:
                    self._readers.submit(self._load, resident, memory, first, start + length - first)
                except RuntimeError as error:  # no thread more, or the process ends; it may be queued all the same
                    resident.is_dropped = True
                    self._arena.runs.give_back(place, room)
                    raise StoreError(f"The index cannot be read: {error}.") from error
                self._resident[cluster] = resident
            resident.pins += 1
            return resident

    def _unpin(self, resident: _Resident) -> None:
        """Whoever pinned it has no more use for it."""
        with self._lock:
            resident.pins -= 1
            if resident.is_dropped and not resident.pins:
                self._arena.runs.give_back(resident.start, resident.room)

    def _unshared(self, cluster: int) -> memoryview:
        """The cluster in memory of its own. Raises StoreCorrupt, StoreError."""
        start, length = self._extent(cluster)
        first, room = pages(start, length)
        memory = pages_of_memory(room)
        self._fill(memory, first, start + length - first)
        return memory[start - first : start - first + length]

    def _load(self, resident: _Resident, memory: memoryview, first: int, length: int) -> None:
        with self._lock:
            if resident.is_dropped:
                return
        try:
            self._fill(memory, first, length)
        except BaseException as error:
            with self._lock:  # the next question reads it again
                self._drop(resident)
            resident.loaded.set_exception(error.with_traceback(None))
        else:
            resident.loaded.set_result(None)

    def _fill(self, memory: memoryview, first: int, length: int) -> None:
        self._file.read(memory, first, length)
        with self._lock:
            self.bytes_read += length

    def _room(self, length: int, victims: deque[int]) -> int | None:
        """Where there is room for so many bytes, made by giving up `victims`; None where these do not make it."""
        if length > self._arena.size:
            return None
        while (place := self._arena.runs.take(length)) is None:
            if not victims:
                return None
            resident = self._resident.get(victims.popleft())
            if resident and not resident.pins and resident.loaded.done():
                self._drop(resident)
        return place

    def _drop(self, resident: _Resident) -> None:
        del self._resident[resident.cluster]
        resident.is_dropped = True
        if not resident.pins:
            self._arena.runs.give_back(resident.start, resident.room)
