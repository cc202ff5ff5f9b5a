"""Reads ahead of questions (TeleRAG, section 4.1): clusters that a question will probably ask for come into memory.

They give way: to reads that a question waits for, in pieces; to what is pinned, or brought for another question, which
they never evict; and to a rate, so that the processor is left to the model. What fails here is read again when asked.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Condition
from typing import Final
from weakref import WeakSet, ref

from storage.list_file import PAGE, ListFile
from storage.pacing import Throughput, TokenBucket
from storage.pressure import LOOK_S, available, limit
from storage.residents import Resident, Residents

log = logging.getLogger(__name__)

RATE: Final = 500e6
"""Bytes a second: at 500 MB/s a model on the same processor kept .97 of its speed, at full speed .70."""

READERS: Final = 2
PIECE: Final = 128 * PAGE
"""Bytes between which a read gives way."""

READ_COST: Final = 256_000
"""Bytes that a read counts for beside its own: so much of the processor's time goes into each, however small."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of what a question needs was in memory when it asked: clusters, and their bytes.

    `bytes_ahead` were read for it before, of which it does not need `bytes_wasted`.
    """

    clusters: int
    ready: int
    bytes: int
    bytes_ready: int
    bytes_ahead: int
    bytes_wasted: int


class AheadReader:
    """Reads for all questions of a cache, whose lock `changed` has. Safe for several threads."""

    def __init__(
        self, changed: Condition, residents: Residents, file: ListFile, throughput: Throughput, rate: float = RATE
    ) -> None:
        self.bytes_read = self.bytes_wasted = 0
        self.demand_reads = 0
        self.throughput = throughput
        self.changed, self.residents = changed, residents
        self._file = file
        self._bucket = TokenBucket(rate, READERS * (PIECE + READ_COST))
        self._questions: WeakSet[ReadAhead] = WeakSet()  # whoever forgets to close one holds nothing for ever
        self._victims: deque[int] = deque()
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="clusters-ahead")
        self._running = 0
        self._looked = float("-inf")

    @property
    def rate(self) -> float:
        """Bytes a second that reads ahead may be expected to bring."""
        seen = self.throughput.rate
        return self._bucket.rate if seen is None else min(self._bucket.rate, seen)

    def begin(self, on_arrival: Callable[[int], None] | None = None) -> "ReadAhead":
        """For another question; `on_arrival` gets each cluster that was read for it."""
        question = ReadAhead(self, on_arrival)
        with self.changed:
            self._questions.add(question)
        return question

    def share(self, question: "ReadAhead") -> int:
        """Bytes of memory for a question, beside the others that hold clusters or wait for them: as much for each."""
        with self.changed:
            others = sum(bool(other.held or other.waiting) for other in self._questions if other is not question)
            return self.residents.arena.size // (others + 1)

    def relieve(self) -> None:
        """Give memory back where the machine runs short, and take it again afterwards. With the lock.

        What was read ahead goes first, and what still waits to be is not read.
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
        """Clusters that are held for questions. With the lock."""
        return set().union(*(question.held for question in self._questions))

    def wake(self) -> None:
        """See that what waits is read. With the lock."""
        if self._running < READERS:
            try:
                self._threads.submit(self._work)
            except RuntimeError:  # no thread more, or the process ends: nothing is read ahead
                return
            self._running += 1

    def _work(self) -> None:
        while job := self._next():
            asked, resident = job
            size = self._fill(resident)
            with self.changed:
                self.bytes_read += size
                question = asked()
                if question and resident.cluster in question.held and not resident.is_demanded:
                    question.note(resident.cluster, min(size, len(resident.bytes)))
                elif not resident.is_demanded:
                    self.bytes_wasted += size
                on_arrival = question.on_arrival if question and resident.is_ready else None
                del question
            if on_arrival:
                try:
                    on_arrival(resident.cluster)
                except Exception:  # whoever waits for arrivals fails alone: reads go on
                    log.exception("what waits for clusters that were read ahead failed")

    def _next(self) -> "tuple[ref[ReadAhead], Resident] | None":
        """The nearest cluster that waits, of the question for which least was read, with its room in memory."""
        with self.changed:
            while waiting := [question for question in self._questions if question.waiting]:
                question = min(waiting, key=lambda question: question.bytes_read)
                cluster = question.waiting.popleft()
                question.held.add(cluster)
                if self.residents.get(cluster):
                    continue
                if resident := self._placed(cluster):
                    if question.waiting:
                        self.wake()
                    return ref(question), resident  # while it is read, whoever drops the question ends it
                question.held.discard(cluster)
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

    def _fill(self, resident: Resident) -> int:
        """Read a cluster a piece at a time; how many bytes were read until it was whole, or of no use any more."""
        done = 0
        try:
            while done < resident.length:
                size = min(PIECE, resident.length - done)
                if not self._may_go_on(resident, size):
                    return done
                read = 0
                try:
                    self._file.read(resident.memory[done : done + PIECE], resident.first + done, size)
                    read = size
                finally:
                    with self.changed:
                        self.throughput.end(read, time.monotonic())
                done += size
        except BaseException as error:  # whoever waits for it gets it
            with self.changed:
                self.residents.drop(resident)
            resident.loaded.set_exception(error.with_traceback(None))
            return done
        resident.loaded.set_result(None)
        return done

    def _may_go_on(self, resident: Resident, size: int) -> bool:
        """Wait until the next piece may be read; False, and the cluster is dropped, where nobody wants it any more."""
        with self.changed:
            while not resident.is_demanded:
                if self._is_spare(resident.cluster):
                    self.residents.drop(resident)
                    return False
                delay = None if self.demand_reads else self._bucket.take(size + READ_COST, time.monotonic())
                if delay == 0:
                    break
                self.changed.wait(delay)
            self.throughput.begin(time.monotonic())
            return True


