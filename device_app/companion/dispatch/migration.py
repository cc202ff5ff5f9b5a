"""Moving a live answer from one side to the other without a seam (DiSCo §4.3, figure 4): events in, commands out.

Knows no clock, socket or engine: `Migration.receive` is told what happened and says what is to be done. Tokens have
absolute indexes from 0 and the epoch of the stream that they came on; an epoch is one start of one side.
"""

from enum import Enum
from typing import Generic, TypeVar

from device_app.companion.dispatch.events import (
    Allow,
    Begin,
    Command,
    Doubtful,
    Ended,
    Event,
    Failed,
    Finish,
    GiveUp,
    Stop,
    Tick,
    Token,
)
from device_app.companion.dispatch.handover import Handover, Terms, plan_handover
from device_app.companion.dispatch.token_buffer import TokenBuffer, needed
from shared.side import Side, other

T = TypeVar("T")


class MigrationPhase(Enum):
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
        self.phase = MigrationPhase.WRITING
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
        if self.phase is MigrationPhase.OVER:
            return []
        if isinstance(event, Tick):
            commands: list[Command] = []
        elif (event.side, event.epoch) == (self.side, self.epoch) and event.side not in self._failed:
            commands = self._from_owner(event)
        elif (
            self.phase is MigrationPhase.HANDING_OVER and event.epoch == self._target_epoch and event.side != self.side
        ):
            commands = self._from_target(event)
        else:
            return []
        return commands + self._moved_on()

    def _from_owner(self, event: Token[T] | Ended | Failed | Doubtful) -> list[Command]:
        handing = self.phase is MigrationPhase.HANDING_OVER
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
        self.phase = MigrationPhase.WRITING
        self.side, self.epoch = target, self._target_epoch
        self.moves.append((self.buffer.count, target))
        if isinstance(event, Ended):
            return commands + self._finished()
        self.buffer.put(event.index, event.token)
        return commands

    def _moved_on(self) -> list[Command]:
        """Begin a hand-over once the buffer can hide it; end one that came too late for the reader."""
        if self.phase is MigrationPhase.HANDING_OVER:
            if self.side in self._failed:
                return []
            if self._insurance and not self.buffer.waiting:
                self._take_back()
                return [Stop(other(self.side), self._target_epoch), Allow(self.side, self.epoch, None)]
            return self._insure()
        if self.phase is MigrationPhase.OVER:
            return []
        planned = self._plan()
        if planned is None or self.buffer.waiting < planned.buffer:
            return []
        self._tried = True
        self.phase = MigrationPhase.HANDING_OVER
        self._insured = planned.buffer
        pause = Allow(self.side, self.epoch, self.buffer.count)
        return [pause, self._begin(planned.target, planned.reason), *self._insure()]

    def _insure(self) -> list[Command]:
        """Let the source write on, B tokens at most, just in time for the reader not to wait for the target."""
        if not self._insured or self.buffer.waiting > needed(self.terms.reading_rate, self.terms.resume_s):
            return []
        upto, self._insured = self.buffer.count + self._insured, 0
        return [Allow(self.side, self.epoch, upto)]

    def _plan(self) -> Handover | None:
        """The hand-over to aim at, if any; paces the reader while a buffer is needed."""
        planned: Handover | str = "it was moved, or tried, before"
        if not (self._tried or self._failed or self.moves):
            planned = plan_handover(self.terms, self.side, self.buffer.count, self.buffer.waiting)
        self.reason = planned if isinstance(planned, str) else planned.reason
        guarded = self.terms.guarded and self.side == "server" and "device" in self.terms.allowed - self._failed
        self.buffer.paced = isinstance(planned, Handover) or guarded
        return planned if isinstance(planned, Handover) else None

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
        self.phase = MigrationPhase.WRITING

    def _doubted(self) -> list[Command]:
        """The other side gets ready; whose token comes first goes on. The source is not paused: it is the insurance."""
        target = other(self.side)
        if target in self._failed or target not in self.terms.allowed:
            return []
        self.phase = MigrationPhase.HANDING_OVER
        self._insured = 0
        return [self._begin(target, f"the {self.side} may have failed")]

    def _rescued(self) -> list[Command]:
        """The owner failed: the other side takes over at once, whatever it costs."""
        target = other(self.side)
        if target in self._failed or target not in self.terms.allowed:
            self.phase = MigrationPhase.OVER
            self.buffer.paced = False
            return [GiveUp()]
        self.phase = MigrationPhase.HANDING_OVER
        self._insured = 0
        self.buffer.paced = True
        return [self._begin(target, f"the {self.side} failed")]

    def _finished(self) -> list[Command]:
        self.phase = MigrationPhase.OVER
        self.buffer.paced = False
        return [Finish(self.side)]
