"""The thread that owns the engine: takes jobs from the queue, steps the batch and estimates waiting times.

`ask`, `allow`, `correct`, `supply` and `cancel` may be called from any thread. All events of a step are delivered in
one call, to share the cost of the call.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from cloud_server.engine.asked import AskedJob
from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Broken, Done, Draft, EngineEvent, Job, Segments, Supplied, Token
from cloud_server.engine.preemption import Allocation, displaced, needs
from cloud_server.engine.queue import FairQueue, work
from cloud_server.engine.throughput import EngineLoad, ExpectedWait, Throughput
from cloud_server.monitoring.load import Load
from shared.errors import GaveWay

RESTS_S, JOINT_RESTS_S = 2.0, 30.0
"""Seconds that a paused answer keeps its place while others wait for it. A joint answer keeps its place longer, because
it cannot be resumed elsewhere.
"""

MEASURES_AFTER_S = 5.0
"""Seconds without a question after which the times of forward passes are measured, once for each model and machine."""


class Generation:
    """Generates answers for many devices on its own thread. Each step's events and tokens computed per owner go to
    `deliver`.

    The thread calls `lost` with the error if it ends before `stop`: nothing is generated any more.
    """

    def __init__(
        self,
        batch: Batch,
        queue: FairQueue,
        deliver: Callable[[Sequence[EngineEvent], Mapping[str, int]], None],
        lost: Callable[[BaseException], None],
    ) -> None:
        self.load, self.pace = Load(), Throughput()
        self._batch, self._queue, self._deliver, self._lost = batch, queue, deliver, lost
        self._asked: dict[int, AskedJob] = {}
        self._room, self._held, self._underway = batch.room(), list[Allocation](), EngineLoad()
        self._changed: dict[int, int | None] = {}  # by key: the new allowed index; None for a cancelled answer
        self._orders: list[Callable[[], None]] = []  # calls about prompts that nobody has asked for yet
        self._wake = threading.Condition()
        self._stopping, self._resting = False, True
        self._computing_since: float | None = None
        self._thread = threading.Thread(target=self._run, name="generation", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the current step, even with answers running."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def computing_s(self) -> float:
        """Seconds since the current engine step began; 0 between steps."""
        since = self._computing_since
        return 0.0 if since is None else time.perf_counter() - since

    def possible(self, job: Job) -> bool:
        """Return whether the job would fit into the engine if nothing else ran."""
        return self._batch.possible(job)

    def ask(self, owner: str, key: int, job: Job, allowed: int) -> ExpectedWait | None:
        """Queue a job, which has to be `possible`, under a new key, with tokens allowed up to index `allowed`. Return
        its expected wait; None if the owner may queue no more, or generation has stopped.
        """
        with self._wake:
            if self._stopping or self._queue.full(owner):
                return None
            place = self._queue.push(owner, key, self._work(job))
            self._asked[key] = AskedJob(owner, job, allowed)
            at_once = place.position == 0 and self._to_displace(owner, job) is not None
            self._wake.notify()
            before = self._underway.before(owner, work(job.read_tokens, 0))
        return ExpectedWait(place.position, self.pace.takes_s(before) if at_once else self.pace.wait_s(place.ahead))

    def allow(self, key: int, upto: int) -> None:
        """Allow the answer up to the absolute token index `upto`."""
        self._change(key, upto)

    def correct(self, key: int, keep: int, tokens: Sequence[int], upto: int) -> None:
        """Keep the first `keep` tokens of a joint answer, append `tokens`, and allow the answer up to index `upto`."""
        with self._wake:
            if asked := self._asked.get(key):
                asked.orders.append(partial(self._batch.correct, key, keep, tuple(tokens)))
        self._change(key, upto)

    def supply(self, key: int, position: int, count: int) -> None:
        """Request a Supplied event with the `count` likeliest tokens at `position`, if they are still stored."""
        with self._wake:
            if asked := self._asked.get(key):
                asked.orders.append(partial(self._batch.supply, key, position, count))
                self._changed.setdefault(key, asked.allowed)
                self._wake.notify()

    def cancel(self, key: int) -> None:
        """Cancel the answer. Events already on their way are still delivered."""
        self._change(key, None)

    @property
    def prefills_ahead(self) -> bool:
        """Whether `prefill` would do anything now: KV states are cached, and no answer needs the engine."""
        return self._batch.provisional.enabled and self._resting

    def prefill(self, owner: str, key: int, rows: Sequence[Segments]) -> None:
        """Prefill prompts that will probably be requested, without their last segments, while no answer needs the
        engine.

        Call `settle` once the final prompt is known, and `release` when the request is over.
        """
        self._order(partial(self._batch.provisional.begin, key, owner, rows))

    def settle(self, key: int) -> None:
        """Stop prefilling the prompts queued under a key."""
        self._order(partial(self._batch.provisional.end, key))

    def release(self, key: int) -> None:
        """Drop the KV states that were prefilled for the prompts under a key and that no answer has used."""
        self._order(partial(self._batch.provisional.release, key))

    def _order(self, order: Callable[[], None]) -> None:
        with self._wake:
            if not self._stopping:
                self._orders.append(order)
                self._wake.notify()

    def _change(self, key: int, upto: int | None) -> None:
        with self._wake:
            if key in self._asked:
                self._changed[key] = upto
                self._wake.notify()

    def _run(self) -> None:
        try:
            while self._may_step():
                started, prefilled = time.perf_counter(), self._batch.prefilled
                self._computing_since = started
                events = self._batch.step()
                self._computing_since = None
                prefilled, seconds = self._batch.prefilled - prefilled, time.perf_counter() - started
                self._note(events, prefilled, seconds)
                spent = self._batch.take_spent()
                if events or spent:
                    self._deliver(events, spent)
        except BaseException as error:
            self._lost(error)
        with self._wake:
            self._stopping = True
            left = list(self._asked)
        self._deliver([Broken(key, "The server has stopped generating.") for key in left], {})
        self._batch.close()

    def _may_step(self) -> bool:
        """Wait for something to compute; while idle, measure the engine once. Return False if the thread is to end."""
        while True:
            with self._wake:
                while not (self._stopping or self._apply()):
                    # Only after a while: in every short pause, a question would wait for what is being measured.
                    is_quiet = not self._wake.wait(self._waits_s) and self._may_measure
                    if is_quiet:
                        break
                else:
                    return not self._stopping
            with suppress(GaveWay):
                self._batch.measure(lambda: not self._may_measure)

    @property
    def _waits_s(self) -> float | None:
        if len(self._queue):
            return RESTS_S
        return MEASURES_AFTER_S if self._may_measure else None

    @property
    def _may_measure(self) -> bool:
        return not (self._asked or self._orders or self._stopping) and self._batch.is_unmeasured

    def _apply(self) -> bool:
        """Apply the queued requests of other threads and start queued jobs. Return whether there is something to
        compute.
        """
        while self._orders:
            self._orders.pop(0)()
        for key, upto in self._changed.items():
            if upto is None:
                asked = self._asked.pop(key)
                if not self._queue.remove(key):
                    prefilled = self._batch.leave(key)
                    if asked.job.rule:  # a joint answer always ends by cancellation, and its drafts count as served
                        self.pace.served(prefilled, asked.written, len(asked.job.rows))
            else:
                self._allow(key, upto)
        self._changed.clear()
        self._look()
        while first := self._queue.pop(lambda owner, key: self._to_displace(owner, self._asked[key].job) is not None):
            self._join(first.key)
            self._look()
        self._underway = self._batch.underway()
        self.load.writing, self.load.waiting = len(self._batch), len(self._queue)
        self.load.provisional, self.load.dropped = self._batch.provisional.computed, self._batch.provisional.dropped
        self._resting = self._batch.resting
        return not self._batch.idle

    def _allow(self, key: int, upto: int) -> None:
        asked = self._asked[key]
        asked.allowed = max(asked.allowed, upto)
        self._batch.allow(key, upto)
        self._carry_out(key)
        if asked.parked and asked.allowed > len(asked.job.accepted):
            asked.parked = False
            self._queue.push(asked.owner, key, self._work(asked.job))

    def _join(self, key: int) -> None:
        """Start a queued job, displacing other answers if necessary."""
        asked = self._asked[key]
        for victim in self._to_displace(asked.owner, asked.job) or ():
            self._displace(victim)
        self._batch.join(key, asked.job, asked.allowed, asked.owner)
        asked.writing = True
        self._carry_out(key)

    def _displace(self, key: int) -> None:
        """Take an answer out of the batch: end a joint one, queue others again now or once their clients allow more."""
        asked, rest = self._asked[key], self._batch.displace(key)
        if rest is None:
            return
        asked.job, asked.writing, asked.paused_since = rest, False, None
        asked.parked = asked.allowed <= len(rest.accepted)
        if not asked.parked:
            self._queue.put_back(asked.owner, key, self._work(rest))

    def _to_displace(self, owner: str, job: Job) -> list[int] | None:
        """Return the keys of the answers to displace so that the job can start now; None if the job has to wait."""
        return displaced(needs(job), owner, self._room, self._batch.whole, self._held)

    def _look(self) -> None:
        """Update the free capacity, and the record of answers that have been paused for too long."""
        self._room, now = self._batch.room(), time.perf_counter()
        self._held = [
            replace(allocation, paused=self._paused_too_long(allocation, now)) for allocation in self._batch.held()
        ]

    def _paused_too_long(self, held: Allocation, now: float) -> bool:
        asked = self._asked[held.key]
        asked.paused_since = (asked.paused_since or now) if held.paused else None
        return asked.paused_since is not None and now - asked.paused_since >= (
            JOINT_RESTS_S if asked.job.rule else RESTS_S
        )

    def _work(self, job: Job) -> float:
        left = min(self.pace.answer, job.max_tokens - len(job.accepted))
        return work(job.read_tokens, len(job.rows) * left)

    def _carry_out(self, key: int) -> None:
        asked = self._asked[key]
        if asked.writing:
            for order in asked.orders:
                order()
            asked.orders.clear()

    def _note(self, events: Sequence[EngineEvent], prefilled: int, seconds: float) -> None:
        self.load.prefilled += prefilled
        self.load.joined = self._batch.joined
        self.load.drafted, self.load.accepted = self._batch.drafted, self._batch.accepted
        decoded = 0
        with self._wake:
            for event in events:
                asked = self._asked.get(event.key)
                if isinstance(event, Token | Draft):
                    self.load.written += 1
                    if asked:
                        asked.written += 1
                        decoded += len(asked.job.rows)
                if isinstance(event, Token | Draft | Supplied):
                    continue
                if isinstance(event, Done) and asked:
                    self.pace.served(event.prefilled, asked.written, len(asked.job.rows))
                self._asked.pop(event.key, None)
                self._changed.pop(event.key, None)
        self.pace.did(work(prefilled, decoded), seconds)
