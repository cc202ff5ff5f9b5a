"""Many answers from one engine: continuous batching (Orca, section 3.1) with prefill in chunks (Sarathi-Serve, 4.2).

An answer takes a sequence of the engine for each of its rows. A new one joins between two decode steps, a cancelled one
leaves at once, and one whose reader is behind rests without being computed. Prompts are prefilled a chunk at a time, so
that no answer being written waits for a whole prompt. Knows no device, no socket and no clock.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from cloud_server.jobs import Broken, Done, Event, Job
from cloud_server.prefixes import Prefixes
from cloud_server.writing import Answer
from models.engine import Engine
from shared.errors import EngineError

CHUNK = 64
"""Tokens of a prompt computed between two decode steps."""


@dataclass(frozen=True, slots=True)
class Room:
    """What is free: sequences, and cells of the engine's context that nobody may come to take."""

    sequences: int
    cells: int

    def takes(self, job: Job) -> bool:
        """Whether the answer can join, and still reach its limit together with all the others."""
        return len(job.rows) <= self.sequences and job.cells <= self.cells


class Batch:
    """The answers an engine is writing. One thread. `step` is one decode of all of them, and a chunk of a prompt.

    `prefilled` and `joined` count the prompts' tokens so far that were computed, and that were kept from others.
    """

    def __init__(self, engine: Engine, prefixes: Prefixes, chunk: int = CHUNK) -> None:
        self.prefilled = self.joined = 0
        self._engine = engine
        self._prefixes = prefixes
        self._chunk = chunk
        self._answers: dict[int, Answer] = {}
        self._prefilling: deque[Answer] = deque()
        self._free = list(range(engine.info.sequences))
        self._due: list[Event] = []  # with the next step

    def __len__(self) -> int:
        """Answers being written."""
        return len(self._answers)

    @property
    def idle(self) -> bool:
        """Whether a step would do nothing: all rest until their readers allow more."""
        return not (self._prefilling or self._due) and not any(one.moving for one in self._answers.values())

    def possible(self, job: Job) -> bool:
        """Whether the engine has room for the answer when it has nothing else to do."""
        whole = bool(job.rows) and all(any(row) for row in job.rows)
        return whole and Room(self._engine.info.sequences, self._engine.info.context).takes(job)

    def room(self) -> Room:
        """What is free."""
        taken = sum(one.job.cells for one in self._answers.values())
        return Room(len(self._free), self._engine.info.context - taken)

    def join(self, key: int, job: Job, allowed: int) -> None:
        """Begin an answer under this key; it may be written up to the absolute index `allowed`. It has to fit."""
        sequences = [self._free.pop() for _ in job.rows]
        answer = self._answers[key] = Answer(self._engine, self._prefixes, key, job, sequences, allowed)
        self._prefilling.append(answer)

    def allow(self, key: int, upto: int) -> None:
        """Let the answer go on up to the absolute index; less than before changes nothing."""
        if answer := self._answers.get(key):
            answer.allowed = max(answer.allowed, upto)

    def correct(self, key: int, keep: int, tokens: Sequence[int]) -> None:
        """Of an answer written together only the first `keep` tokens stand; read these behind them, then draft on.

        What cannot be breaks this answer, and no other's step.
        """
        if answer := self._answers.get(key):
            try:
                answer.correct(keep, tokens)
            except EngineError as error:
                self._due.append(self._broken(answer, error))

    def supply(self, key: int, position: int, count: int) -> None:
        """Say the `count` likeliest tokens of what a draft was drawn from, unless that is not kept any more."""
        if answer := self._answers.get(key):
            try:
                supplied = answer.supply(position, count)
            except EngineError as error:
                self._due.append(self._broken(answer, error))
            else:
                self._due += [supplied] if supplied else []

    def leave(self, key: int) -> int:
        """End an answer that nobody waits for any more, if it is not over; how much of its prompt was computed."""
        answer = self._answers.pop(key, None)
        if answer is None:
            return 0
        if answer in self._prefilling:
            self._prefilling.remove(answer)
        answer.clear()
        self._free += answer.sequences
        return answer.prefilled

    def step(self) -> list[Event]:
        """Compute a chunk of the oldest prompt, read what was drawn last, and draw each answer's next token."""
        events, self._due = self._due, []
        if self._prefilling:
            events += self._prefill(self._prefilling[0])
        events += self._read()
        for answer in tuple(self._answers.values()):
            try:
                said = answer.draw()
            except EngineError as error:
                said = [self._broken(answer, error)]
            if said and isinstance(said[-1], Done):
                self.leave(answer.key)
            events += said
        return events

    def _read(self) -> list[Event]:
        """Decode the next token of every answer that has one, all in one batch."""
        events: list[Event] = []
        tokens: dict[Answer, int] = {}
        for answer in tuple(self._answers.values()):
            try:
                token = answer.next_token()
            except EngineError as error:
                events.append(self._broken(answer, error))
            else:
                tokens |= {} if token is None else {answer: token}
        if not tokens:
            return events
        try:
            logits = self._engine.decode({row: token for answer, token in tokens.items() for row in answer.sequences})
        except EngineError as error:
            return events + [self._broken(answer, error) for answer in tokens]
        for answer in tokens:
            answer.read(logits)
        return events

    def _prefill(self, answer: Answer) -> list[Event]:
        prefilled, joined = answer.prefilled, answer.joined
        try:
            whole = answer.prefill(self._chunk)
        except EngineError as error:
            return [self._broken(answer, error)]
        self.prefilled += answer.prefilled - prefilled
        self.joined += answer.joined - joined
        if whole:
            self._prefilling.popleft()
        return []

    def _broken(self, answer: Answer, error: EngineError) -> Broken:
        self.leave(answer.key)
        return Broken(answer.key, str(error))
