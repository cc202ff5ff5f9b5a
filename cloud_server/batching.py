"""Many answers from one engine: continuous batching (Orca, section 3.1) with prefill in chunks (Sarathi-Serve, 4.2).

One answer is one sequence of the engine. A new one joins between two decode steps, a cancelled one leaves at once, and
one whose reader is behind rests without being computed. Prompts are prefilled a chunk at a time, so that no answer
being written waits for a whole prompt. An answer that a device writes too drafts ahead, rests at its cap, and is rolled
back where it was wrong (DRAGON, section 4.1). Knows no device, no socket and no clock.
"""

import codecs
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from cloud_server.prefixes import Prefixes
from models.engine import Engine, Logits
from models.sampling import SamplingSettings, distribution, sample
from shared.aggregation import rules
from shared.ending import Ending, Piece
from shared.errors import ContextFull, EngineError

CHUNK = 64
"""Tokens of a prompt computed between two decode steps."""


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to write. `segments` are the prompt's tokens, cut where a part ends that other prompts may begin with.

    `accepted` is what is written of the answer already, elsewhere; `max_tokens` counts it. `together`: tokens are
    drafts, drawn by the coupled rule; what they become is said by `Batch.correct`, and only `leave` ends it.
    """

    segments: tuple[tuple[int, ...], ...]
    sampling: SamplingSettings
    max_tokens: int
    accepted: tuple[int, ...] = ()
    together: bool = False

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt."""
        return sum(map(len, self.segments))

    @property
    def cells(self) -> int:
        """Cells of the engine's context that it may come to take."""
        return self.prompt_tokens + max(self.max_tokens, len(self.accepted))


@dataclass(frozen=True, slots=True)
class Token:
    """The answer's token at this absolute index, and the text that became complete with it."""

    key: int
    index: int
    token: int
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft for this position of an answer that is written together, of the chain that begins at `epoch`."""

    key: int
    epoch: int
    position: int
    token: int


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is whole (`cut`: it reached its limit), after so many tokens computed and joined of its prompt.

    `rest` is what a character that never became complete is shown as.
    """

    key: int
    rest: str
    cut: bool
    prefilled: int
    joined: int


@dataclass(frozen=True, slots=True)
class Broken:
    """The engine could not go on with this answer; the others are as they were."""

    key: int
    why: str


Event = Token | Draft | Done | Broken


@dataclass(frozen=True, slots=True)
class Room:
    """What is free: sequences, and cells of the engine's context that nobody may come to take."""

    sequences: int
    cells: int

    def takes(self, job: Job) -> bool:
        """Whether the answer can join, and still reach its limit together with all the others."""
        return self.sequences > 0 and job.cells <= self.cells


@dataclass(slots=True)
class _Row:
    """An answer being written. `waiting` is what is left to prefill; `allowed` the index it may be written up to.

    `unread`, of an answer written together: settled tokens, the last of `drawn`, that are to be read before a draft.
    """

    key: int
    sequence: int
    job: Job
    waiting: list[int]
    joined: int
    allowed: int
    ending: Ending = field(default_factory=Ending)
    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"))
    drawn: list[int] = field(default_factory=list)
    logits: Logits | None = None
    prefilled: int = 0
    epoch: int = 0
    unread: deque[int] = field(default_factory=deque)


