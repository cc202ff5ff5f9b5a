"""The thread that owns the engine: takes what the queue gives, steps the batch, tells how long the next will wait.

`ask`, `allow`, `correct`, `supply` and `cancel` may be called from any thread. Events are handed over once a step, all
that the step brought together, so that a token costs a share of one call.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from cloud_server.batching import Batch
from cloud_server.jobs import Broken, Done, Draft, Event, Job, Supplied, Token
from cloud_server.queueing import FairQueue, work

MEMORY, OVER_S = 0.1, 30.0
"""What the pace weighs that was measured so many seconds of work ago."""

REQUESTS = 20
"""Over about so many requests their size is averaged."""


@dataclass(frozen=True, slots=True)
class Promise:
    """How many requests are served before this one, and the wait that is expected of that, in seconds."""

    position: int
    wait_s: float


@dataclass(slots=True)
class Pace:
    """What was measured, the newest most: work done in a second by all answers together, and work and answer tokens of
    one request. Work is counted in answer tokens.
    """

    done: float = 50.0
    seconds: float = 1.0
    request: float = 100.0
    answer: float = 40.0

    def did(self, work: float, seconds: float) -> None:
        """Note a step."""
        keep = MEMORY ** min(seconds / OVER_S, 1.0)
        self.done = keep * self.done + work
        self.seconds = keep * self.seconds + seconds

    def served(self, prompt_tokens: int, answer_tokens: int, rows: int = 1) -> None:
        """Note a request that was served to its end."""
        self.request += (work(prompt_tokens, rows * answer_tokens) - self.request) / REQUESTS
        self.answer += (answer_tokens - self.answer) / REQUESTS

    def wait_s(self, ahead: float) -> float:
        """Until the work before is done and a sequence is free; they are all taken, and end at even intervals."""
        return (ahead + self.request) * self.seconds / max(self.done, 1e-6)


@dataclass(slots=True)
class Load:
    """What is written and waits now, and the tokens computed, joined and written so far."""

    writing: int = 0
    waiting: int = 0
    prefilled: int = 0
    joined: int = 0
    written: int = 0


@dataclass(slots=True)
class _Asked:
    job: Job
    allowed: int
    written: int = 0
    writing: bool = False
    orders: list[Callable[[], None]] = field(default_factory=list)  # not carried out yet


class Generation:
    """Answers for many devices. `deliver` is called on its thread, with the events of each step.

    `lost` is called there, too, with the error that ended the thread before `stop`: nothing is generated any more.
    """

    def __init__(
        self,
        batch: Batch,
        queue: FairQueue,
        deliver: Callable[[Sequence[Event]], None],
        lost: Callable[[BaseException], None],
    ) -> None:
        self.load, self.pace = Load(), Pace()
        self._batch, self._queue, self._deliver, self._lost = batch, queue, deliver, lost
        self._asked: dict[int, _Asked] = {}
        self._room = batch.room()
        self._changed: dict[int, int | None] = {}  # to what index an answer may go on; None: nobody waits for it
        self._wake = threading.Condition()
        self._stopping = False
        self._computing_since: float | None = None
        self._thread = threading.Thread(target=self._run, name="generation", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """End at the next step, whatever is being written."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether it serves."""
        return self._thread.is_alive()

    @property
    def computing_s(self) -> float:
        """For how many seconds the engine has been at one step; 0 while it rests."""
        since = self._computing_since
        return 0.0 if since is None else time.perf_counter() - since

    def possible(self, job: Job) -> bool:
        """Whether the engine has room for the answer at all."""
        return self._batch.possible(job)

    def ask(self, owner: str, key: int, job: Job, allowed: int) -> Promise | None:
        """Let a possible job wait for its turn; None where the queue is full, or it serves no more."""
        with self._wake:
            if self._stopping or self._queue.full(owner):
                return None
            decoded = len(job.rows) * min(self.pace.answer, job.max_tokens)
            place = self._queue.push(owner, key, work(job.prompt_tokens, decoded))
            self._asked[key] = _Asked(job, allowed)
            at_once = place.position == 0 and self._room.takes(job)
            self._wake.notify()
        return Promise(place.position, 0.0 if at_once else self.pace.wait_s(place.ahead))

    def allow(self, key: int, upto: int) -> None:
        """Let the answer go on up to the absolute index."""
        self._change(key, upto)

    def correct(self, key: int, keep: int, tokens: Sequence[int], upto: int) -> None:
        """Of an answer written together only the first `keep` tokens stand, and these behind; on up to an index."""
        with self._wake:
            if asked := self._asked.get(key):
                asked.orders.append(partial(self._batch.correct, key, keep, tuple(tokens)))
        self._change(key, upto)

    def supply(self, key: int, position: int, count: int) -> None:
        """Say more of what a draft of that answer was drawn from (Supplied), unless that is not kept any more."""
        with self._wake:
            if asked := self._asked.get(key):
                asked.orders.append(partial(self._batch.supply, key, position, count))
                self._changed.setdefault(key, asked.allowed)
                self._wake.notify()

    def cancel(self, key: int) -> None:
        """Nobody waits for the answer any more; events of it that are on their way still come."""
        self._change(key, None)

    def _change(self, key: int, upto: int | None) -> None:
        with self._wake:
            if key in self._asked:
                self._changed[key] = upto
                self._wake.notify()

    def _run(self) -> None:
        try:
            while self._may_step():
                begun, prefilled = time.perf_counter(), self._batch.prefilled
                self._computing_since = begun
                events = self._batch.step()
                self._computing_since = None
                prefilled, seconds = self._batch.prefilled - prefilled, time.perf_counter() - begun
                self._note(events, prefilled, seconds)
                if events:
                    self._deliver(events)
        except BaseException as error:
            self._lost(error)
        with self._wake:
            self._stopping = True
            left = list(self._asked)
        self._deliver([Broken(key, "The server has stopped generating.") for key in left])

    def _may_step(self) -> bool:
        """Wait until there is something to compute; False where it is to end."""
        with self._wake:
            while not (self._stopping or self._apply()):
                self._wake.wait()
            return not self._stopping

    def _apply(self) -> bool:
        """Carry out what was asked meanwhile; whether there is something to compute."""
        for key, upto in self._changed.items():
            if upto is None:
                asked = self._asked.pop(key)
                if not self._queue.remove(key):
                    prefilled = self._batch.leave(key)
                    if asked.job.rule:  # so each ends that is written together, its drafts being all its work
                        self.pace.served(prefilled, asked.written, len(asked.job.rows))
            else:
                self._asked[key].allowed = upto
                self._batch.allow(key, upto)
                self._carry_out(key)
        self._changed.clear()
        while (first := self._queue.first()) and self._batch.room().takes(self._asked[first.key].job):
            asked = self._asked[self._queue.pop().key]
            self._batch.join(first.key, asked.job, asked.allowed)
            asked.writing = True
            self._carry_out(first.key)
        self._room = self._batch.room()
        self.load.writing, self.load.waiting = len(self._batch), len(self._queue)
        return not self._batch.idle

    def _carry_out(self, key: int) -> None:
        asked = self._asked[key]
        if asked.writing:
            for order in asked.orders:
                order()
            asked.orders.clear()

    def _note(self, events: Sequence[Event], prefilled: int, seconds: float) -> None:
        self.load.prefilled += prefilled
        self.load.joined = self._batch.joined
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
