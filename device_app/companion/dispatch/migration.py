"""Moving a live answer from one side to the other without a seam (DiSCo §4.3, figure 4): events in, commands out.

Knows no clock, socket or engine: `Migration.receive` is told what happened and says what is to be done. Tokens have
absolute indexes from 0 and the epoch of the stream that they came on; an epoch is one start of one side.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from device_app.companion.dispatch.cost import Costs, Side
from device_app.companion.dispatch.token_buffer import TokenBuffer, needed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Terms:
    """What is known of the sides while one answer is written.

    `ready_s(side, length)`: by when that side has its first token, almost surely (round trip + p95), when so many
    tokens are to be prefilled. `held`: tokens of the prompt that a side has prefilled and paid for already; a loser's
    prefill is worth going on with where `plan` would move the answer there. `remaining(written)`: tokens still to come.
    Rates are tokens a second. `resume_s`: what a source that was paused takes to write again. `allowed` are the sides
    that may take this answer over; one from private passages is none of these, it never moves. `guarded` keeps the
    reader's buffer for as long as the server writes, against its failure.
    """

    costs: Costs
    prompt: int
    rates: dict[Side, float]
    reading_rate: float
    ready_s: Callable[[Side, int], float]
    remaining: Callable[[int], float]
    allowed: frozenset[Side] = frozenset({"device", "server"})
    held: Mapping[Side, int] = field(default_factory=dict)
    margin: float = 0.0
    resume_s: float = 0.2
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A hand-over that pays: to whom, tokens the buffer needs, seconds it must last, money saved, why."""

    target: Side
    buffer: int
    handover_s: float
    saving: float
    reason: str


def plan(terms: Terms, source: Side, written: int, waiting: int = 0) -> Plan | str:
    """Whether to move an answer of `written` tokens, `waiting` of them in the buffer; in words why not.

    Equation 4, corrected: (c_src - c_tgt)·E[remaining] > c_tgt^prefill·(prompt + written) + c_src·insurance + margin.
    What is written while the buffer still fills stays with the source. The insurance is not r_src·t_m tokens, since the
    source pauses until the target may be late: it is what the reader takes while the source resumes, B at most.
    """
    target = other(source)
    if target not in terms.allowed:
        return f"the {target} may not go on with an answer"
    for side in (source, target):
        if terms.rates[side] <= terms.reading_rate:
            return f"the {side} writes no faster than it is read"
    again = terms.prompt - terms.held.get(target, 0) + written
    ready = terms.ready_s(target, again)
    buffer = needed(terms.reading_rate, ready)
    filling = max(buffer - waiting, 0) / (1 - terms.reading_rate / terms.rates[source])
    per_token = terms.costs.decode(source) - terms.costs.decode(target)
    gained = per_token * max(terms.remaining(written) - filling, 0.0)
    read = terms.costs.prompt(target) * (again + filling)
    insured = terms.costs.decode(source) * min(needed(terms.reading_rate, terms.resume_s), buffer)
    saving = gained - read - insured
    if saving <= terms.margin:
        return f"moving it to the {target} would cost more than it saves"
    saved = f"{saving:.2g} of your money saved"
    reason = f"the {target} writes the rest for less: {saved}, {buffer} tokens hide its {ready:.2f} s"
    return Plan(target, buffer, ready, saving, reason)


@dataclass(frozen=True, slots=True)
class Token(Generic[T]):
    """A side wrote its token of this absolute index."""

    side: Side
    epoch: int
    index: int
    token: T


@dataclass(frozen=True, slots=True)
class Ended:
    """A side says that the answer ends here."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A side's stream broke: an error, a lost connection, a timeout."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A side may have failed: its connection is gone, and may come back."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time went on; the reader was given what was due."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Start this side on the prompt and the first `accepted` tokens; it writes from that index on, as this epoch."""

    side: Side
    epoch: int
    accepted: int
    reason: str


@dataclass(frozen=True, slots=True)
class Allow:
    """This side may write tokens below the absolute index `upto`; None lifts the limit."""

    side: Side
    epoch: int
    upto: int | None