class Batch:
    """The answers an engine is writing. One thread. `step` is one decode of all of them, and a chunk of a prompt.

    `prefilled` counts the prompts' tokens computed so far.
    """

    def __init__(self, engine: Engine, prefixes: Prefixes, chunk: int = CHUNK) -> None:
        self.prefilled = 0
        self._engine = engine
        self._prefixes = prefixes
        self._chunk = chunk
        self._rows: dict[int, _Row] = {}
        self._prefilling: deque[_Row] = deque()
        self._free = list(range(engine.info.sequences))
        self._refused: set[int] = set()

    def __len__(self) -> int:
        """Answers being written."""
        return len(self._rows)

    @property
    def idle(self) -> bool:
        """Whether a step would do nothing: all rest until their readers allow more."""
        return not (self._prefilling or self._refused) and not any(self._moving(row) for row in self._rows.values())

    def possible(self, job: Job) -> bool:
        """Whether the engine has room for the answer when it has nothing else to do."""
        return job.prompt_tokens > 0 and job.cells <= self._engine.info.context

    def room(self) -> Room:
        """What is free."""
        taken = sum(row.job.cells for row in self._rows.values())
        return Room(len(self._free), self._engine.info.context - taken)

    def join(self, key: int, job: Job, allowed: int) -> None:
        """Begin an answer under this key; it may be written up to the absolute index `allowed`. It has to fit."""
        sequence = self._free.pop()
        joined = self._prefixes.join(self._engine, sequence, job.segments)
        tokens = [token for segment in job.segments for token in segment]
        row = _Row(key, sequence, job, [*tokens, *job.accepted][joined:], joined, allowed, epoch=len(job.accepted))
        for token in job.accepted:
            self._say(row, token)
        self._rows[key] = row
        self._prefilling.append(row)

    def allow(self, key: int, upto: int) -> None:
        """Let the answer go on up to the absolute index; less than before changes nothing."""
        if row := self._rows.get(key):
            row.allowed = max(row.allowed, upto)

    def correct(self, key: int, keep: int, tokens: Sequence[int]) -> None:
        """Of an answer written together only the first `keep` tokens stand; read these behind them, then draft on.

        Ids that are none break this answer, and no other's step.
        """
        row = self._rows.get(key)
        if row is None:
            return
        if keep > len(row.drawn) or not all(0 <= token < self._engine.info.vocabulary for token in tokens):
            self._refused.add(key)
            return
        row.drawn[keep:] = tokens
        row.epoch = len(row.drawn)
        if row.waiting:  # the whole prompt is not read yet, nor what was accepted
            read = len(row.job.accepted)
        else:
            held = self._engine.length(row.sequence) - row.job.prompt_tokens
            read = min(held, keep)
            self._engine.rollback(row.sequence, held - read)
        row.unread = deque(row.drawn[read:])

    def leave(self, key: int) -> None:
        """End an answer that nobody waits for any more."""
        if row := self._rows.pop(key, None):
            self._refused.discard(key)
            if row in self._prefilling:
                self._prefilling.remove(row)
            self._engine.clear(row.sequence)
            self._free.append(row.sequence)

    def step(self) -> list[Event]:
        """Compute a chunk of the oldest prompt and the next token of every answer that may go on."""
        refused = EngineError("A token came that is none.")
        events: list[Event] = [self._broken(self._rows[key], refused) for key in tuple(self._refused)]
        events += self._prefill() if self._prefilling else []
        drawn: dict[int, int] = {}
        moving = [row for row in self._rows.values() if self._moving(row)]
        for row in moving:
            events += self._draft(row, drawn) if row.job.together else self._draw(row, drawn)
        if drawn:
            rows = {row.sequence: row for row in moving if row.sequence in drawn}
            try:
                logits = self._engine.decode(drawn)
            except EngineError as error:
                return events + [self._broken(row, error) for row in rows.values()]
            for sequence, row in rows.items():
                row.logits = logits[sequence]
        return events

    def _moving(self, row: _Row) -> bool:
        if row.unread:
            return not row.waiting
        return row.logits is not None and len(row.drawn) < row.allowed

    def _draft(self, row: _Row, drawn: dict[int, int]) -> list[Event]:
        """The row's next settled token, or else its next draft, put among those to decode unless none can follow."""
        if row.unread:
            drawn[row.sequence] = row.unread.popleft()
            return []
        assert row.logits is not None
        sampling, position = row.job.sampling, len(row.drawn)
        left = distribution(row.logits, sampling, row.drawn)
        token = rules.draft("coupled", "server", sampling.seed, position, left.tokens, left.probabilities)
        row.drawn.append(token)
        if self._engine.is_end(token) or position + 1 == row.job.max_tokens:
            row.logits = None
        else:
            drawn[row.sequence] = token
        return [Draft(row.key, row.epoch, position, token)]

    def _prefill(self) -> list[Event]:
        row = self._prefilling[0]
        part, row.waiting = row.waiting[: self._chunk], row.waiting[self._chunk :]
        try:
            logits = self._engine.prefill(row.sequence, part)
        except (ContextFull, EngineError) as error:
            return [self._broken(row, error)]
        row.prefilled += len(part)
        self.prefilled += len(part)
        if not row.waiting:
            self._prefilling.popleft()
            self._prefixes.keep(self._engine, row.sequence, row.job.segments)
            row.logits = logits
        return []

    def _draw(self, row: _Row, drawn: dict[int, int]) -> list[Event]:
        """The row's next token, put among those to decode unless the answer ends with it."""
        assert row.logits is not None
        token = sample(row.logits, row.job.sampling, row.drawn)
        full = len(row.drawn) >= row.job.max_tokens
        if full or self._engine.is_end(token):
            return [self._done(row, cut=full)]
        index = len(row.drawn)
        text = self._say(row, token)
        if row.ending.over:
            return [self._done(row, cut=False)]
        events: list[Event] = [Token(row.key, index, token, text)]
        if index + 1 == row.job.max_tokens:
            return [*events, self._done(row, cut=True)]
        drawn[row.sequence] = token
        return events

    def _say(self, row: _Row, token: int) -> str:
        row.drawn.append(token)
        text = row.decoder.decode(self._engine.detokenize([token]))
        row.ending.feed(Piece(token, text))
        return text

    def _done(self, row: _Row, *, cut: bool) -> Done:
        self.leave(row.key)
        return Done(row.key, row.decoder.decode(b"", final=True), cut, row.prefilled, row.joined)

    def _broken(self, row: _Row, error: EngineError) -> Broken:
        self.leave(row.key)
        return Broken(row.key, str(error))