class ReadAhead:
    """What is read ahead for one question, and held in memory for it. Safe for several threads."""

    def __init__(self, reader: AheadReader, on_arrival: Callable[[int], None] | None = None) -> None:
        self.on_arrival = on_arrival
        self.waiting: deque[int] = deque()
        self.held: set[int] = set()
        self.bytes_read = 0
        self._reader = reader
        self._brought: dict[int, int] = {}
        self._asked: set[int] = set()

    @property
    def is_idle(self) -> bool:
        """Whether all that it was to fetch is in memory, or will not come."""
        with self._reader.changed:
            return not self.waiting and all(map(self._reader.residents.is_ready, self.held))

    def fetch(self, clusters: Iterable[int]) -> None:
        """Read these, in this order, as soon as there is time, in place of what waits; hold those that are there."""
        reader = self._reader
        with reader.changed:
            reader.relieve()
            self.waiting.clear()
            self._asked.clear()
            for cluster in clusters:
                if reader.residents.get(cluster):
                    self.held.add(cluster)
                else:
                    self.waiting.append(cluster)
            if self.waiting:
                reader.wake()

    def settle(self, clusters: Collection[int]) -> Coverage:
        """The question asks for these now: what is read ahead for it beside them is dropped."""
        reader = self._reader
        asked = set(clusters)
        with reader.changed:
            self._asked |= asked
            residents = reader.residents
            self.waiting.clear()
            self.held &= asked
            ready = [cluster for cluster in asked if residents.is_ready(cluster)]
            wasted = sum(size for cluster, size in self._brought.items() if cluster not in asked)
            coverage = Coverage(
                len(asked),
                len(ready),
                sum(residents.extent(cluster)[1] for cluster in asked),
                sum(residents.extent(cluster)[1] for cluster in ready),
                sum(self._brought.values()),
                wasted,
            )
            reader.bytes_wasted += wasted
            self._brought.clear()
            self.bytes_read = 0
            reader.changed.notify_all()
        return coverage

    def close(self) -> None:
        """Nothing more is read or held for it."""
        self.settle(())

    def note(self, cluster: int, size: int) -> None:
        """So many bytes of a cluster were read for it, which no question waited for. With the lock."""
        self.bytes_read += size
        if cluster not in self._asked:  # else it came while the question was searched, and was of use
            self._brought[cluster] = size
