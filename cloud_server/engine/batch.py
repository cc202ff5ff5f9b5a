"""Many answers from one engine: continuous batching (Orca, section 3.1) with chunked prefill (Sarathi-Serve, 4.2).

An answer takes one sequence of the engine per row. A new answer joins between two decode steps, a cancelled answer
leaves at once, and an answer whose client has not allowed more tokens pauses. Prompts are prefilled in chunks, so that
no running answer waits for a whole prompt; owners take turns. Independent of devices, sockets and clocks.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from cloud_server.engine.answer import Answer
from cloud_server.engine.fairness import RoundRobin
from cloud_server.engine.jobs import Broken, Displaced, Done, Draft, EngineEvent, Job, Token
from cloud_server.engine.passes import check, compute, with_drafts
from cloud_server.engine.preemption import Allocation, Capacity, needs
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.engine.provisional import NOT_EMPTIED, ProvisionalPrefill
from cloud_server.engine.queue import work
from cloud_server.engine.throughput import EngineLoad
from cloud_server.monitoring.unforeseen import UNFORESEEN, log_unforeseen
from models.engine import Engine
from models.interruptible import interruptible
from models.speculative.drafting import Drafting
from shared.errors import EngineError, EngineLost

CHUNK = 64
"""Prompt tokens prefilled between two decode steps."""

_PIECES = 4
"""The number by which CHUNK is divided for prompts that nobody has asked for yet: they are prefilled in smaller pieces,
so that a new answer waits only briefly.
"""

log = logging.getLogger(__name__)


class Batch:
    """The answers that an engine is generating; for use by one thread. `step` decodes all answers once and prefills one
    chunk.

    `prefilled` and `joined` count the prompt tokens computed and those taken from the prefix cache, `drafted` and
    `accepted` the tokens drafted for answers and those of them that were drawn. `provisional` holds prompts that nobody
    has asked for yet, which are prefilled only while no answer needs the engine. An error in one answer ends only that
    answer and empties its sequences. Raises EngineLost if the engine cannot do that, or cannot compute a token
    afterwards.
    """

    def __init__(
        self, engine: Engine, prefixes: PrefixCache, chunk: int = CHUNK, drafting: Drafting | None = None
    ) -> None:
        self.prefilled = self.joined = self.drafted = self.accepted = 0
        self._engine = engine
        self._prefixes = prefixes
        self._chunk, self._drafting = chunk, drafting or Drafting()
        self.provisional = ProvisionalPrefill(engine, prefixes, max(chunk // _PIECES, 1))
        self._answers: dict[int, Answer] = {}
        self._prefilling: deque[Answer] = deque()
        self._turns = RoundRobin()  # between the owners of prompts to prefill
        self._spent: Counter[str] = Counter()
        self._free = list(range(engine.info.sequences))
        self._due: list[EngineEvent] = []  # events to return from the next step

    def __len__(self) -> int:
        """Return the number of answers being generated."""
        return len(self._answers)

    @property
    def idle(self) -> bool:
        """Whether a step would do nothing: every answer is paused, and nothing can be prefilled ahead."""
        return self.resting and not self.provisional.fits(self._free, self.room().cells)

    @property
    def resting(self) -> bool:
        """Whether no answer needs the engine."""
        return not (self._prefilling or self._due) and not any(answer.moving for answer in self._answers.values())

    def possible(self, job: Job) -> bool:
        """Return whether the answer would fit into the engine if no other answer were being generated."""
        whole = bool(job.rows) and all(any(row) for row in job.rows)
        return whole and job.longest <= self._engine.info.prompt_room and self.whole.takes(job)

    @property
    def is_unmeasured(self) -> bool:
        """Whether drafting is on, but the times of forward passes are not measured yet (`measure`)."""
        return self._drafting.is_unmeasured(self._engine.info)

    def measure(self, give_way: Callable[[], bool]) -> None:
        """Measure the time of passes, which decides how much is drafted. Call it while there are no answers.

        If the engine fails, nothing is drafted until the next start. Raises GaveWay once `give_way` returns true.
        """
        self.provisional.pause()
        try:
            self._drafting.measure(interruptible(self._engine, give_way, self.provisional.piece))
        except EngineError as error:
            log.warning("the cost of passes was not measured, so nothing is drafted", extra={"detail": str(error)})
            self._drafting.mode = "off"

    def close(self) -> None:
        """Free the model that drafts, if there is one, and store its measured acceptance for the next start."""
        self._drafting.close()

    @property
    def whole(self) -> Capacity:
        """The engine's whole capacity."""
        return Capacity(self._engine.info.sequences, self._engine.info.context)

    def room(self) -> Capacity:
        """Return the free capacity. A context cell that a running answer may need later is not free."""
        taken = sum(answer.job.cells for answer in self._answers.values())
        return Capacity(len(self._free), self._engine.info.context - taken)

    def held(self) -> list[Allocation]:
        """Return the capacity that each answer holds, oldest first, and whether the answer is paused now."""
        return [
            Allocation(answer.key, answer.owner, needs(answer.job), answer.paused) for answer in self._answers.values()
        ]

    def underway(self) -> EngineLoad:
        """Return the engine's current load, with which a new prompt would have to share the engine."""
        prompts: dict[str, float] = {}
        for answer in self._prefilling:
            prompts[answer.owner] = prompts.get(answer.owner, 0.0) + work(answer.unread, 0)
        return EngineLoad(prompts, sum(len(answer.sequences) for answer in self._answers.values() if answer.moving))

    def take_spent(self) -> Mapping[str, int]:
        """Return the tokens computed for each owner since the last call: of prompts, and of answers or their drafts."""
        spent, self._spent = self._spent, Counter()
        return spent

    def join(self, key: int, job: Job, allowed: int, owner: str = "") -> None:
        """Start an answer under the given key, up to the absolute token index `allowed`. The answer has to fit."""
        self.provisional.pause()
        sequences = [self._free.pop() for _ in job.rows]
        try:
            drafting = self._drafting if self._drafting.is_worth_it(self._engine.info) else None
            answer = Answer(self._engine, self._prefixes, key, job, sequences, allowed, owner, drafting)
        except Exception as error:
            self._free += sequences  # the engine has not used them
            self._due.append(_broken(key, error))
            return
        self._answers[key] = answer
        self._prefilling.append(answer)

    def allow(self, key: int, upto: int) -> None:
        """Allow the answer up to the absolute token index `upto`; a lower index than before changes nothing."""
        if answer := self._answers.get(key):
            answer.allowed = max(answer.allowed, upto)

    def correct(self, key: int, keep: int, tokens: Sequence[int]) -> None:
        """Keep the first `keep` tokens of a joint answer, append `tokens`, then draft the tokens that follow."""
        if answer := self._answers.get(key):
            with self._alone(answer, self._due):
                answer.correct(keep, tokens)

    def supply(self, key: int, position: int, count: int) -> None:
        """Queue a Supplied event with the `count` likeliest tokens at `position`, if they are still stored."""
        if answer := self._answers.get(key):
            with self._alone(answer, self._due):
                supplied = answer.supply(position, count)
                self._due += [supplied] if supplied else []

    def leave(self, key: int) -> int:
        """Remove an answer, if it is still running. Return how many tokens of its prompt were computed.

        Raises EngineLost.
        """
        answer = self._answers.pop(key, None)
        if answer is None:
            return 0
        if answer in self._prefilling:
            self._prefilling.remove(answer)
        try:
            answer.clear()
        except Exception as error:
            raise EngineLost(NOT_EMPTIED) from error
        self._free += answer.sequences
        return answer.prefilled

    def displace(self, key: int) -> Job | None:
        """Preempt an answer. Return a job that continues it later.

        A joint answer, part of whose state is on the device, ends with Displaced, and None is returned. Raises
        EngineLost.
        """
        answer = self._answers[key]
        rest = None if answer.job.rule else answer.rest_of_job
        self.leave(key)
        self._due += [] if rest else [Displaced(key)]
        return rest

    def step(self) -> list[EngineEvent]:
        """Prefill a chunk of a prompt, decode the tokens drawn last, and draw each answer's next tokens.

        Raises EngineLost.
        """
        if self.resting:
            owner, computed = self.provisional.step(self._free, self.room().cells)
            self.prefilled += computed
            if computed:
                self._spent[owner] += computed
            return []
        events, self._due = self._due, []
        if self._prefilling:
            owner = self._turns.next({waiting.owner for waiting in self._prefilling})
            answer = next(waiting for waiting in self._prefilling if waiting.owner == owner)
            with self._alone(answer, events):
                self._prefill(answer)
        else:
            self._turns = RoundRobin()  # no prompt waits: start the turns afresh
        events += self._read()
        for answer in tuple(self._answers.values()):
            with self._alone(answer, events):
                accepted = answer.accepted
                said = answer.draw()
                self.accepted += answer.accepted - accepted
                self._spent[answer.owner] += _drawn(answer, said)
                if said and isinstance(said[-1], Done):
                    self.leave(answer.key)
                events += said
        return events

    def _read(self) -> list[EngineEvent]:
        """Decode the next token of every answer that has one, all in one batch."""
        events: list[EngineEvent] = []
        tokens: dict[Answer, int] = {}
        for answer in tuple(self._answers.values()):
            with self._alone(answer, events):
                token = answer.next_token()
                tokens |= {} if token is None else {answer: token}
        if not tokens:
            return events
        drafted = {answer: [token] for answer, token in tokens.items()}
        try:
            drafted = with_drafts(self._engine, tokens, self._drafting.costs_if_used(self._engine))
            logits = compute(self._engine, drafted)
        except Exception as error:
            broken = self._decode_singly(tokens)
            if not broken:  # otherwise the error is logged with the answer that broke
                log_unforeseen(log, "a batch failed to decode, but each of its answers decoded alone", error)
            return events + broken
        self.drafted += sum(map(len, drafted.values())) - len(drafted)
        for answer in tokens:
            self._turns.charge(answer.owner, len(answer.sequences))
            with self._alone(answer, events):
                answer.read(logits)
        return events

    def _decode_singly(self, tokens: Mapping[Answer, int]) -> list[EngineEvent]:
        """Decode each answer's next token by itself, after a batch failed, so that one faulty answer does not stop the
        others.

        First rolls each answer's sequences back to their state before the failed batch.
        """
        events: list[EngineEvent] = []
        for answer in tokens:
            with self._alone(answer, events):
                answer.put_back()
        for answer, token in tokens.items():
            if answer.key in self._answers:
                with self._alone(answer, events):
                    answer.read(compute(self._engine, {answer: [token]}))
        return events

    def _prefill(self, answer: Answer) -> None:
        prefilled, joined = answer.prefilled, answer.joined
        whole = answer.prefill(self._chunk)
        computed = answer.prefilled - prefilled
        self.prefilled += computed
        self.joined += answer.joined - joined
        self._spent[answer.owner] += computed
        self._turns.charge(answer.owner, work(computed, 0))
        if whole:
            self._prefilling.remove(answer)

    @contextmanager
    def _alone(self, answer: Answer, events: list[EngineEvent]) -> Iterator[None]:
        """Limit an error in the block to one answer: end that answer and append a Broken event. Raises EngineLost."""
        try:
            yield
        except EngineLost:
            raise
        except Exception as error:
            events.append(_broken(answer.key, error))
            self.leave(answer.key)
            check(self._engine, answer)


def _drawn(answer: Answer, said: Sequence[EngineEvent]) -> int:
    """Return the number of tokens computed for the events: each draft counts once for each prompt of its answer."""
    return sum(
        len(answer.sequences) if isinstance(event, Draft) else 1 for event in said if isinstance(event, Token | Draft)
    )


def _broken(key: int, error: Exception) -> Broken:
    log_unforeseen(log, "an answer failed with an error", error, key=key)
    return Broken(key, str(error) if isinstance(error, EngineError) else UNFORESEEN)
