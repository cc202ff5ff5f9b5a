"""Reads clusters ahead of questions that will probably need them (TeleRAG, section 4.1).

Reading ahead yields, between pieces, to reads that a question waits for; never evicts clusters that are pinned or were
read for another question; and is limited and of low priority, as the model needs the processors. Clusters that follow
one another in the file are read at once, as each read costs processor time. A cluster whose read fails here is read
again on demand.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Condition
from typing import Final
from weakref import WeakSet, ref

from shared.memory import available
from shared.priority import be_nice
from shared.processors import IdleProcessors
from storage.coverage import Coverage, covered
from storage.list_file import PAGE, ListFile
from storage.pacing import AheadPace, Throughput
from storage.pressure import LOOK_S, limit
from storage.residents import Neighbours, Resident, Residents

log = logging.getLogger(__name__)

RATE: Final = 500e6
"""The limit of reading ahead, in bytes a second."""

NICE: Final = 15
"""The nice value of the threads that read ahead: where the model uses all processors, each thread gets some 3% of one
processor.

With this value alone, a model on two processors kept .88 to .95 of its speed; without it, .7 to .8.
"""

READERS: Final = 2
PIECE: Final = 128 * PAGE
"""The most bytes that are read between two checks whether reading ahead has to yield, and of clusters read at once."""

SHARE: Final = 0.025
"""The share of one processor's time that reads take at most while none is idle. A model on two processors kept .96 of
its speed: its other threads wait for the interrupted one, too.
"""

IDLE: Final = 0.5
"""The least mean number of idle processors at which reads are free: fewer than 1, as the reads take some of it."""

BURST_S: Final = 0.001
"""Seconds of processor time that reads may take one after the other, after a pause."""


class AheadReader:
    """Reads clusters ahead for all questions of a cache; `changed` is the cache's lock. Thread-safe."""

    def __init__(
        self, changed: Condition, residents: Residents, file: ListFile, throughput: Throughput, rate: float = RATE
    ) -> None:
        self.bytes_read = self.bytes_wasted = 0
        self.demand_reads = 0
        self.throughput = throughput
        self.changed, self.residents = changed, residents
        self._file = file
        self._pace, self._idle = AheadPace(rate, READERS * PIECE, SHARE, BURST_S), IdleProcessors()
        self._questions: WeakSet[ReadAhead] = WeakSet()  # weak: a question that is not closed holds nothing
        self._victims: deque[int] = deque()
        self._threads = ThreadPoolExecutor(
            READERS, thread_name_prefix="clusters-ahead", initializer=be_nice, initargs=(NICE,)
        )
        self._running = 0
        self._looked = float("-inf")

    @property
    def rate(self) -> float:
        """The expected throughput of reading ahead, in bytes a second."""
        allowed, seen = self._pace.rate, self.throughput.rate
        return allowed if seen is None else min(allowed, seen)

    def begin(self, on_arrival: Callable[[int], None] | None = None) -> "ReadAhead":
        """Begin to read ahead for a question; `on_arrival` is called with each cluster that was read for the
        question.
        """
        question = ReadAhead(self, on_arrival)
        with self.changed:
            self._questions.add(question)
        return question

    def share(self, question: "ReadAhead") -> int:
        """Return the bytes of memory for one question: an equal share among the questions that hold or await
        clusters.
        """
        with self.changed:
            others = sum(bool(other.held or other.waiting) for other in self._questions if other is not question)
            return self.residents.arena.size // (others + 1)

    def relieve(self) -> None:
        """Shrink the cache while the machine is short of memory, and let it grow afterwards. The caller holds the lock.

        Clusters that were read ahead are evicted first, and the queued ones are dropped.
        """
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        residents = self.residents
        allowed = limit(residents.allowed, residents.arena.used, residents.arena.size, available())
        if allowed < residents.allowed:
            for question in self._questions:
                question.waiting.clear()
        residents.shrink(allowed, self.held())

    def held(self) -> set[int]:
        """Return the clusters held in memory for questions. The caller holds the lock."""
        return set().union(*(question.held for question in self._questions))

    def wake(self) -> None:
        """Start a thread that reads the queued clusters, if any are queued. The caller holds the lock."""
        if self._running < READERS:
            try:
                self._threads.submit(self._work)
            except RuntimeError:  # no new thread can start, or the process ends: nothing is read ahead
                return
            self._running += 1

    def _work(self) -> None:
        while job := self._next():
            asked, neighbours = job
            sizes = self._fill(neighbours)
            with self.changed:
                self.bytes_read += sum(sizes)
                question = asked()
                for resident, size in zip(neighbours.residents, sizes, strict=True):
                    if question and resident.cluster in question.held and not resident.is_demanded:
                        question.note(resident.cluster, min(size, len(resident.bytes)))
                    elif not resident.is_demanded:
                        self.bytes_wasted += size
                on_arrival = (question and question.on_arrival) or (lambda _: None)
                arrived = [resident.cluster for resident in neighbours.residents if resident.is_ready]
                del question
            for cluster in arrived:
                try:
                    on_arrival(cluster)
                except Exception:  # an error in the callback does not end the reading
                    log.exception("a callback for clusters that were read ahead failed")

    def _next(self) -> "tuple[ref[ReadAhead], Neighbours] | None":
        """Return the next cluster of the question for which the least was read so far, and its neighbours, placed in
        memory; None if there is none.
        """
        with self.changed:
            while waiting := [question for question in self._questions if question.waiting]:
                question = min(waiting, key=lambda question: question.bytes_read)
                cluster = next(iter(question.waiting))
                if self.residents.get(cluster):
                    question.hold(cluster)
                elif resident := self._placed(cluster):
                    neighbours = self.residents.with_neighbours(resident, question.waiting, PIECE, self._placed)
                    for placed in neighbours.residents:
                        question.hold(placed.cluster)
                    if question.waiting:
                        self.wake()
                    return ref(question), neighbours  # weak, so that dropping the question ends the read
                else:
                    question.waiting.clear()
            self._running -= 1
            return None

    def _placed(self, cluster: int) -> Resident | None:
        if resident := self.residents.place(cluster, self._victims, self._is_spare):
            return resident
        self._victims = self.residents.coldest(never=self.held())
        return self.residents.place(cluster, self._victims, self._is_spare)

    def _is_spare(self, cluster: int) -> bool:
        return not any(cluster in question.held for question in self._questions)

    def _fill(self, neighbours: Neighbours) -> list[int]:
        """Read clusters until they are complete or no longer needed: a single one in pieces, several at once. Return
        the bytes read for each.
        """
        residents, done = neighbours.residents, 0
        is_single = len(residents) == 1
        failure: BaseException | None = None
        try:
            while done < neighbours.length:
                size = min(PIECE, neighbours.length - done) if is_single else neighbours.length
                if not self._may_go_on(residents, size):
                    return [done, *(0 for _ in residents[1:])]
                read, before = 0, time.thread_time()
                try:
                    parts = [residents[0].memory[done : done + PIECE]] if is_single else neighbours.parts
                    self._file.read(parts, neighbours.first + done, size)
                    read = size
                finally:
                    with self.changed:
                        self.throughput.end(read, time.monotonic())
                        self._pace.spend(read, time.thread_time() - before)
                done += size
        except BaseException as error:  # the waiting question gets the error
            failure = error.with_traceback(None)
        if failure and not is_single:  # a fault in one cluster is none in the others
            return [size for resident in residents for size in self._fill(Neighbours((resident,)))]
        if failure:
            with self.changed:
                self.residents.drop(residents[0])
            residents[0].loaded.set_exception(failure)
            return [done]
        neighbours.complete()
        for resident in residents:
            resident.loaded.set_result(None)
        return [residents[0].length, *(len(resident.bytes) for resident in residents[1:])]

    def _may_go_on(self, residents: Sequence[Resident], size: int) -> bool:
        """Wait until the next piece may be read. Return False, and drop the clusters, if no question needs any."""
        with self.changed:
            while not any(resident.is_demanded for resident in residents):
                if all(self._is_spare(resident.cluster) for resident in residents):
                    for resident in residents:
                        self.residents.drop(resident)
                    return False
                delay = None if self.demand_reads else self._delay(size)
                if delay == 0:
                    break
                self.changed.wait(delay)
            self.throughput.begin(time.monotonic())
            return True

    def _delay(self, size: int) -> float:
        return self._pace.take(size, time.monotonic(), is_processor_idle=self._idle.count() >= IDLE)


