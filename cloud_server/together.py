"""The server's side of one answer that a device writes too: between its session, the aggregator and the generation.

Decides nothing of the answer (`shared.aggregation` does). On the event loop's thread, as whatever a `Client` does.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cloud_server.generation import Generation
from cloud_server.jobs import Draft
from models.engine import Ends, Engine
from shared.aggregation import messages as a
from shared.aggregation.aggregator import Aggregator
from shared.aggregation.gathering import GATHER_S, Gathering
from shared.aggregation.terms import Terms
from shared.aggregation.wire import heard, said
from shared.protocol import messages as m

PATIENCE_S: Final = 30.0
"""Seconds without a settled token after which a device counts as lost: it may have a long prompt to read."""

CUT_S: Final = 6.0
"""The same once its connection was cut: on its own side it waits less long."""


@dataclass(frozen=True, slots=True)
class Hands:
    """What a joint answer does to the world: say something, end with a reason, and whether drafts may be sent now."""

    say: Callable[[m.JointFromServer], None]
    finish: Callable[[str], None]
    may_send: Callable[[], bool]


class Joint:
    """One of them. `key` is the job's in the generation, once there is one."""

    def __init__(self, ask: m.Ask, engine: Engine, generation: Generation, hands: Hands) -> None:
        self._ask, self._generation, self._hands = ask, generation, hands
        self._machine = Aggregator(
            Terms(
                side="server",
                rule="coupled",
                place="both",
                seed=ask.sampling.seed,
                vocabulary=engine.info.vocabulary,
                max_tokens=ask.max_tokens,
                ends=Ends(engine),
                ahead=ask.ahead,
            )
        )
        self._key: int | None = None
        self._gathering = Gathering(ask.ahead)
        self._loop = asyncio.get_running_loop()
        self._sent_at = self._moved_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._over = False

    @property
    def settled(self) -> tuple[int, ...]:
        """The answer so far."""
        return tuple(self._machine.settled)

    @property
    def upto(self) -> int:
        """The index up to which drafts may be made now."""
        return len(self._machine.settled) + self._ask.ahead

    def hear(self, message: m.JointFromDevice) -> None:
        """Take what the device says. Raises ProtocolError for what no honest one would."""
        self.receive(heard(message, self._machine.terms.vocabulary))

    def begins(self, key: int) -> None:
        """Its job was taken, with what was settled until now."""
        self._key = key

    def drafted(self, draft: Draft) -> None:
        """Take what the generation drew."""
        self.receive(a.Drafted(draft.epoch, draft.position, draft.token))

    def receive(self, event: a.Event) -> None:
        """Let the aggregator decide, and do it."""
        if self._over:
            return
        known = len(self._machine.settled)
        for command in self._machine.receive(event):
            match command:
                case a.Send(a.Drafts() as drafts):
                    self._gathering.add(drafts)
                case a.Send(a.Weight() as message):
                    self._say(message)
                case a.RollBack(keep, tokens, _) if self._key is not None:
                    self._generation.correct(self._key, keep, tokens, self.upto)
                case a.Finish(reason):
                    self._send()
                    self.close()
                    self._hands.finish(reason)
                    return
        if len(self._machine.settled) > known:
            self._moved_at = self._loop.time()
            if self._key is not None:
                self._generation.allow(self._key, self.upto)
        self.flush()

    def flush(self) -> None:
        """Send what waits, once it has waited for long enough."""
        if self._over or not self._gathering or self._timer:
            return
        due = self._sent_at + GATHER_S
        if due <= self._loop.time():
            self._send()
        else:
            self._timer = self._loop.call_at(due, self._ring)

    def look(self, now: float, cut_at: float | None) -> None:
        """Give the device up that was waited for too long; `cut_at` is since when it is not there."""
        limit = self._moved_at + PATIENCE_S if cut_at is None else max(self._moved_at, cut_at) + CUT_S
        if self._machine.waits and now > limit:
            self.receive(a.Lost("it was waited for too long"))

    def close(self) -> None:
        """Nothing more is said of it."""
        self._over = True
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        self._send()

    def _send(self) -> None:
        if not self._hands.may_send():
            return
        self._sent_at = self._loop.time()
        for drafts in self._gathering.take():
            self._say(drafts)

    def _say(self, message: a.Weight | a.Drafts) -> None:
        for one in said(self._ask.request, message):
            self._hands.say(one)