@dataclass(frozen=True, slots=True)
class Stop:
    """This side's stream is not needed any more."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The answer is whole."""

    side: Side


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No side is left that could go on; what is in the buffer stands, incomplete."""


Event = Token[T] | Ended | Failed | Doubtful | Tick
Command = Begin | Allow | Stop | Finish | GiveUp


class Phase(Enum):
    """Where an answer is."""

    WRITING = "one side writes"
    HANDING_OVER = "frozen at an index: the target starts, the source is paused and then writes on as insurance"
    OVER = "whole, or given up"


class Migration(Generic[T]):
    """One answer, from the winner's first token on. Tokens accepted are in `buffer`, in order.

    `side` won with `epoch`. Only the committed owner's tokens are accepted; all from an older or abandoned epoch is
    dropped. A side that failed is not started again.
    """

    def __init__(self, terms: Terms, side: Side, epoch: int = 0) -> None:
        """The reader's pace is kept from the beginning where a hand-over will pay."""
        self.terms = terms
        self.buffer: TokenBuffer[T] = TokenBuffer(terms.reading_rate)
        self.phase = Phase.WRITING
        self.side, self.epoch = side, epoch
        self.moves: list[tuple[int, Side]] = []
        self.reason = ""
        self._target_epoch = self._last_epoch = epoch
        self._insurance: list[T] = []
        self._insured = 0
        self._tried = False
        self._failed: set[Side] = set()
        self._plan()

    @property
    def failed(self) -> frozenset[Side]:
        """The sides that are not started again."""
        return frozenset(self._failed)

    def receive(self, event: Event[T]) -> list[Command]:
        """What is to be done about it. Take `buffer.due(now)` first: what the reader has is no longer in the buffer."""
        if self.phase is Phase.OVER:
            return []
        if isinstance(event, Tick):
            commands: list[Command] = []
        elif (event.side, event.epoch) == (self.side, self.epoch) and event.side not in self._failed:
            commands = self._from_owner(event)
        elif self.phase is Phase.HANDING_OVER and event.epoch == self._target_epoch and event.side != self.side:
            commands = self._from_target(event)
        else:
            return []
        return commands + self._moved_on()

    def _from_owner(self, event: Token[T] | Ended | Failed | Doubtful) -> list[Command]:
        handing = self.phase is Phase.HANDING_OVER
        if isinstance(event, Doubtful):
            return [] if handing else self._doubted()
        if isinstance(event, Ended):
            stop: list[Command] = [Stop(other(self.side), self._target_epoch)] if handing else []
            self._take_back()
            return stop + self._finished()
        if isinstance(event, Token):
            expected = self.buffer.count + len(self._insurance)
            if event.index == expected:
                self._insurance.append(event.token)
                if not handing:
                    self._take_back()
            if event.index <= expected:
                return []
        stop = [Stop(self.side, self.epoch)] if isinstance(event, Token) else []  # it left tokens out
        self._failed.add(self.side)
        return stop if handing else stop + self._rescued()  # else the target is on its way

    def _from_target(self, event: Token[T] | Ended | Failed | Doubtful) -> list[Command]:
        target = other(self.side)
        if isinstance(event, Doubtful):
            return []
        if isinstance(event, Failed) or (isinstance(event, Token) and event.index > self.buffer.count):
            self._failed.add(target)
            self._take_back()
            stop: list[Command] = [] if isinstance(event, Failed) else [Stop(target, self._target_epoch)]
            return stop + (self._rescued() if self.side in self._failed else [Allow(self.side, self.epoch, None)])
        if isinstance(event, Token) and event.index < self.buffer.count:
            return []
        if isinstance(event, Ended) and target == "server" and self.side not in self._failed:
            # Whether the answer ends here, the device says itself as soon as it goes on.
            self._failed.add(target)
            self._take_back()
            return [Allow(self.side, self.epoch, None)]
        commands: list[Command] = [] if self.side in self._failed else [Stop(self.side, self.epoch)]
        self._insurance.clear()
        self.phase = Phase.WRITING
        self.side, self.epoch = target, self._target_epoch
        self.moves.append((self.buffer.count, target))
        if isinstance(event, Ended):
            return commands + self._finished()
        self.buffer.put(event.index, event.token)
        return commands

    def _moved_on(self) -> list[Command]:
        """Begin a hand-over once the buffer can hide it; end one that came too late for the reader."""
        if self.phase is Phase.HANDING_OVER:
            if self.side in self._failed:
                return []
            if self._insurance and not self.buffer.waiting:
                self._take_back()
                return [Stop(other(self.side), self._target_epoch), Allow(self.side, self.epoch, None)]
            return self._insure()
        if self.phase is Phase.OVER:
            return []
        planned = self._plan()
        if planned is None or self.buffer.waiting < planned.buffer:
            return []
        self._tried = True
        self.phase = Phase.HANDING_OVER
        self._insured = planned.buffer
        pause = Allow(self.side, self.epoch, self.buffer.count)
        return [pause, self._begin(planned.target, planned.reason), *self._insure()]

    def _insure(self) -> list[Command]:
        """Let the source write on, B tokens at most, just in time for the reader not to wait for the target."""
        if not self._insured or self.buffer.waiting > needed(self.terms.reading_rate, self.terms.resume_s):
            return []
        upto, self._insured = self.buffer.count + self._insured, 0
        return [Allow(self.side, self.epoch, upto)]

    def _plan(self) -> Plan | None:
        """The hand-over to aim at, if any; paces the reader while a buffer is needed."""
        planned: Plan | str = "it was moved, or tried, before"
        if not (self._tried or self._failed or self.moves):
            planned = plan(self.terms, self.side, self.buffer.count, self.buffer.waiting)
        self.reason = planned if isinstance(planned, str) else planned.reason
        guarded = self.terms.guarded and self.side == "server" and "device" in self.terms.allowed - self._failed
        self.buffer.paced = isinstance(planned, Plan) or guarded
        return planned if isinstance(planned, Plan) else None

    def _begin(self, side: Side, reason: str) -> Begin:
        self._last_epoch += 1
        self._target_epoch = self._last_epoch
        return Begin(side, self._target_epoch, self.buffer.count, reason)

    def _take_back(self) -> None:
        """The source's own tokens go on where it was frozen."""
        for token in self._insurance:
            self.buffer.put(self.buffer.count, token)
        self._insurance.clear()
        self._insured = 0
        self.phase = Phase.WRITING

    def _doubted(self) -> list[Command]:
        """The other side gets ready; whose token comes first goes on. The source is not paused: it is the insurance."""
        target = other(self.side)
        if target in self._failed or target not in self.terms.allowed:
            return []
        self.phase = Phase.HANDING_OVER
        self._insured = 0
        return [self._begin(target, f"the {self.side} may have failed")]

    def _rescued(self) -> list[Command]:
        """The owner failed: the other side takes over at once, whatever it costs."""
        target = other(self.side)
        if target in self._failed or target not in self.terms.allowed:
            self.phase = Phase.OVER
            self.buffer.paced = False
            return [GiveUp()]
        self.phase = Phase.HANDING_OVER
        self._insured = 0
        self.buffer.paced = True
        return [self._begin(target, f"the {self.side} failed")]

    def _finished(self) -> list[Command]:
        self.phase = Phase.OVER
        self.buffer.paced = False
        return [Finish(self.side)]


def other(side: Side) -> Side:
    """The one it is not."""
    return "server" if side == "device" else "device"