class ReadAhead:
    """The clusters read ahead and held in memory for one question. Thread-safe."""

    def __init__(self, reader: AheadReader, on_arrival: Callable[[int], None] | None = None) -> None:
        self.on_arrival = on_arrival
        self.waiting: dict[int, None] = {}  # in the order of reading
        self.held: set[int] = set()
        self.bytes_read = 0
        self._reader = reader
        self._brought: dict[int, int] = {}
        self._asked: set[int] = set()

    @property
    def is_idle(self) -> bool:
        """Whether every queued cluster has been read or dropped."""
        with self._reader.changed:
            return not self.waiting and all(map(self._reader.residents.is_ready, self.held))

    def fetch(self, clusters: Iterable[int]) -> None:
        """Replace the queue by the given clusters, to be read in this order; hold those that are in memory already."""
        reader = self._reader
        with reader.changed:
            reader.relieve()
            self.waiting.clear()
            self._asked.clear()
            for cluster in clusters:
                if reader.residents.get(cluster):
                    self.held.add(cluster)
                else:
                    self.waiting[cluster] = None
            if self.waiting:
                reader.wake()

    def settle(self, clusters: Collection[int]) -> Coverage:
        """Record that the question now needs the given clusters; drop all others that were read ahead for it."""
        reader = self._reader
        asked = set(clusters)
        with reader.changed:
            self._asked |= asked
            self.waiting.clear()
            self.held &= asked
            coverage = covered(reader.residents, asked, self._brought)
            reader.bytes_wasted += coverage.bytes_wasted
            self._brought.clear()
            self.bytes_read = 0
            reader.changed.notify_all()
        return coverage

    def hold(self, cluster: int) -> None:
        """Hold a queued cluster, which is in memory or being read. The caller holds the lock."""
        del self.waiting[cluster]
        self.held.add(cluster)

    def close(self) -> None:
        """Drop the queue, and release all held clusters."""
        self.settle(())

    def note(self, cluster: int, size: int) -> None:
        """Count that `size` bytes of a cluster were read ahead for this question. The caller holds the lock."""
        self.bytes_read += size
        if cluster not in self._asked:  # otherwise it arrived during the search, and was used
            self._brought[cluster] = size
