"""The server's side of one joint answer: connects the session, the aggregator and the generation.

Decisions about the answer are made in `shared.aggregation`. A settled token is final: neither side can change it any
more. Runs on the event loop's thread, like `Client`.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from cloud_server.engine.generation import Generation
from cloud_server.engine.jobs import Draft, Supplied
from models.engine import Ends, Engine
from shared.aggregation import messages as a
from shared.aggregation.aggregator import Aggregator
from shared.aggregation.gathering import GATHER_S, Gathering
from shared.aggregation.measured import Measured
from shared.aggregation.profiler import Transmission
from shared.aggregation.terms import Terms
from shared.aggregation.wire import enough, from_wire, pieces, to_wire
from shared.protocol import messages as m

PATIENCE_S: Final = 120.0
"""Seconds without a new final token after which a connected device counts as lost.

A device may have to prefill a long prompt first, at twenty tokens a second.
"""

CUT_S: Final = 6.0
"""Seconds without a new final token after which a disconnected device counts as lost.

The device itself gives up sooner.
"""


@dataclass(frozen=True, slots=True)
class JointCallbacks:
    """The callbacks of a joint answer: send a message, finish with a reason, and ask whether drafts may be sent now.

    `guarded` wraps work that no caller awaits: an error inside the work fails the request.
    """

    say: Callable[[m.JointFromServer], None]
    finish: Callable[[str], None]
    may_send: Callable[[], bool]
    guarded: Callable[[], AbstractContextManager[None]]


class Joint:
    """The server's side of a joint answer, which device and server generate together.

    `_key` is the key of its job in the generation, once the job is queued.
    """

    def __init__(self, ask: m.Ask, engine: Engine, generation: Generation, hands: JointCallbacks) -> None:
        self._ask, self._generation, self._hands = ask, generation, hands
        terms = Terms(
            side="server",
            rule=ask.rule,
            place=ask.place,
            seed=ask.sampling.seed,
            vocabulary=engine.info.vocabulary,
            max_tokens=ask.max_tokens,
            ends=Ends(engine),
            ahead=ask.ahead,
        )
        self._machine = Aggregator(terms)
        self._steps = _Steps(ask.round_trip_ms / 1000)
        self._key: int | None = None
        self._gathering = Gathering(ask.ahead)
        self._ready: deque[m.JointFromServer] = deque()  # messages to send once the session allows it
        self._rest: deque[m.Rest] = deque()  # pieces of the distribution that the device fetched last
        self._loop = asyncio.get_running_loop()
        self._sent_at = self._moved_at = self._loop.time()
        self._rejected = 0
        self._timer: asyncio.TimerHandle | None = None
        self._end = ""
        self._over = False

    @property
    def settled(self) -> tuple[int, ...]:
        """The answer's tokens that are final so far: neither side can change them any more."""
        return tuple(self._machine.settled)

    @property
    def upto(self) -> int:
        """The token index below which the server may draft now."""
        return len(self._machine.settled) + self._ask.ahead

    def on_message(self, message: m.JointFromDevice) -> None:
        """Process a message of the device. Raises ProtocolError if the message breaks the protocol."""
        if isinstance(message, m.RoundTrip):
            self._steps.measured.transmission = Transmission(message.round_trip_us / 1e6, known=True)
            return
        if isinstance(message, m.Drafts) and message.step_us:
            self._steps.measured.others_s = message.step_us / 1e6
        self.receive(from_wire(message, self._machine.terms.vocabulary))

    def begins(self, key: int) -> None:
        """Record the key of the answer's job in the generation."""
        self._key = key

    def written(self, event: Draft | Supplied) -> None:
        """Process an event of the generation: a draft or a supplied distribution."""
        if isinstance(event, Supplied):
            self.receive(a.Supplied(event.position, event.distribution))
            return
        self._steps.drafted(event, self._loop.time(), self.upto)
        self.receive(a.Drafted(event.epoch, event.position, event.token, event.distribution))

    def receive(self, event: a.Event) -> None:
        """Pass an event to the aggregator and carry out its commands."""
        if self._over:
            return
        known = len(self._machine.settled)
        self._do(self._machine.receive(event))
        if len(self._machine.settled) > known:
            self._moved_at = self._loop.time()
            if self._key is not None:
                self._generation.allow(self._key, self.upto)
            if self._steps.measured.gives(self._machine):
                self._do(self._machine.receive(a.HandOver()))
        judged = self._machine.judged["device"]
        rejected, self._rejected = self._rejected, judged.drafts - judged.accepted
        self.flush(now=self._rejected > rejected or bool(self._end))

    def flush(self, *, now: bool = False) -> None:
        """Send the gathered messages once they have waited GATHER_S; with `now`, at once. After the last message of an
        ended answer, finish.
        """
        while self._rest and self._hands.may_send():
            self._hands.say(self._rest.popleft())
        if self._end:
            self._send()
            waits = (self._gathering or self._ready) and self._end not in ("lost", "cancelled")
            if not (waits or self._over):
                self.close()
                self._hands.finish(self._end)
            return
        if self._over or not (self._gathering or self._ready) or (self._timer and not now):
            return
        due = self._sent_at + GATHER_S
        if now or due <= self._loop.time():
            self._send()
        else:
            self._timer = self._loop.call_at(due, self._ring)

    def look(self, now: float, cut_at: float | None) -> None:
        """End the answer if the device has sent nothing for too long.

        `now` and `cut_at` are times of the loop's clock; `cut_at` is when the device's connection was lost, None if it
        is connected.
        """
        limit = self._moved_at + PATIENCE_S if cut_at is None else max(self._moved_at, cut_at) + CUT_S
        if self._machine.waits and now > limit:
            self.receive(a.Lost("the device sent nothing for too long"))

    def close(self) -> None:
        """Stop sending messages for this answer."""
        self._over = True
        self._rest.clear()
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _do(self, commands: list[a.Command]) -> None:
        for command in commands:
            match command:
                case a.Send(a.Drafts() | a.Targets() as message):
                    self._gathering.add(message)
                case a.Send(a.Weight() | a.Switch() as message):
                    self._send()
                    self._say(message)
                    self._send()
                case a.Send(a.Rest(position, distribution)):
                    self._rest = deque(pieces(self._ask.request, position, distribution))
                case a.Supply(position, count) if self._key is not None:
                    self._generation.supply(self._key, position, enough(count, self._machine.terms.vocabulary))
                case a.RollBack(keep, tokens, _) if self._key is not None:
                    self._generation.correct(self._key, keep, tokens, self.upto)
                case a.Finish(reason):
                    self._end = reason

    def _ring(self) -> None:
        self._timer = None
        with self._hands.guarded():
            self._send()

    def _send(self) -> None:
        if not self._hands.may_send():
            return
        self._sent_at = self._loop.time()
        for waiting in self._gathering.take():
            self._say(waiting)
        while self._ready and self._hands.may_send():
            self._hands.say(self._ready.popleft())

    def _say(self, message: a.Weight | a.Drafts | a.Targets | a.Switch) -> None:
        """Send a Weight message at once; queue any other message until the session may send it."""
        for event in to_wire(self._ask.request, message, self._steps.stated):
            if isinstance(event, m.Weight):
                self._hands.say(event)
            else:
                self._ready.append(event)


class _Steps:
    """Measures the server's seconds per draft in a joint answer, from two successive drafts of a chain.

    A pair of drafts counts only if the second one did not have to wait.
    """

    def __init__(self, round_trip_s: float) -> None:
        self.measured = Measured("server")
        if round_trip_s:
            self.measured.transmission = Transmission(round_trip_s, known=True)
        self._last: tuple[int, int, float] | None = None

    @property
    def stated(self) -> float:
        """The seconds per draft to report to the device; 0 if they are unknown."""
        own = self.measured.own
        return own(own.mean_position) if own.weight else 0.0

    def drafted(self, draft: Draft, now: float, upto: int) -> None:
        """Record the arrival of a draft; drafts may be made now for positions below `upto`."""
        last, self._last = self._last, (draft.epoch, draft.position + 1, now) if draft.position + 1 < upto else None
        if last and last[:2] == (draft.epoch, draft.position):
            self.measured.own = self.measured.own.observe(draft.position, now - last[2])
