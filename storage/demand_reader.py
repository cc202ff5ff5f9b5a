"""Reads the clusters that questions wait for; these reads go before all reading ahead."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from shared.errors import StoreError
from storage.arena import pages_of_memory
from storage.list_file import ListFile, pages
from storage.read_ahead import AheadReader
from storage.residents import Neighbours

READERS: Final = 8
"""Concurrent reads of clusters: disks reach their full bandwidth only with several."""


class DemandReader:
    """Reads clusters on demand, for all questions of a cache. `ahead` is the cache's other reader, which waits while
    this one reads. Thread-safe.
    """

    def __init__(self, ahead: AheadReader, file: ListFile) -> None:
        self.bytes_read = 0
        self._ahead, self._file = ahead, file
        self._changed, self._residents = ahead.changed, ahead.residents
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="clusters")

    def begin(self, neighbours: Neighbours) -> None:
        """Let a thread read clusters that were placed in memory. The caller holds the lock. Raises StoreError."""
        for resident in neighbours.residents:
            resident.is_demanded = True
        try:
            self._threads.submit(self._load, neighbours)
        except RuntimeError as error:  # no new thread, or the process ends; the job may be queued anyway
            for resident in neighbours.residents:
                self._residents.drop(resident)
            raise StoreError(f"The index cannot be read: {error}.") from error
        self._ahead.demand_reads += 1

    def unshared(self, cluster: int) -> memoryview:
        """Read a cluster into separate memory, outside the cache, and return it. Raises StoreCorrupt, StoreError."""
        start, length = self._residents.extent(cluster)
        first, room = pages(start, length)
        memory = memoryview(pages_of_memory(room))
        with self._changed:
            self._ahead.demand_reads += 1
        self._fill([memory], first, start + length - first)
        return memory[start - first : start - first + length]

    def _load(self, neighbours: Neighbours) -> None:
        residents = neighbours.residents
        with self._changed:
            if residents[0].is_dropped:
                return
        failure: BaseException | None = None
        try:
            self._fill(neighbours.parts, neighbours.first, neighbours.length)
        except BaseException as error:
            failure = error.with_traceback(None)
        if failure and len(residents) > 1:  # a fault in one cluster is none in the others
            with self._changed:
                self._ahead.demand_reads += len(residents)
            for resident in residents:
                self._load(Neighbours((resident,)))
            return
        if failure:
            with self._changed:  # a later question reads it again
                self._residents.drop(residents[0])
            residents[0].loaded.set_exception(failure)
            return
        neighbours.complete()
        for resident in residents:
            resident.loaded.set_result(None)

    def _fill(self, parts: Sequence[memoryview], first: int, length: int) -> None:
        """Read the bytes of a file into memory; `demand_reads` counts this read already."""
        read = 0
        with self._changed:
            self._ahead.throughput.begin(time.monotonic())
        try:
            self._file.read(parts, first, length)
            read = length
        finally:
            with self._changed:
                self._ahead.throughput.end(read, time.monotonic())
                self.bytes_read += read
                self._ahead.demand_reads -= 1
                if not self._ahead.demand_reads:
                    self._changed.notify_all()
