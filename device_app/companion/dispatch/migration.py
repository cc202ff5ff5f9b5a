"""Moves a running answer from one side to the other without a gap (DiSCo §4.3, figure 4).

Uses no clock, socket or engine: `Migration.receive` takes an event and returns commands. Tokens have absolute indexes
from 0 and the epoch of their stream; an epoch is one start of one side.
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
    """The phase of a running answer."""

    WRITING = "one side writes"
    HANDING_OVER = "frozen at an index: the target starts, the source is paused and then writes on as insurance"
    OVER = "complete, or given up"


class Migration(Generic[T]):
    """One answer, from its first token on. Accepted tokens are in `buffer`, in order.

    `side` won the race with `epoch`. Only tokens of the committed owner, the side that writes now, are accepted; tokens
    of an older or abandoned epoch are dropped. A side that failed is not started again. `moves` are the hand-overs so
    far: the index of the first token of the new side, and that side. `reason` says why a hand-over is planned, or why
    none is.
    """

    def __init__(self, terms: Terms, side: Side, epoch: int = 0) -> None:
        """Begin with `side` writing; `epoch` is the number of that start of the side.

        A hand-over needs unread tokens, which the reader reads while the other side starts. So tokens are shown only at
        the reader's pace if by `terms`, the estimates and limits of this answer, a hand-over will save money, or, while
        the server writes, if `terms.guarded` holds.
        """
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
        """The sides that failed and are not started again."""
        return frozenset(self._failed)

    def receive(self, event: Event[T]) -> list[Command]:
        """Return the commands for an event. Call `buffer.due(now)` first, to remove the tokens that were shown."""
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
        stop = [Stop(self.side, self.epoch)] if isinstance(event, Token) else []  # it skipped tokens
        self._failed.add(self.side)
        return stop if handing else stop + self._rescued()  # during a hand-over, the target is starting already

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
            # The device knows better whether the answer ends here, and says so when it goes on.
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
        """Begin a hand-over once enough tokens are unread; abandon one that comes too late. Return the commands.

        It is too late if the target has written nothing when the reader has read all accepted tokens and the source has
        written more.
        """
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
        """Let the paused source write on, once in a hand-over, when the reader is about to run out of tokens.

        It may write as many tokens as the hand-over needed unread, in case the target is late.
        """
        if not self._insured or self.buffer.waiting > needed(self.terms.reading_rate, self.terms.resume_s):
            return []
        upto, self._insured = self.buffer.count + self._insured, 0
        return [Allow(self.side, self.epoch, upto)]

    def _plan(self) -> Handover | None:
        """Return the hand-over that would save money, if any; show tokens at reading pace if there is one, or if
        guarded.
        """
        planned: Handover | str = "the answer was moved before, or a move failed"
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
        """Abandon the hand-over: the source side continues, and the tokens that it wrote meanwhile are accepted."""
        for token in self._insurance:
            self.buffer.put(self.buffer.count, token)
        self._insurance.clear()
        self._insured = 0
        self.phase = MigrationPhase.WRITING

    def _doubted(self) -> list[Command]:
        """Start the other side, if it may write, as the writing side may have failed.

        The other side's first token moves the answer. If the writing side's tokens come before and the reader waits for
        them, they are accepted and the other side is stopped.
        """
        target = other(self.side)
        if target in self._failed or target not in self.terms.allowed:
            return []
        self.phase = MigrationPhase.HANDING_OVER
        self._insured = 0
        return [self._begin(target, f"the {self.side} may have failed")]

    def _rescued(self) -> list[Command]:
        """Hand the answer over at once and at any cost, as its side failed; give up if the other may not write."""
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
